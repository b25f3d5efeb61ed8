import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { changeActors } from '../database/tables.ts'
import { bookings } from '../statuses/statuses.ts'

export const StatusLabel = component('StatusLabel', { key: Type.String(), name: Type.String(), color: Type.String() })
export const ActorName = oneOf(changeActors, { description: 'The party that acted.' })
const nullable = orNull(Type.String())

export const TrackingEvent = component('TrackingEvent', {
  status: StatusLabel,
  date_time: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  date_time_ago: Type.String(),
  user: Type.Object({ first_name: Type.String(), last_name: Type.String() }),
})
export type TrackingEvent = Static<typeof TrackingEvent>

/** Describes an entry that anyone may see; a capability adds the pictures for whoever has the tracking_code. */
export const PublicTrackingEvent = component('PublicTrackingEvent', {
  ...TrackingEvent.properties,
  proofs: Type.Array(
    Type.Object({
      kind: Type.String({ examples: ['photo'] }),
      at: Type.String(),
      url: Type.String({ description: 'Shows the picture, for about an hour.' }),
    }),
    { description: 'Pictures of the door; empty without the tracking_code.' },
  ),
})
export type PublicTrackingEvent = Static<typeof PublicTrackingEvent>

/** Describes an entry in the timeline of an order. Merchants' programs rely on TrackingEvent, which stays as it is. */
export const OrderEvent = component('OrderTimelineEvent', {
  ...TrackingEvent.properties,
  by: ActorName,
  reason_code: nullable,
})

const orderFields = {
  waybill_number: Type.String(),
  order_no: nullable,
  merchant: Type.Object({ id: Type.Integer(), name: Type.String() }),
  merchant_business_id: Type.Integer(),
  merchant_business_name: Type.String(),
  origin_city_id: Type.Integer(),
  origin_city_name: Type.String(),
  origin_state_name: Type.String(),
  destination_city_id: Type.Integer(),
  destination_city_name: Type.String(),
  destination_state_name: Type.String(),
  customer_name: Type.String(),
  customer_address: Type.String(),
  customer_phone: Type.String({ description: 'The number as the merchant wrote it.' }),
  customer_secondary_phone: nullable,
  customer_email: nullable,
  cod: Type.Integer({ description: 'Whole units of the currency.' }),
  weight: Type.Number({ description: 'Kilograms.' }),
  description: nullable,
  remark: nullable,
  delivery_charge: Type.Number(),
  currency: Type.String(),
  status: StatusLabel,
  created_at: Type.String({ description: 'ISO 8601, UTC.' }),
}

export const OrderView = Type.Object(orderFields, { title: 'Order' })
export type OrderView = Static<typeof OrderView>

export const TrackedOrderView = component('TrackedOrder', {
  ...orderFields,
  timeline: Type.Array(OrderEvent, { description: 'Newest first.' }),
})
const NextStatus = component('NextStatus', {
  status_key: Type.String(),
  name: Type.String(),
  color: Type.String(),
  books: oneOf(bookings, { description: 'What the move books (docs/money.md#what-a-move-books).' }),
})

export type StaffOrderView = Static<typeof StaffOrderView>
export const StaffOrderView = component('StaffOrder', {
  ...orderFields,
  timeline: Type.Array(component('StaffTrackingEvent', { ...OrderEvent.properties, note: nullable }), {
    description: 'Newest first, with the notes of staff.',
  }),
  moves: Type.Array(NextStatus, {
    description: 'The statuses to which staff may move the order now, in the sequence of the set.',
  }),
})

export const OrderStatus = component('OrderStatus', {
  waybill_number: Type.String(),
  order_no: nullable,
  status: StatusLabel,
  date_time: TrackingEvent.properties.date_time,
  date_time_ago: Type.String(),
})
