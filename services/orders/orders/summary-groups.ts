import type { Tx } from '../database/tables.ts'
import { findStatuses } from './status-queries.ts'
import { type Counted, figuresOf, type SummaryQuery } from './summary.ts'
import { type Figures, type Group, maxCities } from './summary-schema.ts'

export interface Groups {
  readonly groups: readonly Group[]
  /** What `groups` leave out. */
  readonly others: (Figures & { readonly groups: number }) | null
}

/** The groups that a query wants, with what was counted of each. */
export const groupOrders = async (
  tx: Tx,
  tenant: string,
  { group, from, to }: SummaryQuery,
  counted: readonly Counted[],
): Promise<Groups> => {
  const rows = Map.groupBy(counted, ({ key }) => key)
  const toGroup = (key: string, name = key): Group => ({ key, name, ...figuresOf(rows.get(key) ?? []) })
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
          rest.length > 0
            ? { groups: rest.length, ...figuresOf(rest.flatMap(({ key }) => rows.get(key) ?? [])) }
            : null,
      }
    }
  }
}

const dayMilliseconds = 86_400_000

/** Every date from the first to the last. */
export const daysOf = (from: string, to: string): string[] => {
  const first = Date.parse(from)
  const count = Math.max(0, Math.round((Date.parse(to) - first) / dayMilliseconds) + 1)
  return Array.from({ length: count }, (_, day) => new Date(first + day * dayMilliseconds).toISOString().slice(0, 10))
}

const findCityNames = async (tx: Tx, tenant: string, cities: readonly Group[]): Promise<Map<string, string>> => {
  const text = 'select city_id::text as key, name from cities where tenant_id = $1 and city_id = any($2::integer[])'
  const { rows } = await tx.client.query(text, [tenant, cities.map(({ key }) => key)])
  return new Map(rows.map(({ key, name }: { key: string; name: string }) => [key, name]))
}
