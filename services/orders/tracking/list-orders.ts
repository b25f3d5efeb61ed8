import type { Tx } from '../database/tables.ts'
import { type OrderRow, orderColumns, orderJoins } from './find-order.ts'
import type { Moment, OrderFilter } from './order-filter.ts'

/** An order's place in a list, newest first: the same for ever. */
export interface Position {
  /** ISO 8601, UTC, in microseconds. */
  readonly createdAt: string
  readonly waybill: string
}

/** The part of a list that is wanted: behind an order of the page before, or so many rows from the newest. */
export interface Window {
  readonly after?: Position | undefined
  readonly offset: number
  readonly limit: number
}

/** Lists are counted, and paged by number, up to here; a cursor goes on. */
export const maxCounted = 10_000

/** The orders of a tenant that pass the filter, newest first. */
export const listOrders = async (tx: Tx, tenant: string, filter: OrderFilter, window: Window): Promise<OrderRow[]> => {
  const values = new Values(tenant)
  const conditions = conditionsOf(filter, values)
  if (window.after) {
    const { createdAt, waybill } = window.after
    conditions.push(`(created_at, waybill_number) < (${values.add(createdAt)}::timestamptz, ${values.add(waybill)})`)
  }
  const text = `
    ${hits(filter, conditions)}, page as (
      select * from hit order by created_at desc, waybill_number desc
      limit ${values.add(window.limit)} offset ${values.add(window.offset)}
    )
    select ${orderColumns} from page o ${orderJoins} order by o.created_at desc, o.waybill_number desc`
  return (await tx.client.query<OrderRow>(text, values.all)).rows
}

/** How many orders pass the filter; `maxCounted` for that many and more. */
export const countOrders = async (tx: Tx, tenant: string, filter: OrderFilter): Promise<number> => {
  const values = new Values(tenant)
  const conditions = conditionsOf(filter, values)
  const text = `
    ${hits(filter, conditions)}
    select count(*)::integer as count from (select from hit limit ${values.add(maxCounted)}) counted`
  return (await tx.client.query(text, values.all)).rows[0].count
}

/**
 * The orders that pass. What a filter by number or phone leaves is few and found first: walking all orders by age, in the
 * hope to meet them soon, is what the planner may choose otherwise.
 */
const hits = ({ waybill, orderNo, phone }: OrderFilter, conditions: readonly string[]): string => {
  const isNarrow = waybill !== undefined || orderNo !== undefined || phone !== undefined
  return `with hit as ${isNarrow ? '' : 'not'} materialized (select * from orders where ${conditions.join(' and ')})`
}

/** The values of a statement: `add` gives each its place. $1 is the tenant. */
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

/** Each is served by an index of the tenant's orders; a business is looked for among the orders of its merchant. */
const conditionsOf = (filter: OrderFilter, values: Values): string[] => {
  const conditions = ['tenant_id = $1']
  const add = (value: unknown, condition: (place: string) => string): void => {
    if (value !== undefined) conditions.push(condition(values.add(value)))
  }
  add(filter.merchantId, place => `merchant_id = ${place}::bigint`)
  add(filter.businessId, place => `business_id = ${place}::bigint and merchant_id = ${ownerOf(place)}`)
  add(filter.status, place => `status_key = ${place}`)
  addMoment(filter.createdFrom, values, conditions, '>=', '>=')
  addMoment(filter.createdTo, values, conditions, '<=', '<')
  add(filter.waybill, place => `waybill_number = ${place}`)
  add(filter.orderNo, place => `order_no = ${place}`)
  add(filter.phone, place => `phone_key = ${lastNine(`${place}::text`)}`)
  return conditions
}

const ownerOf = (business: string): string =>
  `(select merchant_id from businesses where tenant_id = $1 and business_id = ${business}::bigint)`

/** As the column phone_key is made. */
const lastNine = (phone: string): string => `right(translate(${phone}, ' +-().', ''), 9)`

/** A date that ends a range is its last day: before the day after it. */
const addMoment = (
  moment: Moment | undefined,
  values: Values,
  conditions: string[],
  sign: string,
  signOfDate: '>=' | '<',
): void => {
  if (!moment) return
  if ('time' in moment) {
    conditions.push(`created_at ${sign} ${values.add(moment.time)}::timestamptz`)
    return
  }
  const days = signOfDate === '<' ? 1 : 0
  const midnight = `(${values.add(moment.date)}::date + ${days})::timestamp at time zone time_zone`
  conditions.push(`created_at ${signOfDate} (select ${midnight} from tenants where tenant_id = $1)`)
}
