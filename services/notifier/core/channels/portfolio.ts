import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { PortfolioResponse } from '../messaging-api/account-responses.ts'
import { storeNotices } from './notices.ts'
import { isDenied, unproved } from './prove.ts'
import { updateChannel } from './queries.ts'
import { type ChannelDependencies, type ChannelRef, type NewestToken, newestToken } from './secrets.ts'

type Reader = Pick<ChannelDependencies, 'pool' | 'keyring' | 'api'>

/**
 * Stores what a read of a number's limit and quality found. If the API denies the token the number, the tenant's part
 * in its portfolio ends.
 */
export const storeRead = async (
  { pool, api }: Omit<Reader, 'keyring'>,
  { tenant, phoneNumberId }: ChannelRef,
  { accessToken, isNext }: NewestToken,
  response: Awaited<ReturnType<Reader['api']['portfolio']>>,
): Promise<void> => {
  if (response.kind === 'received' && response.value.id === phoneNumberId)
    await inAllTenants(pool, (tx: Tx) => storeLimit(tx, tenant, phoneNumberId, response.value))
  if (!isNext && response.kind === 'refused' && (await isDenied(api, accessToken, response)))
    await inTenant(pool, tenant, (tx: Tx) => updateChannel(tx, tenant, phoneNumberId, unproved))
}

/**
 * Numbers of one business share its limit, in whichever tenant; a number whose business the API does not name shares it
 * with those of its account. Only what the API says counts: a tenant chooses its waba_id. A limit that was the tenant's
 * own goes along once the API proves its account.
 */
const storeLimit = async (tx: Tx, tenant: string, phoneNumberId: string, portfolio: PortfolioResponse) => {
  const { businessId, accountId, maxPeople, quality, displayNumber } = portfolio
  const rows = await query<{ id: string; own: string | null; wabaId: string | null }>(tx)`
    update channels set proven_waba_id = ${accountId}, portfolio_id = coalesce(${businessId}, 'waba ' || ${accountId},
      case when portfolio_id like 'tenant %' then portfolio_id end, 'number ' || phone_number_id)
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}
    returning portfolio_id as id, waba_id as "wabaId", ${ownId} as own`
  if (!rows[0]) return
  const { id, own, wabaId } = rows[0]
  if (maxPeople !== undefined)
    await query(tx)`
      insert into portfolios (portfolio_id, max_people, read_at) values (${id}, ${maxPeople}, now())
      on conflict (portfolio_id) do update set max_people = excluded.max_people, read_at = now()`
  else if (accountId === wabaId)
    await query(tx)`
      insert into portfolios (portfolio_id, max_people, read_at)
      select ${id}, max_people, read_at from portfolios where portfolio_id = ${own} on conflict do nothing`
  if (wabaId === null || quality === null || displayNumber === null) return
  const text = `The quality of ${displayNumber} is ${quality}.${quality === 'GREEN' ? '' : adviceOnQuality}`
  const notice = { kind: 'quality' as const, subject: displayNumber.replace(/\D/g, ''), isProblem: quality === 'RED' }
  await storeNotices(tx, [{ tenant, wabaId, ...notice, text, at: new Date() }])
}

/** Names the portfolio of an account that the API has not proved: it belongs to the tenant alone. */
const ownId = sql`'tenant ' || tenant_id || ' account ' || waba_id`

const adviceOnQuality = ' Send fewer messages, and only those that customers want.'

/**
 * Stores the limit that a webhook reports for accounts: that of the portfolios of their numbers if the API proved the
 * account, else the tenant's own. A number whose portfolio the API named, but not with this account, keeps its limit.
 */
export const reportLimits = async (
  tx: Tx,
  limits: readonly { readonly tenant: string; readonly wabaId: string; readonly maxPeople: number | null; at: Date }[],
): Promise<void> => {
  for (const { tenant, wabaId, maxPeople, at } of limits)
    await query(tx)`
      with numbers as (
        update channels set portfolio_id = case when proven_waba_id = waba_id then portfolio_id else ${ownId} end
        where tenant_id = ${tenant} and waba_id = ${wabaId}
          and (proven_waba_id = waba_id or coalesce(portfolio_id ~ '^(tenant|number) ', true))
        returning portfolio_id
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
    if (!token) return
    await storeRead(reader, { tenant, phoneNumberId }, token, await reader.api.portfolio(token, phoneNumberId))
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
