import { type Static, Type } from '@sinclair/typebox'
import { component, oneOf, orNull } from '../schemas.ts'
import { traceparentLength, traceparentPattern } from '../traces.ts'

const nullable = orNull(Type.String())

/**
 * Describes an order as orders sends it to the notifier. A template may name the `orderFields`, as `{{customer_name}}`.
 */
export const OrderSnapshot = component('OrderSnapshot', {
  waybill_number: Type.String({ maxLength: 50 }),
  order_no: nullable,
  customer_name: Type.String(),
  /** Is the phone number as the merchant wrote it. */
  customer_phone: Type.String(),
  business_name: Type.String(),
  merchant_name: Type.String(),
  origin_city: Type.String(),
  destination_city: Type.String(),
  destination_state: Type.String(),
  /** Is the amount in whole units of `currency`. */
  cod: Type.Integer(),
  delivery_charge: Type.Number(),
  currency: Type.String(),
  /** Is the weight in kilograms. */
  weight: Type.Number(),
  description: nullable,
  /** Is what the recipient says at the door, six digits. Is absent where orders makes no codes. */
  delivery_code: Type.Optional(Type.String({ maxLength: 20 })),
  status_key: Type.String(),
  status_name: Type.String(),
  /** Holds the note of staff on the last status change. */
  note: nullable,
  /** Is true if no move leads from the status. */
  is_final: Type.Boolean(),
  /** Signs the address of the tracking page; a button's address ends in `{{waybill_number}}/{{tracking_code}}`. */
  tracking_code: Type.Optional(Type.String()),
  /** Leads to the page of the parcel. Is absent where orders has no PUBLIC_URL. */
  tracking_url: Type.Optional(Type.String()),
  /** Names the time zone of the company; without it the notifier keeps the time zone that it knows. */
  time_zone: Type.Optional(Type.String({ maxLength: 64 })),
})
export type OrderSnapshot = Static<typeof OrderSnapshot>

export const exampleSnapshot: OrderSnapshot = {
  waybill_number: 'DM00000001',
  order_no: 'LS-1001',
  customer_name: 'Nimali Perera',
  customer_phone: '0770000101',
  business_name: 'Lanka Shoes Online',
  merchant_name: 'Lanka Shoes',
  origin_city: 'Kotte',
  destination_city: 'Galle',
  destination_state: 'Galle',
  cod: 4500,
  delivery_charge: 540,
  currency: 'LKR',
  weight: 1.2,
  description: 'One pair of shoes',
  status_key: 'key_2',
  status_name: 'CONFIRMED',
  note: null,
  is_final: false,
  tracking_code: 'q3x0cJ2mYb8',
  tracking_url: 'https://courier.example/t/demo/DM00000001/q3x0cJ2mYb8',
  delivery_code: '402917',
  time_zone: 'Asia/Colombo',
}

export const isUnderWay = ({ is_final }: OrderSnapshot): boolean => !is_final

const notInTemplates = ['is_final', 'time_zone'] as const
type OrderField = Exclude<keyof OrderSnapshot, (typeof notInTemplates)[number]>

/** Lists the names of the fields that a template may name, in the order of the schema. */
export const orderFields = Object.keys(OrderSnapshot.properties).filter(
  name => !notInTemplates.some(other => other === name),
) as OrderField[]

export const orderEventTypes = ['order.created', 'order.status_changed'] as const
export type OrderEventType = (typeof orderEventTypes)[number]
/** Gives an order other values, which its waiting messages get. */
export const editedEvent = 'order.edited'
/**
 * Says that staff took a move back: the order has its earlier status again. Version 0.2.0 mistakes the event
 * for a decision.
 */
export const takenBackEvent = 'take_back.accepted'
/**
 * Matches the types of order events. Besides changes of orders, these are decisions of staff on a customer's request,
 * such as `call_me.accepted`.
 */
const eventTypePattern = '^(order\\.(created|status_changed|edited)|[a-z][a-z0-9_]{0,62}\\.(accepted|declined))$'

/** Returns true if an order was created or came to a status; other events leave its status unchanged. */
export const isStatusEvent = (type: string): boolean => orderEventTypes.some(known => known === type)

const utcTime = '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$'

