import type { DateOrTime } from '@courier/shared/lists/dates.ts'
import { listForms } from '@courier/shared/name-key.ts'
import { isoTime } from '../database/iso-time.ts'
import { isPhoneSql } from '../database/phone-columns.ts'
import { fromDeliveries, fromFailedAttempts } from '../statuses/status-queries.ts'
import { type Facets, flagsSql, nameListed, type Read } from '../tracking/facets.ts'
import { orderColumnsSql } from '../tracking/read-orders.ts'
import type { OrderFilter } from './order-filter.ts'
import { maxSearched, searchSql } from './search.ts'

/** Describes an order's position in a list, newest first; it never changes. */
export interface Position {
  /** Is an ISO 8601 time in UTC, with microseconds. */
  readonly createdAt: string
  readonly waybill: string
}

/** Describes a part of a list, which begins after the last order of the previous page or at an offset. */
interface Window {
  readonly after?: Position | undefined
  readonly offset: number
  /** null: all rows. */
  readonly limit: number | null
}

/** Limits the orders that are counted and paged by number; cursors reach further. */
export const maxCounted = 10_000

/**
 * Selects rows for `viewOrders`: the orders of a tenant that match the filter, newest first. Computes columns and looks
 * up facets only for the page, not for the orders before it. Pages of all orders of a tenant or a merchant, which most
 * requests read, are prepared: planning takes Postgres longer than reading such a page.
 */
export const selectOrders = (facets: Facets, tenant: string, filter: OrderFilter, window: Window) => {
  const { merchant_id } = filter
  const isPrepared = window.limit !== null && listsAll(filter)
  const values: unknown[] = [tenant]
  const [hits, order] =
    isPrepared && merchant_id !== undefined
      ? selectOfMerchant(merchant_id, values, window.after)
      : [selectMatching(filter, writeConditions(filter, values, window.after), values), newestFirst]
  const text = `
    ${hits}
    select ${orderColumnsSql}${flagsSql(facets, 'page', 'lists')} from (
      select * from hit order by ${order}
      limit ${add(values, window.limit)}::bigint offset ${add(values, window.offset)}::bigint
    ) page`
  const name = `list_orders${merchant_id === undefined ? '' : '_of_merchant'}${window.after ? '_after' : ''}${nameListed(facets)}`
  return { text, values, ...(isPrepared && { name }) }
}

/** Returns true if the filter matches all orders of the tenant or of a merchant. */
export const listsAll = ({ merchant_id: _, ...others }: OrderFilter): boolean =>
  Object.values(others).every(value => value === undefined)

const newestFirst = 'created_at desc, waybill_number desc'

/**
 * Selects the orders of a merchant as a range of the index by merchant, and its order. A plan for any merchant could
 * otherwise read the orders of a large merchant to find those of a small one.
 */
const selectOfMerchant = (id: string, values: unknown[], after: Position | undefined): [string, string] => {
  const merchant = `${add(values, id)}::bigint`
  const last = after
    ? `(merchant_id, created_at, waybill_number)
        < (${merchant}, ${add(values, after.createdAt)}::timestamptz, ${add(values, after.waybill)})`
    : `(merchant_id, created_at) <= (${merchant}, 'infinity'::timestamptz)`
  const hits = `with hit as not materialized (
      select * from orders where tenant_id = $1 and ${last}
        and (merchant_id, created_at) >= (${merchant}, '-infinity'::timestamptz)
    )`
  return [hits, `merchant_id desc, ${newestFirst}`]
}

/** Counts the orders that match the filter, after a position if given. Stops counting at `most`. */
export const countOrders = async (read: Read, ...counted: Parameters<typeof selectCount>): Promise<number> =>
  (await read<{ count: number }>(selectCount(...counted)))[0]?.count ?? 0

/** Returns the statement of `countOrders`. */
export const selectCount = (tenant: string, filter: OrderFilter, most = maxCounted, after?: Position) => {
  const values: unknown[] = [tenant]
  const conditions = writeConditions(filter, values, after)
  const text = `
    ${selectMatching(filter, conditions, values)}
    select count(*)::integer as count from (select from hit limit ${add(values, most)}) counted`
  return { text, values }
}

/**
 * Selects the matching orders. Filters by number, phone or day of an outcome match few orders, so they are materialized
 * first: the planner may otherwise scan all orders by age.
 */
const selectMatching = (filter: OrderFilter, conditions: readonly string[], values: unknown[]): string => {
  const { waybill_number, order_no, phones, delivered_on, failed_on, search, phone_parts = [] } = filter
  const isNarrow = [waybill_number, order_no, phones, delivered_on, failed_on].some(value => value !== undefined)
  const matching = `select * from orders where ${conditions.join(' and ')}`
  const found =
    search === undefined
      ? matching
      : searchSql(matching, add(values, search.normalize('NFC')), add(values, phone_parts))
  return `with hit as ${isNarrow ? '' : 'not'} materialized (${found})`
}

