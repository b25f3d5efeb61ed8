import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { changeActors } from '../database/tables.ts'
import { bookings, editables } from '../statuses/statuses.ts'
import { CustomerRequest, maxRequests } from './customer-requests.ts'

/** Limits the edits of an order that are shown, newest first. */
export const maxEdits = 50

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

export const OrderEdited = component('OrderEdited', {
  fields: Type.Array(Type.String(), { description: 'The names of the changed fields.' }),
  date_time: TrackingEvent.properties.date_time,
  user: TrackingEvent.properties.user,
  by: ActorName,
})
const OrderInstruction = component('OrderInstruction', {
  attempt: Type.Integer({ description: 'The number of the failed attempt, from 1.' }),
  action: Type.String({ examples: ['reschedule'] }),
  date: nullable,
  note: nullable,
  given_as: Type.String({
    description: 'merchant, customer, staff, or company, whose default applies after the deadline.',
    examples: ['customer'],
  }),
  given_by: nullable,
  given_at: Type.String(),
})
export type InstructionRow = Static<typeof OrderInstruction>
const failureFields = {
  failed_attempts: Type.Integer({ description: 'The number of failed attempts to deliver.' }),
  instructions: Type.Array(OrderInstruction, {
    description: 'The instructions after failed deliveries, newest first.',
  }),
}
/** Only staff see the values before an edit. */
export const Previous = Type.Unsafe<Record<string, string | number | null> | null>({
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description: 'The values before the edit, by field; null for an edit by an earlier version of the service.',
})
const describeEdits = <Edit extends TObject>(edit: Edit) =>
  Type.Array(edit, {
    description: `The newest ${maxEdits} edits, newest first; the timeline has the changes of the status.`,
  })

export const TrackedOrderView = component('TrackedOrder', {
  ...orderFields,
  timeline: Type.Array(OrderEvent, { description: 'Newest first.' }),
  edits: describeEdits(OrderEdited),
  ...failureFields,
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
  edits: describeEdits(
    component('StaffOrderEdited', { ...OrderEdited.properties, reason: nullable, previous: Previous }),
  ),
  ...failureFields,
  moves: Type.Array(NextStatus, {
    description: 'The statuses to which staff may move the order now, in the sequence of the set.',
  }),
  editable: oneOf(editables, {
    description: 'The fields that staff may change now; customer: the fields that begin with customer_.',
  }),
  requests: Type.Array(CustomerRequest, {
    description: `Requests of the customer (docs/staff/replies.md#requests-for-staff): the newest ${maxRequests}, newest first.`,
  }),
})

export const OrderStatus = component('OrderStatus', {
  waybill_number: Type.String(),
  order_no: nullable,
  status: StatusLabel,
  date_time: TrackingEvent.properties.date_time,
  date_time_ago: Type.String(),
})
