import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { inTenant, query, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { claimKey, deleteExpiredKey, type IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import { computePhoneKey, isPhoneSql, listStored } from '../database/phone-columns.ts'
import type { Tx } from '../database/tables.ts'
import { cancelledKey } from '../statuses/statuses.ts'
import { toArrayLiteral } from './batch-rows.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'

interface Wanted {
  readonly waybills: readonly string[]
  readonly key?: IdempotencyKey | undefined
  /** Holds the batch if similar orders are an error or the response lists them. */
  readonly comparable?: Comparable | false | undefined
}

export type Conflicts = Awaited<ReturnType<typeof readConflicts>>

/**
 * Reads in one transaction what a batch may conflict with; `warnings` belong to the response that the claim holds.
 * Deletes an expired key, which frees it.
 */
export const readConflicts = async (pool: pg.Pool, tenant: string, { waybills, key, comparable }: Wanted) => {
  if (waybills.length === 0 && !key && !comparable)
    return { claim: undefined, warnings: {}, existing: new Set<string>(), alike: new Map() as FoundAlike }
  return inTenant(pool, tenant, async (tx: Tx) => {
    const [claim, warnings, existing, alike] = await Promise.all([
      key && claimKey(tx, tenant, key),
      key ? findWarnings(tx, tenant, key) : {},
      findExisting(tx, tenant, waybills),
      findAlike(tx, tenant, comparable ? [comparable] : []),
    ])
    if (key && claim?.kind === 'free') await deleteExpiredKey(tx, tenant, key)
    return { claim, warnings, existing, alike }
  }).catch(withoutDoubt)
}

const findWarnings = async (tx: Tx, tenant: string, { scope, key }: IdempotencyKey): Promise<FieldErrors> => {
  const [row] = await query<{ warnings: string | null }>(tx)`
    select warnings from idempotency_keys where tenant_id = ${tenant} and scope = ${scope} and idempotency_key = ${key}`
  return row?.warnings ? JSON.parse(row.warnings) : {}
}

export const findExisting = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const text = 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])'
  const rows = await tx.rows({ name: 'find_existing', text, values: [tenant, toArrayLiteral(waybills)] })
  return new Set(rows.map(row => row.waybill_number))
}

/** Holds the waybills of the newest orders from the last 24 hours that are similar to an order. */
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
  `select * from orders where tenant_id = ${tenant} and ${condition} and created_at > now() - interval '24 hours'`

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
