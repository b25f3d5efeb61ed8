import { spellWaybill } from '@courier/shared/contract/waybills.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { batchReads } from '@courier/shared/postgres/request-batcher.ts'
import type pg from 'pg'
import type { Names, NamesOf, StatusLabel } from '../catalogue/names.ts'
import { isoTime } from '../database/iso-time.ts'
import type { ChangeActor } from '../database/tables.ts'

/** An order as the merchant wrote it, with the names of what it refers to. Times are ISO 8601, UTC, in microseconds. */
export interface OrderRow {
  waybill_number: string
  order_no: string | null
  merchant: { id: number; name: string }
  merchant_business_id: number
  merchant_business_name: string
  origin_city_id: number
  origin_city_name: string
  origin_state_name: string
  destination_city_id: number
  destination_city_name: string
  destination_state_name: string
  customer_name: string
  customer_address: string
  customer_phone: string
  customer_secondary_phone: string | null
  customer_email: string | null
  cod: number
  weight: number
  description: string | null
  remark: string | null
  delivery_charge: number
  currency: string
  status: StatusLabel
  created_at: string
}

export interface EventRow {
  status: StatusLabel
  happened_at: string
  staff_name: string | null
  note: string | null
  /** null: staff or, without a name, the merchant. */
  actor: 'customer' | null
}

export interface EditRow {
  fields: string[]
  edited_at: string
  staff_name: string | null
  reason: string | null
  /** null: staff or, without a name, the merchant. */
  actor: 'customer' | null
  /** Values before the edit, by field. null: an earlier version made it. */
  previous: Record<string, string | number | null> | null
}

export interface TrackedOrder {
  order: OrderRow
  /** The tenant's name. */
  company: string
  /** Where recipients reach it. */
  contact: string | null
  /** Newest first; empty once it is archived. */
  timeline: EventRow[]
  /** The newest, newest first. */
  edits: EditRow[]
}

/** The name of a status that is no longer in the tenant's set is its key. */
export const label = (key: string, status: string): string =>
  `json_build_object('key', ${key}, 'name', coalesce(${status}.name, ${key}),
    'color', coalesce(${status}.color, 'secondary'))`

/** The columns of OrderRow, of orders as `o`. */
export const orderColumns = `
  o.waybill_number, o.order_no, json_build_object('id', o.merchant_id, 'name', merchant.name) as merchant,
  o.business_id as merchant_business_id, business.name as merchant_business_name,
  o.origin_city_id, origin.name as origin_city_name, origin_state.name as origin_state_name,
  o.destination_city_id, destination.name as destination_city_name, destination_state.name as destination_state_name,
  o.customer_name, o.customer_address, o.customer_phone, o.customer_secondary_phone, o.customer_email,
  o.cod, o.weight, o.description, o.remark, o.delivery_charge::float8 as delivery_charge, tenant.currency,
  ${label('o.status_key', 'status')} as status, ${isoTime('o.created_at')} as created_at`

export const named = (table: string, alias: string, column: string, key: string): string =>
  `left join ${table} ${alias} on ${alias}.tenant_id = $1 and ${alias}.${column} = ${key}`

/** The joins that `orderColumns` needs; $1 is the tenant. */
export const orderJoins = [
  named('tenants', 'tenant', 'tenant_id', '$1'),
  named('merchants', 'merchant', 'merchant_id', 'o.merchant_id'),
  named('businesses', 'business', 'business_id', 'o.business_id'),
  named('cities', 'origin', 'city_id', 'o.origin_city_id'),
  named('states', 'origin_state', 'state_id', 'origin.state_id'),
  named('cities', 'destination', 'city_id', 'o.destination_city_id'),
  named('states', 'destination_state', 'state_id', 'destination.state_id'),
  named('statuses', 'status', 'status_key', 'o.status_key'),
].join('\n  ')

/** The newest edits of an order that are shown. */
export const maxEdits = 50

/** An order without names, `status` being a key. Times are without the zeros at their end. */
interface FoundOrder extends pg.QueryResultRow {
  /** Of the catalogue, in the same snapshot. */
  version: string
  merchant_id: string
  created_at: string
  timeline: (Omit<EventRow, 'status'> & { status: string })[]
  edits: EditRow[]
}

const utc = (column: string): string => `${column} at time zone 'UTC'`

