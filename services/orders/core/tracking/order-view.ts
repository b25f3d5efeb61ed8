import { hash } from 'node:crypto'
import type { Static } from '@sinclair/typebox'
import { splitName } from '../access/queries.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ChangeActor } from '../database/tables.ts'
import { findBooking } from '../statuses/statuses.ts'
import type { ByActor, EventRow, OrderRow, TrackedOrder } from './order-rows.ts'
import type {
  OrderEvent,
  OrderStatus,
  OrderView,
  StaffOrderView,
  StatusLabel,
  TrackedOrderView,
  TrackingEvent,
} from './order-schema.ts'

/** Labels a status; a status that is no longer in the set has its key as its name. */
export const labelStatus = ({ statuses }: Catalogue, key: string): Static<typeof StatusLabel> => {
  const { name = key, color = 'secondary' } = statuses.get(key) ?? {}
  return { key, name, color }
}

/** Adds the names of everything that an order refers to. */
export const toOrder = (row: OrderRow, catalogue: Catalogue): OrderView => {
  const { names } = catalogue
  const origin = names.cities.get(row.origin_city_id)
  const destination = names.cities.get(row.destination_city_id)
  return {
    waybill_number: row.waybill_number,
    order_no: row.order_no,
    merchant: { id: Number(row.merchant_id), name: findMerchantName(row, catalogue) },
    merchant_business_id: row.business_id,
    merchant_business_name: names.businesses.get(row.business_id) ?? '',
    origin_city_id: row.origin_city_id,
    origin_city_name: origin?.name ?? '',
    origin_state_name: origin?.state.name ?? '',
    destination_city_id: row.destination_city_id,
    destination_city_name: destination?.name ?? '',
    destination_state_name: destination?.state.name ?? '',
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
    currency: catalogue.currency,
    status: labelStatus(catalogue, row.status_key),
    created_at: row.created_at,
  }
}

const findMerchantName = ({ merchant_id }: OrderRow, { names }: Catalogue): string =>
  names.merchants.get(Number(merchant_id)) ?? ''

type User = TrackingEvent['user']

/** Returns the party that moved or changed the order. */
export const findActor = ({ actor, staff_name }: ByActor): ChangeActor =>
  actor ?? (staff_name === null ? 'merchant' : 'staff')

/** Omits the customer's name: the order has it. */
export const viewUser = ({ actor, staff_name }: ByActor, { row, catalogue }: TrackedOrder): User => {
  if (actor === 'customer') return { first_name: 'Customer', last_name: '' }
  if (staff_name === null) return { first_name: findMerchantName(row, catalogue), last_name: '' }
  return splitName(staff_name)
}

const viewStatusSince = (catalogue: Catalogue, statusKey: string, since: string, now: Date) => ({
  status: labelStatus(catalogue, statusKey),
  date_time: since,
  date_time_ago: timeAgo(new Date(since), now),
})

const toEvent = (event: EventRow, order: TrackedOrder, now: Date): Static<typeof OrderEvent> => ({
  ...viewStatusSince(order.catalogue, event.status_key, event.happened_at, now),
  user: viewUser(event, order),
  by: findActor(event),
  reason_code: event.reason_code,
})

export const toTimeline = (order: TrackedOrder, now: Date): TrackingEvent[] =>
  order.row.timeline.map(event => {
    const { by: _, reason_code, ...shown } = toEvent(event, order, now)
    return shown
  })

/** Shows the timeline to anyone: the company stands for its staff, and the merchant for its people. */
export const toPublicTimeline = (order: TrackedOrder, now: Date): TrackingEvent[] =>
  order.row.timeline.map(event => {
    const { by, reason_code, ...shown } = toEvent(event, order, now)
    if (by === 'customer') return shown
    const name = by === 'staff' ? order.catalogue.company : findMerchantName(order.row, order.catalogue)
    return { ...shown, user: { first_name: name, last_name: '' } }
  })

/** Shows the status of an order, and the time when the order reached it. */
export const viewStatus = ({ row, catalogue }: TrackedOrder, now: Date): Static<typeof OrderStatus> => ({
  waybill_number: row.waybill_number,
  order_no: row.order_no,
  ...viewStatusSince(catalogue, row.status_key, row.timeline[0]?.happened_at ?? row.created_at, now),
})

export const viewForMerchant = (order: TrackedOrder, now: Date): Static<typeof TrackedOrderView> => ({
  ...toOrder(order.row, order.catalogue),
  timeline: order.row.timeline.map(event => toEvent(event, order, now)),
})

export const viewForStaff = (order: TrackedOrder, now: Date): StaffOrderView => {
  const { row, catalogue } = order
  const moves = catalogue.statuses.get(row.status_key)?.moves ?? []
  return {
    ...toOrder(row, catalogue),
    timeline: row.timeline.map(event => ({ ...toEvent(event, order, now), note: event.note })),
    moves: moves.map(move => {
      const { key: status_key, ...label } = labelStatus(catalogue, move)
      return { status_key, ...label, books: findBooking(catalogue.statuses.get(move)) }
    }),
  }
}

/**
 * Signs the link to a parcel's page with 66 bits: waybill numbers can be guessed, so only the link that recipients get
 * shows the amount and the city.
 */
export const signWaybill = ({ linkKeys: [key = ''] }: Pick<Catalogue, 'linkKeys'>, waybill: string): string =>
  sign(key, waybill)

const sign = (key: string, waybill: string): string => hash('sha256', key + waybill, 'base64url').slice(0, 11)

/** Returns true for the code of a link that any valid key of the tenant signed. */
export const isSigned = ({ linkKeys }: Pick<Catalogue, 'linkKeys'>, waybill: string, code: unknown): boolean =>
  linkKeys.some(key => code === sign(key, waybill))

export const writeTrackingUrl = (publicUrl: string, catalogue: Catalogue, waybill: string): string =>
  `${publicUrl.replace(/\/$/, '')}/t/${catalogue.tenant}/${encodeURIComponent(waybill)}/${signWaybill(catalogue, waybill)}`

const unitSeconds = { week: 604_800, day: 86_400, hour: 3_600, minute: 60, second: 1 }

/** Says how long ago `then` was, in the largest whole unit: "1 month ago". Months and years are the calendar's, UTC. */
export const timeAgo = (then: Date, now: Date): string => {
  const months = countMonths(then, now)
  if (months >= 12) return wordAge(Math.floor(months / 12), 'year')
  if (months >= 1) return wordAge(months, 'month')
  const seconds = Math.max(0, Math.floor((now.getTime() - then.getTime()) / 1000))
  for (const [unit, length] of Object.entries(unitSeconds))
    if (seconds >= length) return wordAge(Math.floor(seconds / length), unit)
  return wordAge(0, 'second')
}

const wordAge = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'} ago`

const countMonths = (then: Date, now: Date): number => {
  const months = (now.getUTCFullYear() - then.getUTCFullYear()) * 12 + now.getUTCMonth() - then.getUTCMonth()
  return measureMonth(now) < measureMonth(then) ? months - 1 : months
}

/** Returns the milliseconds since the month began. */
const measureMonth = (time: Date): number => time.getTime() - Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
