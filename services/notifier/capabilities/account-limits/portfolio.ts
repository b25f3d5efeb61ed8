import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { orNull, Time } from '@courier/shared/schemas.ts'
import { Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type pg from 'pg'
import type { ReadNumber } from '../../core/channels/channel-point.ts'
import { utc } from '../../core/channels/view.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { PortfolioResponse } from '../../core/messaging-api/account-responses.ts'
import { storeNotices } from './notices.ts'

/** Counts people whom templates outside an open window may reach, and have reached, in 24 hours. */
const MessagingLimit = Type.Object({
  portfolio_id: Type.String({ examples: ['2729063490586005'] }),
  max_people: orNull(Type.Integer({ description: 'null: unlimited.' }), { examples: [250] }),
  used: Type.Integer({ description: 'At most a minute old.', examples: [31] }),
  read_at: Time(),
})

export const limitField = orNull(MessagingLimit, {
  description: 'The limit of the portfolio, which its numbers share; null until it is known.',
})

export const selectLimit = sql`
  (select json_build_object('portfolio_id', p.portfolio_id, 'max_people', p.max_people, 'used', p.used,
    'read_at', ${utc('p.read_at')}) from portfolios p where p.portfolio_id = c.portfolio_id)`

/**
 * Stores the limit and quality that a read of a number found. A limit that was the tenant's own goes along once the API
 * proves its account.
 */
export const storeLimit = async (tx: Tx, { tenant, portfolioId, wabaId }: ReadNumber, read: PortfolioResponse) => {
  const { accountId, maxPeople, quality, displayNumber } = read
  if (maxPeople !== undefined)
    await query(tx)`
      insert into portfolios (portfolio_id, max_people, read_at) values (${portfolioId}, ${maxPeople}, now())
      on conflict (portfolio_id) do update set max_people = excluded.max_people, read_at = now()`
  else if (accountId === wabaId)
    await query(tx)`
      insert into portfolios (portfolio_id, max_people, read_at)
      select ${portfolioId}, max_people, read_at from portfolios
      where portfolio_id = 'tenant ' || ${tenant} || ' account ' || ${wabaId} on conflict do nothing`
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

/** Counts the people whom the portfolio of a number has reached, at most a minute old; 0 without a known limit. */
export const countReached = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<number> => {
  const rows = await query<{ used: number }>(tx)`
    select used from channels join portfolios using (portfolio_id)
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}`
  return rows[0]?.used ?? 0
}
