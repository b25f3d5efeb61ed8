import type { Tx } from '../database/tables.ts'
import { cancelledKey } from '../statuses/statuses.ts'
import { arrayLiteral } from './batch-rows.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'

/** The waybills of the newest orders of the last 24 hours that are similar to an order. */
interface Alike {
  readonly sameParcel: string | null
  readonly sameOrderNo: string | null
}

export type FoundAlike = ReadonlyMap<PricedOrder, Alike>

/** Checked orders of one merchant. */
export interface Comparable {
  readonly merchantId: string
  readonly batch: CheckedBatch
}

/**
 * Finds the earlier orders that the batches' orders are similar to; leaves out orders without any. Ignores cancelled ones.
 */
export const findAlike = async (tx: Tx, tenant: string, batches: readonly Comparable[]): Promise<FoundAlike> => {
  const orders = batches.flatMap(({ batch }) => batch.orders)
  if (orders.length === 0) return new Map()
  const columns = [
    batches.flatMap(({ merchantId, batch }) => batch.orders.map(() => merchantId)),
    orders.map(({ order }) => order.customerPhone),
    orders.map(({ order }) => order.cod),
    orders.map(({ destination }) => destination.id),
    orders.map(({ order }) => order.orderNo),
  ]
  const { rows } = await tx.client.query({ ...findAlikeSql, values: [tenant, ...columns.map(arrayLiteral)] })
  return new Map(rows.map(({ place, ...alike }) => [orders[place - 1] as PricedOrder, alike as Alike]))
}

/** Reads only the newest orders of a phone or an order number, however many there are. */
const newest = (condition: string): string => `
  select * from orders
  where tenant_id = $1 and ${condition} and created_at > now() - interval '24 hours'
  order by created_at desc limit 20`

/**
 * `wanted` computes phone_key as the table does. It is materialized: under row-level security no index serves a
 * condition that calls a function. A join, because Citus takes no subquery of another table as a column.
 */
const findAlikeSql = {
  name: 'find_alike',
  text: `
  with wanted as materialized (
    select *, right(translate(phone, ' +-().', ''), 9) as phone_key
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
