import type { DateOrTime } from '@courier/shared/lists/dates.ts'
import type { Tx } from '../database/tables.ts'
import { fromDeliveries, fromFailedAttempts } from '../statuses/outcomes.ts'
import { type OrderRow, orderColumnsSql } from '../tracking/read-orders.ts'
import type { OrderFilter } from './order-filter.ts'

/** An order's position in a list, newest first; it never changes. */
export interface Position {
  /** ISO 8601, UTC, in microseconds. */
  readonly createdAt: string
  readonly waybill: string
}

/** A part of a list: after the last order of the previous page, or so many rows from the newest. */
export interface Window {
  readonly after?: Position | undefined
  readonly offset: number
  /** null: all. */
  readonly limit: number | null
}

/** Lists are counted, and paged by number, up to here; cursors reach further. */
export const maxCounted = 10_000

/** Rows for `viewOrders`: the orders of a tenant that match the filter, newest first. */
export const listOrders = async (tx: Tx, tenant: string, filter: OrderFilter, window: Window): Promise<OrderRow[]> =>
  (await tx.client.query<OrderRow>(selectOrders(tenant, filter, window))).rows

/** The statement of `listOrders`. */
export const selectOrders = (tenant: string, filter: OrderFilter, { after, offset, limit }: Window) => {
  const values = new Values(tenant)
  const conditions = conditionsOf(filter, values, after)
  const text = `
    ${hits(filter, conditions)}
    select ${orderColumnsSql} from hit order by hit.created_at desc, waybill_number desc
    limit ${values.add(limit)}::bigint offset ${values.add(offset)}::bigint`
  return { text, values: values.all }
}

/** How many orders match the filter, after a position if given; `most` for that many or more. */
export const countOrders = async (
  tx: Tx,
  tenant: string,
  filter: OrderFilter,
  most = maxCounted,
  after?: Position,
): Promise<number> => {
  const values = new Values(tenant)
  const conditions = conditionsOf(filter, values, after)
  const text = `
    ${hits(filter, conditions)}
    select count(*)::integer as count from (select from hit limit ${values.add(most)}) counted`
  return (await tx.client.query(text, values.all)).rows[0].count
}

/**
 * The matching orders. Those of a filter by number, phone or day of an outcome are few and materialized first: the planner may
 * otherwise scan all orders by age.
 */
const hits = (filter: OrderFilter, conditions: readonly string[]): string => {
  const { waybill_number, order_no, phone, delivered_on, failed_on } = filter
  const isNarrow = [waybill_number, order_no, phone, delivered_on, failed_on].some(value => value !== undefined)
  return `with hit as ${isNarrow ? '' : 'not'} materialized (select * from orders where ${conditions.join(' and ')})`
}

/** The parameters of a statement; `add` returns a placeholder. $1 is the tenant. */
class Values {
  readonly all: unknown[]

  constructor(tenant: string) {
    this.all = [tenant]
  }

  add(value: unknown): string {
    this.all.push(value)
    return `$${this.all.length}`
  }
}

/** An index of the tenant's orders serves each but that by origin; a business uses the index of its merchant. */
const conditionsOf = (filter: OrderFilter, values: Values, after: Position | undefined): string[] => {
  const conditions = ['tenant_id = $1']
  const add = (value: unknown, condition: (placeholder: string) => string): void => {
    if (value !== undefined) conditions.push(condition(values.add(value)))
  }
  add(filter.merchant_id, placeholder => `merchant_id = ${placeholder}::bigint`)
  add(
    filter.business_id,
    placeholder => `business_id = ${placeholder}::bigint and merchant_id = ${ownerOf(placeholder)}`,
  )
  add(filter.status, placeholder => `status_key = ${placeholder}`)
  add(filter.status_keys, placeholder => `status_key = any(${placeholder}::text[])`)
  addOutcome(filter.delivered_on, values, conditions, fromDeliveries)
  addOutcome(filter.failed_on, values, conditions, fromFailedAttempts)
  addBound(filter.created_from, values, conditions, '>=', '>=')
  addBound(filter.created_to, values, conditions, '<=', '<')
  addBound(filter.created_at, values, conditions, '>=', '>=')
  addBound(filter.created_at, values, conditions, '<=', '<')
  add(filter.waybill_number, placeholder => `waybill_number = ${placeholder}`)
  add(filter.order_no, placeholder => `order_no = ${placeholder}`)
  add(filter.phone, placeholder => `phone_key = ${lastNine(`${placeholder}::text`)}`)
  add(filter.origin_city_id, placeholder => `origin_city_id = ${placeholder}::bigint`)
  add(filter.destination_city_id, placeholder => `destination_city_id = ${placeholder}::bigint`)
  if (after)
    conditions.push(
      `(created_at, waybill_number) < (${values.add(after.createdAt)}::timestamptz, ${values.add(after.waybill)})`,
    )
  return conditions
}

const ownerOf = (business: string): string =>
  `(select merchant_id from businesses where tenant_id = $1 and business_id = ${business}::bigint)`

/** As the column phone_key is computed. */
const lastNine = (phone: string): string => `right(translate(${phone}, ' +-().', ''), 9)`

/** A range that ends with a date includes that day. */
const addBound = (
  bound: DateOrTime | undefined,
  values: Values,
  conditions: string[],
  sign: string,
  signOfDate: '>=' | '<',
): void => {
  if (!bound) return
  if ('time' in bound) {
    conditions.push(`created_at ${sign} ${values.add(bound.time)}::timestamptz`)
    return
  }
  const days = signOfDate === '<' ? 1 : 0
  conditions.push(`created_at ${signOfDate} ${midnightOf(values.add(bound.date), days)}`)
}

/** The orders of the events of a date. */
const addOutcome = (
  date: string | undefined,
  values: Values,
  conditions: string[],
  fromEvents: (first: string, last: string) => string,
): void => {
  if (date === undefined) return
  const day = values.add(date)
  conditions.push(`waybill_number in (select waybill_number ${fromEvents(midnightOf(day, 0), midnightOf(day, 1))})`)
}

const midnightOf = (date: string, daysLater: number): string =>
  `(select (${date}::date + ${daysLater})::timestamp at time zone time_zone from tenants where tenant_id = $1)`
