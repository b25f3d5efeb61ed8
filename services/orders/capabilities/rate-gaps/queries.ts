import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import type { Tx } from '../../core/database/tables.ts'

/**
 * Counts the parcels that one active merchant requested between two cities, and the orders that it booked when there
 * was a rate.
 */
export interface Wanted {
  readonly merchant_id: string
  readonly name: string
  readonly rate_card: string | null
  readonly origin: number
  readonly destination: number
  readonly asked_for: number
  readonly orders: number
  readonly last_at: Date
}

/** Limits the orders of the period that are read, newest first: reading this many takes a fifth of a second. */
export const maxOrders = 100_000
const maxCombinations = 20_000

/** Sums the counts by merchant and cities over the last `days` days, most requested first. */
export const findWanted = (tx: Tx, tenant: string, days: number): Promise<Wanted[]> =>
  tx.rows({ name: 'find_wanted', text: findWantedSql, values: [tenant, days] })

const findWantedSql = `
  with period as materialized (
    select today - $2::integer + 1 as first_day, (today - $2::integer + 1)::timestamp at time zone time_zone as midnight
    from (select (now() at time zone time_zone)::date as today, time_zone from tenants where tenant_id = $1) tenant
  ), asked as (
    select merchant_id, origin_city_id, destination_city_id, sum(asked_for) as asked_for, 0 as orders,
      max(last_at) as last_at
    from rate_gaps where tenant_id = $1 and day >= (select first_day from period)
    group by 1, 2, 3 order by 4 desc limit ${maxCombinations}
  ), newest as (
    select merchant_id, origin_city_id, destination_city_id, created_at from orders
    where tenant_id = $1 and created_at >= (select midnight from period)
    order by created_at desc limit ${maxOrders}
  ), booked as (
    select merchant_id, origin_city_id, destination_city_id, 0, count(*), max(created_at) from newest group by 1, 2, 3
  )
  select merchant_id, name, rate_card, origin_city_id as origin, destination_city_id as destination,
    sum(asked_for)::float8 as asked_for, sum(orders)::float8 as orders, max(last_at) as last_at
  from (select * from asked union all select * from booked) wanted join merchants using (merchant_id)
  where tenant_id = $1 and is_active
  group by 1, 2, 3, 4, 5 order by 6 desc`

/** Limits the days of a report, as older refusals say little about what a rate card lacks now. */
export const keptDays = 90

export const deleteOldGaps = deleteWhere('rate_gaps', `day < current_date - ${keptDays}`)
