import { type Static, Type } from '@sinclair/typebox'

const nullable = Type.Union([Type.String(), Type.Null()])

/** What orders tells the notifier of an order: the fields that a template may name, as `{{customer_name}}`. */
export const OrderFacts = Type.Object(
  {
    waybill_number: Type.String(),
    order_no: nullable,
    customer_name: Type.String(),
    /** As the merchant wrote it. */
    customer_phone: Type.String(),
    business_name: Type.String(),
    merchant_name: Type.String(),
    origin_city: Type.String(),
    destination_city: Type.String(),
    destination_state: Type.String(),
    /** Whole units of `currency`. */
    cod: Type.Integer(),
    delivery_charge: Type.Number(),
    currency: Type.String(),
    /** Kilograms. */
    weight: Type.Number(),
    description: nullable,
    status_key: Type.String(),
    status_name: Type.String(),
    /** What staff wrote about the last move. */
    note: nullable,
  },
  { title: 'OrderFacts' },
)
export type OrderFacts = Static<typeof OrderFacts>

/** The names of the fields, in the order of the schema. */
export const orderFields = Object.keys(OrderFacts.properties) as (keyof OrderFacts)[]

export const orderEventTypes = ['order.created', 'order.status_changed'] as const
export type OrderEventType = (typeof orderEventTypes)[number]

const utcTime = '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$'

/** Told at least once; `id` is the same every time. The order's status and note are those that the event brought. */
export const OrderEvent = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 200 }),
    type: Type.Union(orderEventTypes.map(type => Type.Literal(type))),
    // Not `format`: the check knows no formats and would refuse every text.
    happened_at: Type.String({ pattern: utcTime, must: 'be a time such as 2027-01-31T09:00:00.000Z' }),
    order: OrderFacts,
  },
  { title: 'OrderEvent' },
)
export type OrderEvent = Static<typeof OrderEvent>

export const maxEventsPerCall = 500
/** A call's events are at most so many bytes of JSON, unless it has one event alone. */
export const maxEventsBytesPerCall = 1_048_576

/** The body of `POST /internal/events`: events of one tenant, those of one waybill oldest first. */
export const OrderEvents = Type.Object({
  tenant: Type.String({ minLength: 1, maxLength: 63 }),
  events: Type.Array(OrderEvent, { minItems: 1, maxItems: maxEventsPerCall }),
})
export type OrderEvents = Static<typeof OrderEvents>
