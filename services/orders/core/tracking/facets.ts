import type { TProperties } from '@sinclair/typebox'
import type pg from 'pg'
import type { FacetFlags, Flag, OrderRow, TrackedOrder } from './order-rows.ts'

/** Runs a query of the tenant, whether or not in a transaction. */
export type Read = <Row extends pg.QueryResultRow>(query: pg.QueryConfig) => Promise<Row[]>

/** Names who reads one order: its merchant, staff, the notifier, or whoever has the recipient's link. */
export type Viewer = 'merchant' | 'staff' | 'internal' | 'public'

/**
 * Lets a capability add fields to orders that are read. The row of an order says whether the facet has something, so
 * a facet that has nothing costs no statement.
 */
export interface Facet<Found = unknown> {
  /** Tests in SQL whether an order of the tenant $1 in `table` has something. */
  readonly existsSql: (table: string) => string
  /** Reads what the facet has of `waybills`, which have something, by waybill. */
  readonly read: (read: Read, tenant: string, waybills: readonly string[]) => Promise<ReadonlyMap<string, Found>>
  /** Defines the fields in lists of orders, and returns them. Merchants' lists lack those that are `onlyForStaff`. */
  readonly inLists?: Shown<Found> & { readonly onlyForStaff?: true }
  /** Defines the fields of one order for each viewer, and returns them. */
  readonly inOne?: Readonly<Partial<Record<Viewer, ShownInOne<Found>>>>
}

// Both have methods, whose parameters compare both ways: a facet of any type is a Facet.
interface Shown<Found> {
  readonly fields: TProperties
  view(found: Found | undefined): object
}
interface ShownInOne<Found> {
  readonly fields: TProperties
  /** `built` is the view to which the fields are added; fields of the same name replace its own. */
  view(found: Found | undefined, order: TrackedOrder, publicUrl?: string, built?: object): object
}

export type Facets = ReadonlyMap<string, Facet>

/** Leaves out of lists what only staff may see. */
export const hideFromMerchants = (facets: Facets): Facets =>
  new Map(
    [...facets].map(([name, { inLists, ...facet }]) => [
      name,
      inLists && !inLists.onlyForStaff ? { ...facet, inLists } : facet,
    ]),
  )

const toFlag = (name: string): Flag => `has_${name.replaceAll('-', '_')}`

type FlaggedRow = Pick<OrderRow, 'waybill_number'> & FacetFlags

const isListed = ({ inLists }: Facet): boolean => inLists !== undefined

/** Names the facets that lists show, for the names of statements: lists of merchants and of staff differ. */
export const nameListed = (facets: Facets): string =>
  [...facets].flatMap(([name, facet]) => (isListed(facet) ? ` ${name}` : '')).join('')

/** Selects the flags of the facets, after a comma each: all of them, or only those shown in lists. */
export const flagsSql = (facets: Facets, table: string, shownIn: 'lists' | 'one'): string =>
  [...facets]
    .filter(([, facet]) => shownIn === 'one' || isListed(facet))
    .map(([name, { existsSql }]) => `, ${existsSql(table)} as ${toFlag(name)}`)
    .join('')

export const listFields = (facets: Facets): TProperties =>
  Object.assign({}, ...[...facets.values()].map(({ inLists }) => inLists?.fields))

export const oneFields = (facets: Facets, viewer: Viewer): TProperties =>
  Object.assign({}, ...[...facets.values()].map(({ inOne }) => inOne?.[viewer]?.fields))

const readFor = async (
  [name, facet]: readonly [string, Facet],
  read: Read,
  tenant: string,
  rows: readonly FlaggedRow[],
) => {
  const waybills = rows.filter(row => row[toFlag(name)]).map(row => row.waybill_number)
  const found = waybills.length > 0 ? await facet.read(read, tenant, waybills) : undefined
  return [facet, found ?? new Map<string, unknown>()] as const
}

/** Adds the fields of facets to orders of a list; `rows` has their flags. */
export const addListed = async <Order extends { readonly waybill_number: string }>(
  facets: Facets,
  run: Read,
  tenant: string,
  orders: Order[],
  rows: readonly FlaggedRow[],
): Promise<Order[]> => {
  const listed = [...facets].filter(([, facet]) => isListed(facet))
  const read = await Promise.all(listed.map(facet => readFor(facet, run, tenant, rows)))
  for (const [facet, found] of read)
    for (const order of orders) Object.assign(order, facet.inLists?.view(found.get(order.waybill_number)))
  return orders
}

/** Adds the fields of facets to one order, for this viewer. */
export const addToOne = async <View extends object>(
  facets: Facets,
  read: Read,
  order: TrackedOrder,
  viewer: Viewer,
  view: View,
  publicUrl?: string,
): Promise<View> => {
  const { row, catalogue } = order
  const shown = [...facets].filter(([, facet]) => facet.inOne?.[viewer])
  const found = await Promise.all(shown.map(facet => readFor(facet, read, catalogue.tenant, [row])))
  return Object.assign(
    view,
    ...found.map(([facet, map]) => facet.inOne?.[viewer]?.view(map.get(row.waybill_number), order, publicUrl, view)),
  )
}