/** Finds the position where a search of the filter's orders stops; undefined: the search reads all of them. */
export const findSearchEnd = async (
  read: Read,
  tenant: string,
  filter: OrderFilter,
  after: Position | undefined,
): Promise<Position | undefined> => {
  const values: unknown[] = [tenant]
  const text = `
    select ${isoTime('created_at')} as "createdAt", waybill_number as waybill
    from orders where ${writeConditions(filter, values, after).join(' and ')}
    order by ${newestFirst} limit 2 offset ${maxSearched - 1}`
  const rows = await read<Position>({ text, values })
  return rows.length > 1 ? rows[0] : undefined
}

/** Adds a parameter of a statement, whose $1 is the tenant; returns its placeholder. */
const add = (values: unknown[], value: unknown): string => `$${values.push(value)}`

/**
 * Names the filters that `conditionSql` does not list: times of creation, the class and the phone that `status_keys`
 * and `phones` replace, and those that `searchSql` writes.
 */
type Unlisted =
  | 'added'
  | 'created_at'
  | 'created_from'
  | 'created_to'
  | 'status_class'
  | 'phone'
  | 'search'
  | 'phone_parts'

/**
 * Writes the condition of each filter, given the placeholder of its value. An index serves each filter except those by
 * city, which read orders by age until the page is full.
 */
const conditionSql: Readonly<Record<Exclude<keyof OrderFilter, Unlisted>, (value: string) => string>> = {
  merchant_id: id => `merchant_id = ${id}::bigint`,
  business_id: id => `business_id = ${id}::bigint`,
  status: key => `status_key = ${key}`,
  status_keys: keys => `status_key = any(${keys}::text[])`,
  delivered_on: day => onDaySql(day, fromDeliveries),
  failed_on: day => onDaySql(day, fromFailedAttempts),
  waybill_number: number => `waybill_number = ${number}`,
  order_no: forms => `order_no = any(${forms}::text[])`,
  phones: stored => isPhoneSql(`${stored}::text[]`),
  origin_city_id: id => `origin_city_id = ${id}::bigint`,
  destination_city_id: id => `destination_city_id = ${id}::bigint`,
}

/**
 * Restricts orders to the present merchant of a business: the index by merchant then serves the filter. A business that
 * moved also has orders of its earlier merchant, which this leaves out.
 */
const ownerSql = (id: string): string =>
  `merchant_id = (select merchant_id from businesses where tenant_id = $1 and business_id = ${id}::bigint)`

const writeConditions = (filter: OrderFilter, values: unknown[], after: Position | undefined): string[] => {
  const { created_from, created_to, created_at, business_id, merchant_id, added = [] } = filter
  const given = Object.entries(filter).filter(([name, value]) => value !== undefined && name in conditionSql)
  return [
    'tenant_id = $1',
    ...given.map(([name, value]) =>
      conditionSql[name as keyof typeof conditionSql](add(values, name === 'order_no' ? listForms(`${value}`) : value)),
    ),
    ...(business_id !== undefined && merchant_id === undefined ? [ownerSql(add(values, business_id))] : []),
    ...added.map(({ conditionSql, value }) => conditionSql(value, add(values, value))),
    ...[created_from, created_at].flatMap(bound => (bound ? fromSql(bound, values) : [])),
    ...[created_to, created_at].flatMap(bound => (bound ? untilSql(bound, values) : [])),
    ...(after
      ? [`(created_at, waybill_number) < (${add(values, after.createdAt)}::timestamptz, ${add(values, after.waybill)})`]
      : []),
  ]
}

const fromSql = (bound: DateOrTime, values: unknown[]): string =>
  'time' in bound
    ? `created_at >= ${add(values, bound.time)}::timestamptz`
    : `created_at >= ${midnightSql(add(values, bound.date), 0)}`

/** Writes the end of a range. A range that ends with a date includes that day. */
const untilSql = (bound: DateOrTime, values: unknown[]): string =>
  'time' in bound
    ? `created_at <= ${add(values, bound.time)}::timestamptz`
    : `created_at < ${midnightSql(add(values, bound.date), 1)}`

const onDaySql = (day: string, fromEvents: (first: string, last: string) => string): string =>
  `waybill_number in (select waybill_number ${fromEvents(midnightSql(day, 0), midnightSql(day, 1))})`

const midnightSql = (date: string, daysLater: number): string =>
  `(select (${date}::date + ${daysLater})::timestamp at time zone time_zone from tenants where tenant_id = $1)`
