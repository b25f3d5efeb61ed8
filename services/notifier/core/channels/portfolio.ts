import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { PortfolioResponse } from '../messaging-api/account-responses.ts'
import { storeNotices } from './notices.ts'
import { type ChannelDependencies, newestToken } from './secrets.ts'

type Reader = Pick<ChannelDependencies, 'pool' | 'keyring' | 'api'>

/**
 * Stores what a read of a number's limit and quality found. Stores nothing if the API refuses: versions before v24.0 do
 * not know the limit.
 */
export const storeRead = async (
  pool: pg.Pool,
  tenant: string,
  phoneNumberId: string,
  response: Awaited<ReturnType<Reader['api']['portfolio']>>,
): Promise<void> => {
  if (response.kind === 'received')
    await inAllTenants(pool, (tx: Tx) => storeLimit(tx, tenant, phoneNumberId, response.value))
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
      with numbers as (
        update channels set portfolio_id = coalesce(portfolio_id, 'account ' || waba_id)
        where tenant_id = ${tenant} and waba_id = ${wabaId} returning portfolio_id
      )
      insert into portfolios as known (portfolio_id, max_people, read_at)
      select distinct portfolio_id, ${maxPeople}::integer, ${at}::timestamptz from numbers order by portfolio_id
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
    if (token) await storeRead(reader.pool, tenant, phoneNumberId, await reader.api.portfolio(token, phoneNumberId))
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
  /** Is about the time when one more message would leave; null means now. */
  readonly opens_at: Date | null
}

/**
 * Finds the known limits of the tenant's numbers, by phone number id, at most a minute old, and those of `recipients`
 * whom the portfolio has reached within the day: they take no room. Counts the messages that wait for room, too.
 */
export const findLimits = async (pool: pg.Pool, tenant: string, recipients: readonly string[] = []) => {
  const rows = await inAllTenants(
    pool,
    (tx: Tx) =>
      query<Limit & { id: string; reached: string[]; waiting: number }>(tx)`
      select c.phone_number_id as id, max_people, room as left, waiting, array(
          select recipient from portfolio_people r where r.portfolio_id = p.portfolio_id
            and r.recipient = any(${recipients}::text[]) and r.reached_at > now() - interval '24 hours'
          union select i.recipient from identities i join portfolio_people r on r.recipient = i.user_id
          where r.portfolio_id = p.portfolio_id and i.tenant_id = c.tenant_id
            and i.recipient = any(${recipients}::text[]) and r.reached_at > now() - interval '24 hours') as reached,
        case when waiting >= room then interval '24 hours' * (1 + (waiting - room) / greatest(max_people, 1))
          + coalesce((select reached_at from portfolio_people r where r.portfolio_id = p.portfolio_id
            order by reached_at limit 1 offset (waiting - room) % greatest(max_people, 1)), now()) end as opens_at
      from channels c join portfolios p using (portfolio_id) cross join lateral (
        select greatest(0, max_people - used) as room,
          (select count(*)::integer from portfolio_waiting w where w.portfolio_id = p.portfolio_id) as waiting
      ) line
      where c.tenant_id = ${tenant} and max_people is not null`,
  )
  return new Map(rows.map(({ id, reached, waiting, ...limit }) => [id, { limit, waiting, reached: new Set(reached) }]))
}
