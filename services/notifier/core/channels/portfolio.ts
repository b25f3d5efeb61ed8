import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { PortfolioResponse } from '../messaging-api/account-responses.ts'
import { storeNotices } from './notices.ts'
import { type ChannelDependencies, newestToken } from './secrets.ts'

type Reader = Pick<ChannelDependencies, 'pool' | 'keyring' | 'api'>

/**
 * Reads the messaging limit of a number's portfolio, and the number's quality, and stores both. Stores nothing if the
 * API refuses: versions before v24.0 do not know the limit.
 */
export const readLimit = async ({ pool, api }: Reader, tenant: string, phoneNumberId: string, accessToken: string) =>
  storeRead(pool, tenant, phoneNumberId, await api.portfolio({ accessToken }, phoneNumberId))

/** Stores what a read of the limit found, if it was received. */
export const storeRead = async (
  pool: pg.Pool,
  tenant: string,
  phoneNumberId: string,
  response: Awaited<ReturnType<Reader['api']['portfolio']>>,
) => {
  if (response.kind === 'received')
    await inAllTenants(pool, (tx: Tx) => storeLimit(tx, tenant, phoneNumberId, response.value))
  return response
}

/**
 * Numbers of one business share its limit, in whichever tenant; a number whose business the API does not name shares it
 * with those of its account.
 */
const storeLimit = async (tx: Tx, tenant: string, phoneNumberId: string, portfolio: PortfolioResponse) => {
  const { businessId, maxPeople, quality, displayNumber } = portfolio
  const rows = await query<{ id: string; wabaId: string | null }>(tx)`
    update channels set portfolio_id = coalesce(${businessId}, 'account ' || waba_id, 'number ' || phone_number_id)
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}
    returning portfolio_id as id, waba_id as "wabaId"`
  if (!rows[0]) return
  const { id, wabaId } = rows[0]
  if (maxPeople !== undefined)
    await query(tx)`
      insert into portfolios (portfolio_id, max_people, read_at) values (${id}, ${maxPeople}, now())
      on conflict (portfolio_id) do update set max_people = excluded.max_people, read_at = now()`
  if (wabaId === null || quality === null || displayNumber === null) return
  const text = `The quality of ${displayNumber} is ${quality}.${quality === 'GREEN' ? '' : adviceOnQuality}`
  const notice = { kind: 'quality' as const, subject: displayNumber.replace(/\D/g, ''), isProblem: quality === 'RED' }
  await storeNotices(tx, [{ tenant, wabaId, ...notice, text, at: new Date() }])
}

const adviceOnQuality = ' Send fewer messages, and only those that customers want.'

/** Stores the limit that a webhook reports for accounts: that of the portfolios of their numbers. */
export const reportLimits = async (
  tx: Tx,
  limits: readonly { readonly tenant: string; readonly wabaId: string; readonly maxPeople: number | null; at: Date }[],
): Promise<void> => {
  for (const { tenant, wabaId, maxPeople, at } of limits)
    await query(tx)`
      with own as (
        update channels set portfolio_id = coalesce(portfolio_id, 'account ' || waba_id)
        where tenant_id = ${tenant} and waba_id = ${wabaId} returning portfolio_id
      )
      insert into portfolios as known (portfolio_id, max_people, read_at)
      select distinct portfolio_id, ${maxPeople}::integer, ${at}::timestamptz from own order by portfolio_id
      on conflict (portfolio_id) do update set max_people = excluded.max_people, read_at = excluded.read_at
      where known.read_at <= excluded.read_at + interval '1 second'`
}

const channelsAtOnce = 8

/** Reads the limits that were not read within the last hour. */
export const readDueLimits = async (reader: Reader): Promise<void> => {
  const due = await inAllTenants(reader.pool, (tx: Tx) => claimDue(tx))
  const reads = due.map(async ({ tenant, phoneNumberId }) => {
    const find = (tx: Tx) => newestToken(tx, reader.keyring, { tenant, phoneNumberId })
    const token = await inTenant(reader.pool, tenant, find)
    if (token) await readLimit(reader, tenant, phoneNumberId, token.accessToken)
  })
  for (const read of await Promise.allSettled(reads)) if (read.status === 'rejected') throw read.reason
}

const claimDue = (tx: Tx) =>
  query<{ tenant: string; phoneNumberId: string }>(tx)`
    update channels c set portfolio_due_at = now() + interval '1 hour'
    from (
      select tenant_id, phone_number_id from channels where portfolio_due_at <= now()
      order by portfolio_due_at limit ${channelsAtOnce} for no key update skip locked
    ) due
    where c.tenant_id = due.tenant_id and c.phone_number_id = due.phone_number_id
    returning c.tenant_id as tenant, c.phone_number_id as "phoneNumberId"`

export interface Limit {
  readonly max_people: number
  readonly left: number
}

/** Finds the known limits of the tenant's numbers, by phone number id; `left` is at most a minute old. */
export const findLimits = async (tx: Tx, tenant: string): Promise<Map<string, Limit>> => {
  const rows = await query<Limit & { id: string }>(tx)`
    select c.phone_number_id as id, max_people, greatest(0, max_people - used) as left
    from channels c join portfolios p using (portfolio_id) where c.tenant_id = ${tenant} and max_people is not null`
  return new Map(rows.map(({ id, ...limit }) => [id, limit]))
}
