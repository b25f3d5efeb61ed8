import type { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { listForms } from '@courier/shared/name-key.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, readInTenant, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { computePhoneKey, isPhoneSql, listStored } from '../database/phone-columns.ts'
import type { Tx } from '../database/tables.ts'
import { cancelledKey, deliveredKeys, returnedKeys } from '../statuses/statuses.ts'
import { toArrayLiteral } from './batch-rows.ts'
import type { CheckedBatch } from './check-batch.ts'

export interface Habits {
  readonly orders: number
  readonly cityIds: ReadonlySet<number>
  readonly maxWeightKg: number
}

export type FindHabits = ReturnType<typeof createFindHabits>

const maxOrdersRead = 1_000
/** Sets the number of orders below which a merchant's orders say nothing about the next one. */
const minOrders = 100
const cachedMilliseconds = 60_000
/** Limits the cities of all merchants together, which then take 20 to 40 MB. */
const maxCityIds = 1_000_000

/**
 * Creates a function that returns a merchant's habits, cached for a minute; undefined with few orders. Belongs to the
 * core: a batch that differs from them is refused or marked before it is written.
 */
export const createFindHabits = (pool: pg.Pool) => {
  const cache = new LRUCache<string, Habits>({
    max: 10_000,
    maxSize: maxCityIds,
    sizeCalculation: ({ cityIds }) => 1 + cityIds.size,
    ignoreFetchAbort: true,
    ttl: cachedMilliseconds,
    fetchMethod: key => {
      const [tenant = '', merchantId = ''] = key.split(' ')
      return readHabits(pool, tenant, merchantId)
    },
  })
  return async (tenant: string, merchantId: string) => {
    const key = `${tenant} ${merchantId}`
    const habits = cache.get(key) ?? (await cache.fetch(key))
    return habits && habits.orders >= minOrders ? habits : undefined
  }
}

const readHabits = async (pool: pg.Pool, tenant: string, merchantId: string): Promise<Habits> => {
  const query = { text: habitsSql, values: [tenant, merchantId] }
  const rows = await readInTenant<{ destination_city_id: number; weight: number }>(pool, tenant, query)
  return {
    orders: rows.length,
    cityIds: new Set(rows.map(row => row.destination_city_id)),
    maxWeightKg: Math.max(0, ...rows.map(({ weight }) => weight)),
  }
}

const habitsSql = `select destination_city_id, weight from orders where tenant_id = $1 and merchant_id = $2
  order by created_at desc limit ${maxOrdersRead}`

/**
 * Warns of phone numbers whose parcels from this company mostly came back, if at least three are finished and the
 * company allows it (docs/staff/failed-deliveries.md#recipients). Runs only in dry runs: a look-up of each phone would
 * slow bookings.
 */
export const warnReturns = async (
  pool: pg.Pool,
  { tenant, actor }: { readonly tenant: string; readonly actor: Actor },
  { country, orders }: CheckedBatch,
  warnings: ErrorList,
): Promise<void> => {
  const phones = orders.map(({ phone }) => toArrayLiteral(listStored(phone.key, country)))
  const values = [tenant, toArrayLiteral(phones), deliveredKeys, returnedKeys]
  const rows = await inTenant(pool, tenant, async (tx: Tx) => {
    const rows = await tx.rows({ name: 'find_returns', text: findReturnsSql, values })
    if (rows.length > 0) await audit(tx, tenant, actor, 'recipient.read', 'dry run')
    return rows
  }).catch(withoutDoubt)
  for (const { item, delivered, returned } of rows)
    warnings.add(
      `order_data.${item - 1}.customer_phone`,
      `${returned} of the last ${delivered + returned} parcels to this phone number came back: call before you send it.`,
    )
}

/**
 * Warns of order numbers that the business used before, however long ago, and names the newest parcel and its day:
 * shops export the last days again and again. A cancelled parcel is named if there is no other. Runs only in dry runs.
 */
export const warnUsedNumbers = async (
  pool: pg.Pool,
  tenant: string,
  { businessId, orders }: CheckedBatch,
  warnings: ErrorList,
): Promise<void> => {
  const wanted = orders.flatMap(({ order: { orderNo } }, index) =>
    orderNo === undefined ? [] : listForms(orderNo).map(form => ({ form, index, orderNo })),
  )
  if (wanted.length === 0) return
  const mostRead = Math.ceil(maxNumbersRead / wanted.length)
  const values = [tenant, toArrayLiteral(wanted.map(({ form }) => form)), businessId, mostRead]
  const rows = await readInTenant<UsedNumber>(pool, tenant, { name: 'find_used_numbers', text: findUsedSql, values })
  const found = rows.map(row => ({ ...row, ...(wanted[row.item - 1] as (typeof wanted)[number]) }))
  const newest = found.sort((a, b) => Number(a.cancelled) - Number(b.cancelled) || (a.day < b.day ? 1 : -1))
  const byOrder = Map.groupBy(newest, ({ index }) => index)
  for (const [index, [first]] of [...byOrder].sort(([a], [b]) => a - b))
    if (first) warnings.add(...wordUsed(index, first))
}

interface UsedNumber {
  readonly item: number
  readonly waybill: string
  /** Is the day in the company's time zone, such as 2026-11-24. */
  readonly day: string
  readonly cancelled: boolean
}

const wordUsed = (index: number, { orderNo, waybill, day, cancelled }: UsedNumber & { orderNo: string }) =>
  [
    `order_data.${index}.order_no`,
    cancelled
      ? `The order no ${orderNo} was that of ${waybill}, booked on ${day} and cancelled since.`
      : `The order no ${orderNo} is that of ${waybill}, booked on ${day}, too.`,
  ] as const

/** Limits the orders that a dry run reads by their numbers, which all merchants of a tenant may share. */
const maxNumbersRead = 500_000

const findUsedSql = `
  with wanted as materialized (
    select item::integer, order_no from unnest($2::text[]) with ordinality as wanted (order_no, item)
  )
  select item, waybill_number as waybill, status_key = '${cancelledKey}' as cancelled,
    to_char(created_at at time zone time_zone, 'YYYY-MM-DD') as day
  from tenants cross join wanted cross join lateral (
    select waybill_number, status_key, created_at
    from (select waybill_number, status_key, created_at, business_id from orders
      where tenant_id = $1 and order_no = wanted.order_no order by created_at desc limit $4::integer) numbered
    where business_id = $3::integer order by status_key = '${cancelledKey}', created_at desc limit 1
  ) newest
  where tenants.tenant_id = $1`

const findReturnsSql = `
  with wanted as materialized (
    select item::integer, phones::text[] as stored, ${computePhoneKey('phones::text[]')} as phone_key
    from unnest($2::text[]) with ordinality as wanted (phones, item)
  )
  select item, delivered, returned from tenants cross join wanted cross join lateral (
    select count(*) filter (where status_key = any($3::text[]))::int as delivered,
      count(*) filter (where status_key = any($4::text[]))::int as returned
    from (select status_key from orders where tenant_id = $1 and ${isPhoneSql('wanted.stored', 'wanted.phone_key')}
      order by created_at desc limit 200) parcels
  ) newest
  where tenants.tenant_id = $1 and recipient_history and delivered + returned >= 3 and returned > delivered
    order by item`