// Uses a pattern instead of `format`: the validator knows no formats and would refuse every text.
export const UtcTime = Type.String({
  maxLength: 30,
  pattern: utcTime,
  must: 'be a time such as 2027-01-31T09:00:00.000Z',
  documented: { type: 'string', format: 'date-time' },
})

/** Is delivered at least once, each time with the same `id`. The order has the status and the note of the event. */
export const OrderEvent = component('OrderEvent', {
  id: Type.String({ minLength: 1, maxLength: 200 }),
  type: Type.String({
    maxLength: 72,
    pattern: eventTypePattern,
    must: `be ${orderEventTypes.join(', ')}, ${editedEvent}, or the name of a request and .accepted or .declined`,
    description: `${orderEventTypes.join(', ')}, ${editedEvent}, or the decision on a customer's request, such as call_me.accepted or call_me.declined.`,
  }),
  happened_at: UtcTime,
  order: OrderSnapshot,
  traceparent: Type.Optional(
    Type.String({
      maxLength: traceparentLength,
      pattern: traceparentPattern,
      description: 'The trace that the event belongs to, in the format of the W3C header of that name.',
    }),
  ),
})
export type OrderEvent = Static<typeof OrderEvent>

const exampleEvent: OrderEvent = {
  id: 'DM00000001 1',
  type: 'order.created',
  happened_at: '2026-02-19T19:06:23.000Z',
  order: exampleSnapshot,
}

const pickupEvents = ['pickup.requested', 'pickup.assigned', 'pickup.done', 'pickup.missed'] as const

/**
 * Lists the events about a merchant and no parcel: it got an invoice, it was paid, its bank account changed, and the
 * steps of a pickup. They are sent only for a merchant with a phone number: version 0.2.0 does not know them.
 */
export const merchantEvents = [
  'invoice.submitted',
  'invoice.deposited',
  'bank_account.changed',
  ...pickupEvents,
] as const

export const isMerchantEvent = (type: string): boolean => merchantEvents.some(known => known === type)

/** Describes a new bank account as orders sends it to the notifier, which writes to the merchant. */
const AccountSnapshot = component('BankAccountSnapshot', {
  merchant_name: Type.String(),
  /** null: the merchant no longer has a phone number. */
  merchant_phone: nullable,
  version: Type.String(),
  bank: Type.String(),
  last_four: Type.String(),
  /** Is the end of the time to object, in the company's time zone. */
  object_until: Type.String({ maxLength: 30 }),
  time_zone: Type.Optional(Type.String({ maxLength: 64 })),
})

/** Describes an invoice as orders sends it to the notifier, which writes to the merchant. */
export const InvoiceSnapshot = component('InvoiceSnapshot', {
  merchant_name: Type.String(),
  /** null: the merchant no longer has a phone number. */
  merchant_phone: nullable,
  invoice_no: Type.String(),
  invoice_ref_no: Type.String(),
  /** Is the amount that is or was paid, such as 15451.80. */
  total: Type.String(),
  currency: Type.String(),
  /** Is the end of the time to object, in the company's time zone; only of a submitted invoice. */
  object_until: Type.Optional(Type.String({ maxLength: 30 })),
  /** Is only of a paid invoice. */
  paid_on: Type.Optional(Type.String()),
  /** Is only of a paid invoice, and missing from events of earlier versions. */
  bank_reference: Type.Optional(Type.String({ maxLength: 500 })),
  time_zone: Type.Optional(Type.String({ maxLength: 64 })),
})
export type InvoiceSnapshot = Static<typeof InvoiceSnapshot>

/** Describes a pickup as orders sends it to the notifier, which writes to the merchant. */
const PickupSnapshot = component('PickupSnapshot', {
  merchant_name: Type.String(),
  /** null: the merchant no longer has a phone number. */
  merchant_phone: nullable,
  pickup_id: Type.String(),
  day: Type.String(),
  business_name: Type.String(),
  /** Is absent where the merchant named no address. */
  address_name: Type.Optional(Type.String()),
  rider: Type.Optional(Type.String()),
  /** Counts what was handed over, what was expected beside it, and what was not; only of a pickup that is done. */
  parcels: Type.Optional(Type.String()),
  missing: Type.Optional(Type.String()),
  extra: Type.Optional(Type.String()),
  /** Is only of a missed pickup. */
  reason: Type.Optional(Type.String({ maxLength: 500 })),
  time_zone: Type.Optional(Type.String({ maxLength: 64 })),
})

