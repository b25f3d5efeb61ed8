import { mayCall, type Staff } from '@courier/shared/access/staff.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type RawBuilder, sql } from 'kysely'
import { findTenant } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findBillingRule, serviceBilledFrom } from './billing-rules.ts'
import { findDay, findPrice, type Tariff, type TenantTariffs } from './price.ts'
import { PriceView } from './price-view.ts'

export const findTariffs = async (tx: Tx, tenant: string): Promise<TenantTariffs> => {
  const settings = await findTenant(tx, tenant)
  const rows = await query<Tariff>(tx)`
    select category, country, valid_from::text as "from", price::text as price from tariffs
    where tenant_id = ${tenant} order by category, country, valid_from`
  return { currency: settings?.currency ?? null, timeZone: settings?.time_zone ?? 'UTC', tariffs: rows }
}

/** Joins `tariff`, with its price, to rows with tenant_id, category, country and is_free: `chooseTariff` in SQL. */
export const tariffJoin = (rows: string, day: RawBuilder<unknown>): RawBuilder<unknown> => {
  const of = (column: string) => sql.ref(`${rows}.${column}`)
  return sql`
    left join lateral (
      select t.price from tariffs t
      where t.tenant_id = ${of('tenant_id')} and t.country in (${of('country')}, '*') and t.valid_from <= ${day}
        and (t.category = ${of('category')}
          or t.category = 'utility' and ${of('category')} = 'service' and ${day} >= ${serviceBilledFrom}::date)
      order by t.category <> ${of('category')}, t.country = '*', t.valid_from desc
      limit 1
    ) tariff on not ${of('is_free')}`
}

export const Cost = orNull(
  Type.Object({
    amount: orNull(Type.String({ description: 'An exact decimal; null without a tariff.' }), { examples: ['0.0165'] }),
    currency: orNull(Type.String(), { examples: ['USD'] }),
    category: Type.String({ description: 'The category as billed by the platform.', examples: ['utility'] }),
    is_free: Type.Boolean({ examples: [false] }),
  }),
  {
    description: 'Null until the platform reports pricing, with the delivery, and for a role that may not read costs.',
  },
)
export type Cost = Static<typeof Cost>

/** Finds the costs of messages that the platform priced, by id. A message sent again may have cost twice. */
export const findCosts = async (tx: Tx, tenant: string, ids: readonly string[]): Promise<Map<string, Cost>> => {
  if (ids.length === 0) return new Map()
  const day = sql`(p.priced_at at time zone coalesce(settings.time_zone, 'UTC'))::date`
  const rows = await query<Cost & { message_id: string }>(tx)`
    select p.message_id, settings.currency, bool_and(p.is_free) as is_free,
      (array_agg(p.category order by p.priced_at desc))[1] as category,
      case when bool_and(p.is_free or tariff.price is not null)
        then trim_scale(coalesce(sum(tariff.price), 0))::text end as amount
    from message_prices p join tenants settings on settings.tenant_id = p.tenant_id ${tariffJoin('p', day)}
    where p.tenant_id = ${tenant} and p.message_id = any(${ids}::text[])
    group by p.message_id, settings.currency`
  return new Map(rows.map(({ message_id, ...cost }) => [message_id, cost]))
}

/** Finds the costs for staff who may read them, and none for others. */
export const findCostsFor = async (tx: Tx, staff: Staff, ids: readonly string[]): Promise<Map<string, Cost>> =>
  mayCall(staff, 'getCosts') ? findCosts(tx, staff.tenant, ids) : new Map()

/** Shows what the next reply in a conversation costs, and how many free ones the number has left this month. */
export const ReplyPrice = Type.Object({
  price: PriceView,
  free_left: Type.Integer({ minimum: 0, description: 'Free replies that the number has left this month.' }),
})

/** Prices a reply from a number to a country, now; undefined for staff who may not read costs. */
export const priceReply = async (
  tx: Tx,
  staff: Staff,
  { phoneNumberId, country, now }: { phoneNumberId: string; country: string | undefined; now: Date },
): Promise<Static<typeof ReplyPrice> | undefined> => {
  if (!mayCall(staff, 'getCosts')) return undefined
  const tariffs = await findTariffs(tx, staff.tenant)
  const serviceMessages = await countService(tx, staff.tenant, phoneNumberId)
  const price = findPrice(tariffs, { category: 'service', country, at: now, isWindowOpen: true, serviceMessages })
  const { freeServiceMessages } = findBillingRule(findDay(now, tariffs.timeZone))
  return { price, free_left: Math.max(0, freeServiceMessages - serviceMessages) }
}

/** Counting stops above the free messages of a month. */
const maxService = 10_000

/** Counts the service messages of a number that the platform priced this month, by the clocks of the tenant. */
export const countService = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<number> => {
  const rows = await query<{ count: number }>(tx)`
    select count(*)::integer as count from (
      select from message_prices p, tenants settings
      where settings.tenant_id = ${tenant} and p.tenant_id = ${tenant} and p.phone_number_id = ${phoneNumberId}
        and p.category = 'service' and p.priced_at >= date_trunc('month', now(), coalesce(settings.time_zone, 'UTC'))
      limit ${maxService}
    ) counted`
  return rows[0]?.count ?? 0
}
