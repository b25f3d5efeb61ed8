import type { AnyTransaction } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../database/tables.ts'

/** Parcels that a merchant asked for between two cities. */
export interface MissingCount {
  readonly tenant: string
  readonly merchantId: string
  readonly origin: number
  readonly destination: number
  parcels: number
}

/** A merchant that has about so many combinations on a day gets no others: it asks for all there are. */
const maxOfMerchant = 2_000

export const addMissing = (tx: Tx, tenant: string, missing: readonly MissingCount[]) => {
  const sorted = missing.toSorted(
    (a, b) => Number(a.merchantId) - Number(b.merchantId) || a.origin - b.origin || a.destination - b.destination,
  )
  const values = [
    tenant,
    sorted.map(({ merchantId }) => merchantId),
    sorted.map(({ origin }) => origin),
    sorted.map(({ destination }) => destination),
    sorted.map(({ parcels }) => parcels),
  ]
  return tx.client.query({ name: 'add_missing_rates', text: adding, values })
}

const adding = `
  with today as (
    select (now() at time zone time_zone)::date as day from tenants where tenant_id = $1
  ), full_merchant as (
    select merchant_id from rate_gaps
    where tenant_id = $1 and merchant_id = any($2::bigint[]) and day = (select day from today)
    group by merchant_id having count(*) >= ${maxOfMerchant}
  )
  insert into rate_gaps (tenant_id, merchant_id, day, origin_city_id, destination_city_id, asked_for, last_at)
  select $1, merchant_id, day, origin, destination, parcels, now()
  from unnest($2::bigint[], $3::integer[], $4::integer[], $5::bigint[]) as given (merchant_id, origin, destination, parcels),
    today
  where merchant_id not in (select merchant_id from full_merchant) or exists (
    select from rate_gaps known where known.tenant_id = $1 and known.merchant_id = given.merchant_id
      and known.day = today.day and origin_city_id = origin and destination_city_id = destination
  )
  on conflict (tenant_id, merchant_id, day, origin_city_id, destination_city_id)
    do update set asked_for = rate_gaps.asked_for + excluded.asked_for, last_at = excluded.last_at`

/** What one merchant asked for, or got without a rate, between two cities. */
export interface FoundGap {
  readonly merchant: string
  readonly origin: number
  readonly destination: number
  readonly asked_for: number
  readonly orders: number
  readonly last_at: Date
}

const maxFound = 20_000

/** Combinations that active merchants asked for in the last `days`, the most wanted of a merchant first. */
export const findMissing = async (tx: Tx, tenant: string, days: number): Promise<FoundGap[]> => {
  const { rows } = await tx.client.query({ name: 'find_missing_rates', text: finding, values: [tenant, days] })
  return rows
}

const ofActive = 'merchant_id in (select merchant_id from merchants where tenant_id = $1 and is_active)'

const finding = `
  select merchant_id as merchant, origin_city_id as origin, destination_city_id as destination,
    sum(asked_for)::float8 as asked_for, 0 as orders, max(last_at) as last_at
  from rate_gaps where tenant_id = $1 and ${ofActive}
    and day > (select (now() at time zone time_zone)::date - $2::integer from tenants where tenant_id = $1)
  group by 1, 2, 3 order by 4 desc limit ${maxFound}`

/** The newest orders of the period that are looked at: a fifth of a second for all. */
export const maxOrders = 100_000

/** What active merchants booked in the last `days`, by merchant and cities. */
export const findBooked = async (tx: Tx, tenant: string, days: number): Promise<FoundGap[]> => {
  const { rows } = await tx.client.query({ name: 'find_booked_pairs', text: booked, values: [tenant, days] })
  return rows
}

const booked = `
  with period as materialized (
    select ((now() at time zone time_zone)::date - $2::integer + 1)::timestamp at time zone time_zone as midnight
    from tenants where tenant_id = $1
  )
  select merchant_id as merchant, origin_city_id as origin, destination_city_id as destination, 0 as asked_for,
    count(*)::integer as orders, max(created_at) as last_at
  from (
    select merchant_id, origin_city_id, destination_city_id, created_at from orders
    where tenant_id = $1 and created_at >= (select midnight from period)
    order by created_at desc limit ${maxOrders}
  ) newest where ${ofActive} group by 1, 2, 3`

interface NamedMerchant {
  readonly id: number
  readonly name: string
  readonly rate_card: string | null
}

export const findNamedMerchants = async (
  tx: Tx,
  tenant: string,
  ids: readonly string[],
): Promise<Map<string, NamedMerchant>> => {
  const { rows } = await tx.client.query(merchants, [tenant, ids])
  return new Map(rows.map((merchant: NamedMerchant) => [String(merchant.id), merchant]))
}

const merchants = `
  select merchant_id::float8 as id, name, rate_card from merchants
  where tenant_id = $1 and merchant_id = any($2::bigint[])`

export const keptDays = 90

/** Up to 10,000 rows. */
export const deleteOldGaps = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rowCount } = await tx.client.query(
    `delete from rate_gaps where tenant_id = $1 and ctid = any(array(
      select ctid from rate_gaps where tenant_id = $1 and day < current_date - ${keptDays} limit 10000
    ))`,
    [tenant],
  )
  return rowCount ?? 0
}