export type MerchantSnapshot = InvoiceSnapshot | Static<typeof AccountSnapshot> | Static<typeof PickupSnapshot>

/** Lists the names of the fields that a template may name, in the order of the schema. */
export const listMerchantFields = (event: string): string[] => {
  const others = event === 'invoice.submitted' ? ['paid_on', 'bank_reference'] : ['object_until']
  const hidden = ['merchant_phone', 'time_zone', 'version']
  if (event === 'bank_account.changed')
    return Object.keys(AccountSnapshot.properties).filter(name => !hidden.includes(name))
  if (event.startsWith('pickup.')) return Object.keys(PickupSnapshot.properties).filter(name => !hidden.includes(name))
  return Object.keys(InvoiceSnapshot.properties).filter(name => ![...hidden, ...others].includes(name))
}

const defineInvoiceEvent = <EventType extends string>(title: string, type: EventType) =>
  component(title, {
    id: OrderEvent.properties.id,
    type: Type.Literal(type),
    happened_at: UtcTime,
    invoice: InvoiceSnapshot,
    traceparent: OrderEvent.properties.traceparent,
  })

/** Is delivered at least once, as each event is, with the same `id`. */
const SubmittedEvent = defineInvoiceEvent('InvoiceSubmittedEvent', merchantEvents[0])
const DepositedEvent = defineInvoiceEvent('InvoiceEvent', merchantEvents[1])
const AccountEvent = component('BankAccountEvent', {
  id: OrderEvent.properties.id,
  type: Type.Literal(merchantEvents[2]),
  happened_at: UtcTime,
  bank_account: AccountSnapshot,
  traceparent: OrderEvent.properties.traceparent,
})
export type InvoiceEvent = Static<typeof SubmittedEvent> | Static<typeof DepositedEvent>
const PickupEvent = component('PickupEvent', {
  id: OrderEvent.properties.id,
  type: oneOf(pickupEvents),
  happened_at: UtcTime,
  pickup: PickupSnapshot,
  traceparent: OrderEvent.properties.traceparent,
})
type MerchantEvent = InvoiceEvent | Static<typeof AccountEvent> | Static<typeof PickupEvent>
export type CourierEvent = OrderEvent | MerchantEvent

export const isOrderEvent = (event: CourierEvent): event is OrderEvent => 'order' in event

/** Returns what an event about a merchant is about. */
export const readMerchantSubject = (event: MerchantEvent): MerchantSnapshot =>
  'invoice' in event ? event.invoice : 'pickup' in event ? event.pickup : event.bank_account

export const maxEventsPerRequest = 500
/** Limits the bytes of JSON that the events of a request have; a single event may exceed the limit. */
export const maxEventBytesPerRequest = 1_048_576

/** Describes the body of `POST /internal/events`: events of one tenant; events of one waybill come oldest first. */
export const CourierEvents = Type.Object(
  {
    tenant: Type.String({ minLength: 1, maxLength: 63 }),
    events: Type.Array(Type.Union([OrderEvent, SubmittedEvent, DepositedEvent, AccountEvent, PickupEvent]), {
      minItems: 1,
      maxItems: maxEventsPerRequest,
    }),
  },
  { title: 'CourierEvents', examples: [{ tenant: 'demo', events: [exampleEvent] }] },
)
export type CourierEvents = Static<typeof CourierEvents>

export const knownEventsPerPage = 2000

const exampleKnown = { waybill_number: 'DM00000001', status_key: 'key_2', happened_at: '2026-02-19T19:06:23.000Z' }

/**
 * Describes the response of `GET /internal/events/{tenant}`: events in the order in which the notifier processed them.
 */
export const KnownEvents = Type.Object(
  {
    data: Type.Array(
      Type.Object({ waybill_number: Type.String(), status_key: Type.String(), happened_at: Type.String() }),
      { maxItems: knownEventsPerPage },
    ),
    /** Is `after` of the next request; null at the end. */
    next: nullable,
    /**
     * The notifier may have sent messages for events before this time that it lacks. null: it was never restored.
     */
    in_doubt_before: nullable,
  },
  { title: 'KnownEvents', examples: [{ data: [exampleKnown], next: null, in_doubt_before: null }] },
)
export type KnownEvents = Static<typeof KnownEvents>
