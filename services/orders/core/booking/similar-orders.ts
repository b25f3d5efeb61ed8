import { computePhoneKey, isPhoneSql, listStored } from '../database/phone-columns.ts'
import type { Tx } from '../database/tables.ts'
import { cancelledKey } from '../statuses/statuses.ts'
import { toArrayLiteral } from './batch-rows.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'

/** An order is compared with those that are at most this old: people repeat an upload soon, and buy again later. */
export const similarHours = 24

/** Holds the waybills of the newest orders that are similar to an order. */
interface Alike {
  readonly sameParcel: string | null
  readonly sameOrderNo: string | null
}

export type FoundAlike = ReadonlyMap<PricedOrder, Alike>

export const leaveNumbersOut = (alike: FoundAlike): FoundAlike =>
  new Map([...alike].map(([order, found]) => [order, { ...found, sameOrderNo: null }]))

/** Holds checked orders of one merchant. */
export interface Comparable extends Pick<CheckedBatch, 'country' | 'orders'> {
  readonly merchantId: string
}

/**
 * Finds the earlier orders that are similar to the groups' orders; leaves out orders that resemble none. Ignores
 * cancelled orders and orders that this transaction has `written`.
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
    groups.flatMap(({ country, orders }) => orders.map(({ phone }) => toArrayLiteral(listStored(phone.key, country)))),
    orders.map(({ order }) => order.cod),
    orders.map(({ destination }) => destination.id),
    orders.map(({ order }) => order.orderNo?.normalize('NFC')),
  ]
  const rows = await tx.rows({ ...findAlikeSql, values: [tenant, ...columns.map(toArrayLiteral), written] })
  return new Map(rows.map(({ item, ...alike }) => [orders[item - 1] as PricedOrder, alike as Alike]))
}

const selectRecent = (tenant: string, condition: string): string =>
  `select * from orders where tenant_id = ${tenant} and ${condition} and created_at > now() - interval '${similarHours} hours'`

/**
 * Selects the waybills of those orders of `input` that may be similar to an earlier one: one with the same phone or
 * order number. The plain look-up costs a third of `findAlike`, which follows for these waybills alone. `order by`
 * keeps Postgres from choosing an index by age, in a plan that was made when the table was small.
 */
export const maybeAlikeSql = `(
    with wanted as materialized (
      select waybill_number, ${computePhoneKey('array[customer_phone]')} as phone_key, order_no from input
      where :looks_up::boolean
    )
    select array_agg(wanted.waybill_number) as maybe_alike from wanted, lateral (
      (${selectRecent(':tenant', 'phone_key = wanted.phone_key')} order by created_at desc limit 1) union all
      (${selectRecent(':tenant', 'order_no = wanted.order_no')} order by created_at desc limit 1)
      limit 1
    ) found
  )`

/**
 * Limits the orders read for one phone or order number, which all merchants may share. For 100 orders that share one,
 * reading 200 each takes 7 ms (measured).
 */
const maxRead = 200

/** Reads only the newest orders of a phone or an order number, however many there are. */
const selectNewest = (condition: string): string => `
  ${selectRecent('$1', condition)} and waybill_number <> all($7::text[])
  order by created_at desc limit ${maxRead}`

/** Joins the look-ups, because Citus accepts no subquery on another table as a column. */
const findAlikeSql = {
  name: 'find_alike',
  text: `
  with wanted as materialized (
    select *, phones::text[] as stored, ${computePhoneKey('phones::text[]')} as phone_key
    from unnest($2::bigint[], $3::text[], $4::integer[], $5::integer[], $6::text[]) with ordinality
      as wanted (merchant_id, phones, cod, city_id, order_no, item)
  )
  select item::integer, same_parcel.waybill_number as "sameParcel", same_order_no.waybill_number as "sameOrderNo"
  from wanted
    left join lateral (
      select waybill_number from (${selectNewest(isPhoneSql('wanted.stored', 'wanted.phone_key'))}) recent
      where recent.merchant_id = wanted.merchant_id and recent.cod = wanted.cod
        and recent.destination_city_id = wanted.city_id and recent.status_key <> '${cancelledKey}'
      order by created_at desc limit 1
    ) same_parcel on true
    left join lateral (
      select waybill_number from (${selectNewest('order_no = wanted.order_no')}) recent
      where recent.merchant_id = wanted.merchant_id and recent.status_key <> '${cancelledKey}'
      order by created_at desc limit 1
    ) same_order_no on true
  where same_parcel.waybill_number is not null or same_order_no.waybill_number is not null`,
}
