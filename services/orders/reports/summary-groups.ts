import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../statuses/status-queries.ts'
import { daysOf } from './days.ts'
import { type Counted, type SummaryQuery, totalsOf } from './summary.ts'
import { type Group, maxCities, type Totals } from './summary-schema.ts'

export interface Groups {
  readonly groups: readonly Group[]
  /** What `groups` leave out. */
  readonly others: (Totals & { readonly groups: number }) | null
}

export const groupOrders = async (
  tx: Tx,
  tenant: string,
  { group, from, to }: SummaryQuery,
  counted: readonly Counted[],
): Promise<Groups> => {
  const rows = Map.groupBy(counted, ({ key }) => key)
  const toGroup = (key: string, name = key): Group => ({ key, name, ...totalsOf(rows.get(key) ?? []) })
  switch (group) {
    case undefined:
      return { groups: [], others: null }
    case 'day':
      return { groups: daysOf(from, to).map(day => toGroup(day)), others: null }
    case 'status': {
      const statuses = [...(await findStatuses(tx, tenant)).values()]
      return { groups: statuses.map(({ key, name }) => toGroup(key, name)), others: null }
    }
    case 'city': {
      const sorted = [...rows.keys()].map(key => toGroup(key)).sort((a, b) => b.orders - a.orders)
      const first = sorted.slice(0, maxCities)
      const names = await findCityNames(tx, tenant, first)
      const rest = sorted.slice(maxCities)
      return {
        groups: first.map(city => ({ ...city, name: names.get(city.key) ?? city.key })),
        others:
          rest.length > 0 ? { groups: rest.length, ...totalsOf(rest.flatMap(({ key }) => rows.get(key) ?? [])) } : null,
      }
    }
  }
}

const findCityNames = async (tx: Tx, tenant: string, cities: readonly Group[]): Promise<Map<string, string>> => {
  const text = 'select city_id::text as key, name from cities where tenant_id = $1 and city_id = any($2::integer[])'
  const { rows } = await tx.client.query(text, [tenant, cities.map(({ key }) => key)])
  return new Map(rows.map(({ key, name }: { key: string; name: string }) => [key, name]))
}
