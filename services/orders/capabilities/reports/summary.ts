import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Tx } from '../../core/database/tables.ts'
import { classifyStatus } from '../../core/statuses/statuses.ts'
import { listDays } from './days.ts'

/** Limits the cities that are listed. The period bounds the days, and the tenant's set bounds the statuses. */
const maxCities = 100

const count = (example: number) => Type.Integer({ minimum: 0, examples: [example] })
const money = (description: string, example: number) => Type.Integer({ description, examples: [example] })

const totals = {
  orders: Type.Integer({
    description: 'The number of all orders: the sum of the five counts that follow.',
    examples: [120],
  }),
  waiting: count(4),
  under_way: count(10),
  delivered: count(98),
  returned: count(5),
  cancelled: count(3),
  cod_total: money('The COD of all orders, in whole units of the currency.', 540_000),
  cod_delivered: money('The COD of delivered orders.', 441_000),
  cod_outstanding: money('The COD of orders that are waiting or under way.', 63_000),
  delivered_first_attempt: count(91),
  first_attempt_share: orNull(Type.Number(), {
    description:
      'The share of deliveries at the first attempt, from 0 to 1 with four decimals; null without deliveries whose attempts are known.',
    examples: [0.9286],
  }),
}
const Totals = Type.Object(totals, { title: 'OrderTotals' })
type Totals = Static<typeof Totals>
const Group = component('OrderGroup', {
  key: Type.String({ description: 'The date, the key of the status or the id of the city.' }),
  name: Type.String({ description: 'The date, or the name of the status or the city.' }),
  ...totals,
})

type Group = Static<typeof Group>

export const Summary = component('OrderSummary', {
  data: Type.Object({
    from: Type.String(),
    to: Type.String(),
    time_zone: Type.String(),
    currency: Type.String(),
    total: Totals,
    groups: Type.Array(Group, {
      description:
        'Empty without group; otherwise every day, every status in the order of the set, or ' +
        `the ${maxCities} cities with the most orders.`,
    }),
    others: orNull(Type.Object({ groups: Type.Integer(), ...totals }), {
      description: 'The totals of the cities left out of groups.',
    }),
  }),
})
type Groups = Pick<Static<typeof Summary>['data'], 'groups' | 'others'>

export const groupings = ['day', 'status', 'city'] as const
type Grouping = (typeof groupings)[number]

/**
 * Selects a merchant's orders that were created in a period. Dates are days in the tenant's time zone, both included.
 */
interface SummaryQuery {
  readonly merchantId: string
  readonly business_id?: string | undefined
  readonly from: string
  readonly to: string
  readonly group?: Grouping | undefined
}

/**
 * Limits the orders that one statement counts: counting this many by day takes half a second, from the index alone,
 * which is fast enough on a busy machine.
 */
export const maxSummed = 500_000

/** Holds the sums of a group's orders in one status. COD is in whole units of the tenant's currency. */
interface Counted {
  /** Is a date, a status key or the id of a city. */
  readonly key: string
  readonly status_key: string
  readonly orders: number
  readonly cod: number
  /**
   * Counts the orders delivered at the first attempt; `later` counts the orders delivered after more attempts. Orders
   * delivered before 0.2.0 are in neither.
   */
  readonly first: number
  readonly later: number
}

/**
 * Gives the value that orders are grouped by, and its key. Looking up the day takes half as long as converting the
 * time.
 */
const keys: Record<Grouping, readonly [value: string, key: string]> = {
  day: ['width_bucket(created_at, midnights)', '($3::date + value - 1)::text'],
  status: ['status_key', 'value'],
  city: ['destination_city_id', 'value::text'],
}

/** Counts orders, and stops beyond `maxSummed`. Everything that it reads is in one index. */
export const countOrders = (
  tx: Tx,
  tenant: string,
  { merchantId, business_id, from, to, group = 'status' }: SummaryQuery,
): Promise<Counted[]> => {
  const values = [tenant, merchantId, from, to, business_id ?? null]
  return tx.rows({ name: `sum_by_${group}`, text: countSql(...keys[group]), values })
}

const midnightSql = (date: string): string => `(select (${date})::timestamp at time zone time_zone from zone)`

const countSql = (value: string, key: string): string => `
  with zone as materialized (
    select time_zone, array(
      select day at time zone time_zone from generate_series($3::date::timestamp, $4::date::timestamp, '1 day') day
    ) as midnights
    from tenants where tenant_id = $1
  )
  select ${key} as key, status_key, orders::integer, cod, first::integer, later::integer from (
    select ${value} as value, status_key, count(*) as orders, sum(cod)::float8 as cod,
      count(*) filter (where first_attempt) as first, count(*) filter (where not first_attempt) as later
    from (
      select created_at, status_key, destination_city_id, cod, first_attempt from orders
      where tenant_id = $1 and merchant_id = $2 and ($5::bigint is null or business_id = $5)
        and created_at >= ${midnightSql('$3::date')} and created_at < ${midnightSql('$4::date + 1')}
      limit ${maxSummed + 1}
    ) hit, zone group by 1, 2
  ) counted`

export const sumTotals = (rows: readonly Counted[]): Totals => {
  const orders = { waiting: 0, under_way: 0, delivered: 0, returned: 0, cancelled: 0 }
  const cod = { ...orders }
  let [first, later] = [0, 0]
  for (const row of rows) {
    orders[classifyStatus(row.status_key)] += row.orders
    cod[classifyStatus(row.status_key)] += row.cod
    first += row.first
    later += row.later
  }
  const addUp = (sums: typeof orders): number => Object.values(sums).reduce((total, sum) => total + sum)
  return {
    orders: addUp(orders),
    ...orders,
    cod_total: addUp(cod),
    cod_delivered: cod.delivered,
    cod_outstanding: cod.waiting + cod.under_way,
    delivered_first_attempt: first,
    first_attempt_share: first + later > 0 ? Math.round((first / (first + later)) * 10_000) / 10_000 : null,
  }
}

/** Lists every day or status, or the cities with the most orders. */
export const groupOrders = (
  { group, from, to }: SummaryQuery,
  counted: readonly Counted[],
  { statuses, names }: Catalogue,
): Groups => {
  const rows = Map.groupBy(counted, ({ key }) => key)
  const toGroup = (key: string, name = key): Group => ({ key, name, ...sumTotals(rows.get(key) ?? []) })
  if (group === undefined) return { groups: [], others: null }
  if (group === 'day') return { groups: listDays(from, to).map(day => toGroup(day)), others: null }
  if (group === 'status')
    return { groups: [...statuses.values()].map(({ key, name }) => toGroup(key, name)), others: null }
  const cities = [...rows.keys()]
    .map(key => toGroup(key, names.cities.get(Number(key))?.name))
    .sort((a, b) => b.orders - a.orders)
  const rest = cities.slice(maxCities).flatMap(({ key }) => rows.get(key) ?? [])
  const others = rest.length > 0 ? { groups: cities.length - maxCities, ...sumTotals(rest) } : null
  return { groups: cities.slice(0, maxCities), others }
}