const statement = `
  select (select version from tenants where tenant_id = $1) as version,
    waybill_number, order_no, merchant_id, business_id as merchant_business_id, origin_city_id, destination_city_id,
    customer_name, customer_address, customer_phone, customer_secondary_phone, customer_email,
    cod, weight, description, remark, delivery_charge::float8 as delivery_charge, status_key as status,
    to_json(${utc('created_at')}) as created_at, (
      select coalesce(json_agg(json_build_object('status', event.status_key, 'happened_at', ${utc('event.happened_at')},
        'staff_name', event.staff_name, 'note', event.note, 'actor', event.actor) order by event.event_id desc), '[]')
      from order_events event where event.tenant_id = $1 and event.waybill_number = orders.waybill_number
    ) as timeline, (
      select coalesce(json_agg(json_build_object('fields', edit.fields, 'edited_at', ${utc('edit.edited_at')},
        'staff_name', edit.staff_name, 'reason', edit.reason, 'actor', edit.actor, 'previous', edit.previous) order by edit.edit_id desc), '[]')
      from (
        select * from order_edits where tenant_id = $1 and waybill_number = orders.waybill_number
        order by edit_id desc limit ${maxEdits}
      ) edit
    ) as edits
  from orders where tenant_id = $1 and waybill_number = any($2::text[])`

const isoOf = (time: string): string => `${time.padEnd(20, '.').padEnd(26, '0')}Z`

/** The name of a status that is no longer in the set is its key. */
const statusOf = ({ statuses }: Names, key: string): StatusLabel =>
  statuses.get(key) ?? { key, name: key, color: 'secondary' }

const toOrder = (row: FoundOrder, names: Names) => {
  const { merchant_id, merchant_business_id, origin_city_id, destination_city_id } = row
  const origin = names.cities.get(origin_city_id)
  const destination = names.cities.get(destination_city_id)
  return {
    waybill_number: row.waybill_number,
    order_no: row.order_no,
    merchant: { id: Number(merchant_id), name: names.merchants.get(Number(merchant_id)) ?? null },
    merchant_business_id,
    merchant_business_name: names.businesses.get(merchant_business_id) ?? null,
    origin_city_id,
    origin_city_name: origin?.name ?? null,
    origin_state_name: origin?.state ?? null,
    destination_city_id,
    destination_city_name: destination?.name ?? null,
    destination_state_name: destination?.state ?? null,
    customer_name: row.customer_name,
    customer_address: row.customer_address,
    customer_phone: row.customer_phone,
    customer_secondary_phone: row.customer_secondary_phone,
    customer_email: row.customer_email,
    cod: row.cod,
    weight: row.weight,
    description: row.description,
    remark: row.remark,
    delivery_charge: row.delivery_charge,
    currency: names.currency,
    status: statusOf(names, row.status),
    created_at: isoOf(row.created_at),
  }
}

const toTracked = (row: FoundOrder, names: Names): TrackedOrder => ({
  order: toOrder(row, names) as OrderRow,
  company: names.company,
  contact: names.contact,
  timeline: row.timeline.map(event => ({
    ...event,
    status: statusOf(names, event.status),
    happened_at: isoOf(event.happened_at),
  })),
  edits: row.edits.map(edit => ({ ...edit, edited_at: isoOf(edit.edited_at) })),
})

/** Waybill numbers are printable ASCII. Postgres refuses some other text. */
export const isWaybill = /^[\x21-\x7e]{1,50}$/

/** What `find` finds by the spellings of a waybill number that may be typed by hand, until the first. */
export const findAsTyped = async <Found>(typed: string, find: (waybill: string) => Promise<Found | undefined>) => {
  for (const waybill of spellWaybill(typed)) {
    const found = isWaybill.test(waybill) ? await find(waybill) : undefined
    if (found) return found
  }
  return undefined
}

/** Who made it happen. */
export const actorIn = ({ actor, staff_name }: Pick<EventRow, 'actor' | 'staff_name'>): ChangeActor =>
  actor ?? (staff_name === null ? 'merchant' : 'staff')

/** One order with its timeline, of `merchantId` if given; undefined when there is none. */
export type FindOrder = (
  tenant: string,
  waybill: string,
  merchantId?: string | null,
) => Promise<TrackedOrder | undefined>

/** A read is one round trip and one prepared statement, which concurrent reads share. */
export const createOrderFinder = (pool: pg.Pool, namesOf: NamesOf): FindOrder => {
  const find = batchReads(async (tenant, waybills) => {
    const query = { name: 'find_tracked_orders', text: statement, values: [tenant, waybills] }
    const rows = await readInTenant<FoundOrder>(pool, tenant, query)
    const names = rows[0] && (await namesOf(tenant, rows[0].version))
    return new Map(names ? rows.map(row => [row.waybill_number, toTracked(row, names)]) : [])
  })
  return async (tenant, waybill, merchantId = null) => {
    const found = await findAsTyped(waybill, spelling => find(tenant, spelling))
    return merchantId === null || String(found?.order.merchant.id) === merchantId ? found : undefined
  }
}
