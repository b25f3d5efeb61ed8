import { type Static, type TObject, Type } from '@sinclair/typebox'
import { changeActors } from '../database/tables.ts'
import { editableIn, editables, type Statuses } from '../statuses/statuses.ts'
import { CustomerRequest, maxRequests } from './customer-requests.ts'
import { actorIn, type EditRow, type EventRow, maxEdits, type OrderRow, type TrackedOrder } from './find-order.ts'
import { timeAgo } from './time-ago.ts'

const StatusLabel = Type.Object(
  { key: Type.String(), name: Type.String(), color: Type.String() },
  { title: 'StatusLabel' },
)
export const ActorName = Type.Union(
  changeActors.map(actor => Type.Literal(actor)),
  { description: 'Who did it.' },
)
const nullable = Type.Union([Type.String(), Type.Null()])

export const TrackingEvent = Type.Object(
  {
    status: StatusLabel,
    date_time: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
    date_time_ago: Type.String(),
    user: Type.Object({ first_name: Type.String(), last_name: Type.String() }),
  },
  { title: 'TrackingEvent' },
)
export type TrackingEvent = Static<typeof TrackingEvent>

export const exampleEvent: TrackingEvent = {
  status: { key: 'key_2', name: 'CONFIRMED', color: 'primary' },
  date_time: '2026-02-19T19:06:23.000000Z',
  date_time_ago: '1 month ago',
  user: { first_name: 'Lanka Shoes', last_name: '' },
}

/** In the timeline of an order. Merchants' programs know the fields of tracking alone. */
const OrderEvent = Type.Object({ ...TrackingEvent.properties, by: ActorName }, { title: 'OrderTimelineEvent' })
export const exampleOrderEvent: Static<typeof OrderEvent> = { ...exampleEvent, by: 'merchant' }

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
  customer_phone: Type.String({ description: 'As the merchant wrote it.' }),
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

const OrderEdited = Type.Object(
  {
    fields: Type.Array(Type.String(), { description: 'The names of what was changed.' }),
    date_time: TrackingEvent.properties.date_time,
    user: TrackingEvent.properties.user,
    by: ActorName,
  },
  { title: 'OrderEdited' },
)
/** For staff alone. */
export const Previous = Type.Unsafe<EditRow['previous']>({
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description: 'The values before it, by field; null for edits of earlier versions.',
})
const editsOf = <Edit extends TObject>(edit: Edit) =>
  Type.Array(edit, { description: `Changes other than of the status: the newest ${maxEdits}, newest first.` })

export const TrackedOrderView = Type.Object(
  {
    ...orderFields,
    timeline: Type.Array(OrderEvent, { description: 'Newest first.' }),
    edits: editsOf(OrderEdited),
  },
  { title: 'TrackedOrder' },
)
const NextStatus = Type.Object(
  { status_key: Type.String(), name: Type.String(), color: Type.String() },
  { title: 'NextStatus' },
)
export const exampleMove: Static<typeof NextStatus> = {
  status_key: 'key_9',
  name: 'RECEIVED TO ORIGIN WAREHOUSE',
  color: 'primary',
}

export const StaffOrderView = Type.Object(
  {
    ...orderFields,
    timeline: Type.Array(Type.Object({ ...OrderEvent.properties, note: nullable }, { title: 'StaffTrackingEvent' }), {
      description: 'Newest first, with what staff wrote.',
    }),
    edits: editsOf(
      Type.Object({ ...OrderEdited.properties, reason: nullable, previous: Previous }, { title: 'StaffOrderEdited' }),
    ),
    moves: Type.Array(NextStatus, { description: 'Where staff may move it now, in the order of the set.' }),
    editable: Type.Union(
      editables.map(each => Type.Literal(each)),
      { description: 'The fields that staff may change now; customer: those that begin with customer_.' },
    ),
    requests: Type.Array(CustomerRequest, {
      description: `What the customer asked for (docs/staff/replies.md#requests-for-staff): the newest ${maxRequests}, newest first.`,
    }),
  },
  { title: 'StaffOrder' },
)

