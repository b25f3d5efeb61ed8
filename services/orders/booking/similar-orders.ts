import type { Tx } from '../database/tables.ts'
import { cancelledKey } from '../statuses/statuses.ts'
import { arrayLiteral } from './batch-rows.ts'
import type { PricedOrder } from './check-batch.ts'

/** The waybills of the newest orders of the last 24 hours that are similar to an order. */
interface Alike {
  readonly sameParcel: string | null
  readonly sameOrderNo: string | null
}

export type FoundAlike = ReadonlyMap<PricedOrder, Alike>

/** Checked orders of one merchant. */
export interface Comparable {
  readonly merchantId: string
  readonly orders: readonly PricedOrder[]
}

/**
 * Finds the earlier orders that the groups' orders are similar to; leaves out orders without any. Ignores cancelled
 * ones, and those that this transaction has `written`.
 */
export const findAlike = async (
  tx: Tx,
  tenant: string,
  groups: readonly Comparable[],
  written: readonly string[] = [],
): Promise<FoundAlike> => {
  const orders = groups.flatMap(({ orders }) => orders)
  if (orders.length === 0) return new Map()
  const columns = [
    groups.flatMap(({ merchantId, orders }) => orders.map(() => merchantId)),
    orders.map(({ order }) => order.customerPhone),
    orders.map(({ order }) => order.cod),
    orders.map(({ destination }) => destination.id),
    orders.map(({ order }) => order.orderNo),
  ]
  const { rows } = await tx.client.query({ ...findAlikeSql, values: [tenant, ...columns.map(arrayLiteral), written] })
  return new Map(rows.map(({ place, ...alike }) => [orders[place - 1] as PricedOrder, alike as Alike]))
}

/**
 * Computes phone_key as the table does. Use it in a materialized CTE: under row-level security no index serves a
 * condition that calls a function.
 */
export const phoneKey = (column: string): string => `right(translate(${column}, ' +-().', ''), 9) as phone_key`

const recent = (tenant: string, condition: string): string =>
  `select * from orders where tenant_id = ${tenant} and ${condition} and created_at > now() - interval '24 hours'`

/**
 * Selects the waybills of `input` that may be similar to an earlier order: its phone or number is theirs. The plain look-up costs a
 * third of `findAlike`, which follows for these alone. `order by` keeps Postgres from an index by age, in a plan that was made
 * when the table was small.
 */
export const maybeAlikeSql = `(
    with wanted as materialized (
      select waybill_number, ${phoneKey('customer_phone')}, order_no from input where :looks_up::boolean
    )
    select array_agg(wanted.waybill_number) as maybe_alike from wanted, lateral (
      (${recent(':tenant', 'phone_key = wanted.phone_key')} order by created_at desc limit 1) union all
      (${recent(':tenant', 'order_no = wanted.order_no')} order by created_at desc limit 1)
      limit 1
    ) found
  )`

/** Reads only the newest orders of a phone or an order number, however many there are. */
const newest = (condition: string): string => `
  ${recent('$1', condition)} and waybill_number <> all($7::text[])
  order by created_at desc limit 20`

/** Joins the look-ups, because Citus takes no subquery of another table as a column. */
const findAlikeSql = {
  name: 'find_alike',
  text: `
  with wanted as materialized (
    select *, ${phoneKey('phone')}
    from unnest($2::bigint[], $3::text[], $4::integer[], $5::integer[], $6::text[]) with ordinality
      as wanted (merchant_id, phone, cod, city_id, order_no, place)
  )
  select place::integer, same_parcel.waybill_number as "sameParcel", same_order_no.waybill_number as "sameOrderNo"
  from wanted
    left join lateral (
      select waybill_number from (${newest('phone_key = wanted.phone_key')}) recent
      where recent.merchant_id = wanted.merchant_id and recent.cod = wanted.cod
        and recent.destination_city_id = wanted.city_id and recent.status_key <> '${cancelledKey}'
      order by created_at desc limit 1
    ) same_parcel on true
    left join lateral (
      select waybill_number from (${newest('order_no = wanted.order_no')}) recent
      where recent.merchant_id = wanted.merchant_id and recent.status_key <> '${cancelledKey}'
      order by created_at desc limit 1
    ) same_order_no on true
  where same_parcel.waybill_number is not null or same_order_no.waybill_number is not null`,
}
