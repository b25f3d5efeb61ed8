import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { splitName } from '../access/queries.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type ChangeActor, changeActors } from '../database/tables.ts'
import { editableIn, editables } from '../statuses/statuses.ts'
import { CustomerRequest, maxRequests } from './customer-requests.ts'
import {
  type ByActor,
  type EditRow,
  type EventRow,
  type InstructionRow,
  maxEdits,
  type OrderRow,
  type TrackedOrder,
} from './read-orders.ts'
import { timeAgo } from './time-ago.ts'

const StatusLabel = component('StatusLabel', { key: Type.String(), name: Type.String(), color: Type.String() })
export const ActorName = oneOf(changeActors, { description: 'The party that did it.' })
const nullable = orNull(Type.String())

export const TrackingEvent = component('TrackingEvent', {
  status: StatusLabel,
  date_time: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  date_time_ago: Type.String(),
  user: Type.Object({ first_name: Type.String(), last_name: Type.String() }),
})
export type TrackingEvent = Static<typeof TrackingEvent>

/** An entry in the timeline of an order. Merchants' programs know the fields of tracking alone. */
const OrderEvent = component('OrderTimelineEvent', {
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

const OrderEdited = component('OrderEdited', {
  fields: Type.Array(Type.String(), { description: 'The names of what was changed.' }),
  date_time: TrackingEvent.properties.date_time,
  user: TrackingEvent.properties.user,
  by: ActorName,
})
const OrderInstruction = Type.Unsafe<InstructionRow>(
  component('OrderInstruction', {
    attempt: Type.Integer({ description: 'The failed attempt that it is about, from 1.' }),
    action: Type.String({ examples: ['reschedule'] }),
    date: nullable,
    note: nullable,
    given_as: Type.String({
      description: 'merchant, customer, staff, or company: its default after the deadline.',
      examples: ['customer'],
    }),
    given_by: nullable,
    given_at: Type.String(),
  }),
)
const failureFields = {
  failed_attempts: Type.Integer({ description: 'The number of failed attempts to deliver.' }),
  instructions: Type.Array(OrderInstruction, {
    description: 'The instructions after failed deliveries, newest first.',
  }),
}
/** Only staff see it. */
export const Previous = Type.Unsafe<EditRow['previous']>({
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description: 'The values before it, by field; null for edits of earlier versions.',
})
const describeEdits = <Edit extends TObject>(edit: Edit) =>
  Type.Array(edit, { description: `Changes other than of the status: the newest ${maxEdits}, newest first.` })

export const TrackedOrderView = component('TrackedOrder', {
  ...orderFields,
  timeline: Type.Array(OrderEvent, { description: 'Newest first.' }),
  edits: describeEdits(OrderEdited),
  ...failureFields,
})
const NextStatus = component('NextStatus', { status_key: Type.String(), name: Type.String(), color: Type.String() })

export const StaffOrderView = component('StaffOrder', {
  ...orderFields,
  timeline: Type.Array(component('StaffTrackingEvent', { ...OrderEvent.properties, note: nullable }), {
    description: 'Newest first, with what staff wrote.',
  }),
  edits: describeEdits(
    component('StaffOrderEdited', { ...OrderEdited.properties, reason: nullable, previous: Previous }),
  ),
  ...failureFields,
  moves: Type.Array(NextStatus, {
    description: 'The statuses to which staff may move it now, in the order of the set.',
  }),
  editable: oneOf(editables, {
    description: 'The fields that staff may change now; customer: those that begin with customer_.',
  }),
  requests: Type.Array(CustomerRequest, {
    description: `Requests of the customer (docs/staff/replies.md#requests-for-staff): the newest ${maxRequests}, newest first.`,
  }),
})

/** Names a status; one that is no longer in the set goes by its key. */
export const labelStatus = ({ statuses }: Catalogue, key: string): Static<typeof StatusLabel> => {
  const { name = key, color = 'secondary' } = statuses.get(key) ?? {}
  return { key, name, color }
}

/** Names what an order refers to. */
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

/** The customer goes without a name: the order has it. */
const viewUser = ({ actor, staff_name }: ByActor, { row, catalogue }: TrackedOrder): User => {
  if (actor === 'customer') return { first_name: 'Customer', last_name: '' }
  if (staff_name === null) return { first_name: findMerchantName(row, catalogue), last_name: '' }
  return splitName(staff_name)
}

const stateSince = (catalogue: Catalogue, statusKey: string, since: string, now: Date) => ({
  status: labelStatus(catalogue, statusKey),
  date_time: since,
  date_time_ago: timeAgo(new Date(since), now),
})

const toEvent = (event: EventRow, order: TrackedOrder, now: Date): Static<typeof OrderEvent> => ({
  ...stateSince(order.catalogue, event.status_key, event.happened_at, now),
  user: viewUser(event, order),
  by: findActor(event),
  reason_code: event.reason_code,
})

const viewFailures = ({ failed_attempts, instructions }: TrackedOrder['row']) => ({
  failed_attempts,
  instructions: [...instructions],
})

export const toTimeline = (order: TrackedOrder, now: Date): TrackingEvent[] =>
  order.row.timeline.map(event => {
    const { by: _, reason_code, ...shown } = toEvent(event, order, now)
    return shown
  })

/** The timeline for anyone: the company stands for its staff, and the merchant for its people. */
export const toPublicTimeline = (order: TrackedOrder, now: Date): TrackingEvent[] =>
  order.row.timeline.map(event => {
    const { by, reason_code, ...shown } = toEvent(event, order, now)
    if (by === 'customer') return shown
    const name = by === 'staff' ? order.catalogue.company : findMerchantName(order.row, order.catalogue)
    return { ...shown, user: { first_name: name, last_name: '' } }
  })

const toEdit = (edit: EditRow, order: TrackedOrder): Static<typeof OrderEdited> => ({
  fields: edit.fields,
  date_time: edit.edited_at,
  user: viewUser(edit, order),
  by: findActor(edit),
})

export const OrderStatus = component('OrderStatus', {
  waybill_number: Type.String(),
  order_no: nullable,
  status: StatusLabel,
  date_time: TrackingEvent.properties.date_time,
  date_time_ago: Type.String(),
})

/** The status of an order, and since when. */
export const statusView = ({ row, catalogue }: TrackedOrder, now: Date): Static<typeof OrderStatus> => ({
  waybill_number: row.waybill_number,
  order_no: row.order_no,
  ...stateSince(catalogue, row.status_key, row.timeline[0]?.happened_at ?? row.created_at, now),
})

/** An order for its merchant. */
export const merchantView = (order: TrackedOrder, now: Date): Static<typeof TrackedOrderView> => ({
  ...toOrder(order.row, order.catalogue),
  timeline: order.row.timeline.map(event => toEvent(event, order, now)),
  edits: order.row.edits.map(edit => toEdit(edit, order)),
  ...viewFailures(order.row),
})

/** An order for staff: with notes, moves and requests. */
export const staffView = (
  order: TrackedOrder,
  requests: CustomerRequest[],
  now: Date,
): Static<typeof StaffOrderView> => {
  const { row, catalogue } = order
  const moves = catalogue.statuses.get(row.status_key)?.moves ?? []
  return {
    ...toOrder(row, catalogue),
    timeline: row.timeline.map(event => ({ ...toEvent(event, order, now), note: event.note })),
    edits: row.edits.map(edit => ({ ...toEdit(edit, order), reason: edit.reason, previous: edit.previous })),
    ...viewFailures(row),
    moves: moves.map(move => {
      const { key: status_key, ...label } = labelStatus(catalogue, move)
      return { status_key, ...label }
    }),
    editable: editableIn(row.status_key),
    requests,
  }
}