export const exampleOrder: OrderRow = {
  waybill_number: 'DM00000001',
  order_no: 'LS-1001',
  merchant: { id: 1, name: 'Lanka Shoes' },
  merchant_business_id: 7290,
  merchant_business_name: 'Lanka Shoes Online',
  origin_city_id: 1500,
  origin_city_name: 'Kotte',
  origin_state_name: 'Colombo',
  destination_city_id: 2100,
  destination_city_name: 'Galle',
  destination_state_name: 'Galle',
  customer_name: 'Nimali Perera',
  customer_address: '12 Temple Road, Galle',
  customer_phone: '0770000101',
  customer_secondary_phone: null,
  customer_email: null,
  cod: 4500,
  weight: 1.2,
  description: 'One pair of shoes',
  remark: null,
  delivery_charge: 540,
  currency: 'LKR',
  status: exampleEvent.status,
  created_at: exampleEvent.date_time,
}

export const exampleEdit: Static<typeof OrderEdited> = {
  fields: ['customer_phone'],
  date_time: '2026-02-19T20:15:00.000000Z',
  user: exampleEvent.user,
  by: 'merchant',
}

interface User {
  first_name: string
  last_name: string
}

/** Who moved or changed the order, apart from staff: the customer's name is in the order. */
export const partyOf = (entry: EventRow | EditRow, merchantName: string): User => ({
  first_name: entry.actor === 'customer' ? 'Customer' : merchantName,
  last_name: '',
})

/** The member of staff who moved or changed the order, the merchant or the customer. */
const userOf = (entry: EventRow | EditRow, merchantName: string): User => {
  const { staff_name } = entry
  if (staff_name === null) return partyOf(entry, merchantName)
  const [first_name = '', ...others] = staff_name.trim().split(/\s+/)
  return { first_name, last_name: others.join(' ') }
}

export const toEvent = ({ status, happened_at }: EventRow, user: User, now: Date): TrackingEvent => ({
  status,
  date_time: happened_at,
  date_time_ago: timeAgo(new Date(happened_at), now),
  user,
})

export const timelineOf = ({ order, timeline }: TrackedOrder, now: Date): TrackingEvent[] =>
  timeline.map(event => toEvent(event, userOf(event, order.merchant.name), now))

const orderTimelineOf = (tracked: TrackedOrder, now: Date): Static<typeof OrderEvent>[] =>
  timelineOf(tracked, now).map((event, index) => ({ ...event, by: actorIn(tracked.timeline[index] as EventRow) }))

const toEdit = (edit: EditRow, merchantName: string): Static<typeof OrderEdited> => ({
  fields: edit.fields,
  date_time: edit.edited_at,
  user: userOf(edit, merchantName),
  by: actorIn(edit),
})

export const OrderStatus = Type.Object(
  {
    waybill_number: Type.String(),
    order_no: nullable,
    status: StatusLabel,
    date_time: TrackingEvent.properties.date_time,
    date_time_ago: Type.String(),
  },
  { title: 'OrderStatus' },
)

/** The status of an order, and since when. */
export const statusView = ({ order, timeline }: TrackedOrder, now: Date): Static<typeof OrderStatus> => {
  const since = timeline[0]?.happened_at ?? order.created_at
  const { waybill_number, order_no, status } = order
  return { waybill_number, order_no, status, date_time: since, date_time_ago: timeAgo(new Date(since), now) }
}

/** An order for its merchant. */
export const merchantView = (tracked: TrackedOrder, now: Date): Static<typeof TrackedOrderView> => ({
  ...tracked.order,
  timeline: orderTimelineOf(tracked, now),
  edits: tracked.edits.map(edit => toEdit(edit, tracked.order.merchant.name)),
})

const staffMovesOf = (from: string, statuses: Statuses): Static<typeof NextStatus>[] =>
  (statuses.get(from)?.moves ?? []).map(key => {
    const { name = key, color = 'secondary' } = statuses.get(key) ?? {}
    return { status_key: key, name, color }
  })

/** An order for staff: with notes, moves and requests. */
export const staffView = (
  tracked: TrackedOrder,
  requests: CustomerRequest[],
  statuses: Statuses,
  now: Date,
): Static<typeof StaffOrderView> => ({
  ...tracked.order,
  timeline: orderTimelineOf(tracked, now).map((event, index) => ({
    ...event,
    note: tracked.timeline[index]?.note ?? null,
  })),
  edits: tracked.edits.map(edit => ({
    ...toEdit(edit, tracked.order.merchant.name),
    reason: edit.reason,
    previous: edit.previous,
  })),
  moves: staffMovesOf(tracked.order.status.key, statuses),
  editable: editableIn(tracked.order.status.key),
  requests,
})
