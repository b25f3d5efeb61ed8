import { PageOf } from '@courier/shared/lists/cursor.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { Cost as MessageCost } from '../costs/queries.ts'
import { type MessageStatus, messageStatuses } from '../database/tables.ts'
import { type Component, isPlain, MessageTemplate } from '../messaging-api/message-template.ts'
import type { MessageRow } from './queries.ts'

export const orNull = <S extends TSchema>(schema: S, options?: object) => Type.Union([schema, Type.Null()], options)
const Time = Type.String({ description: 'ISO 8601, UTC' })
export const Status = Type.Union(messageStatuses.map(status => Type.Literal(status)))

const TemplateOrNull = Type.Unsafe<MessageTemplate | null>({ ...MessageTemplate, type: ['object', 'null'] })
/** The cost of a message, in `messages` and in the timeline of a parcel. */
export const Cost = orNull(
  Type.Object({
    amount: orNull(Type.String({ description: 'An exact decimal; null: no tariff says.' })),
    currency: orNull(Type.String()),
    category: Type.String({ description: 'As billed by the platform.' }),
    is_free: Type.Boolean(),
  }),
  {
    description: 'Null until the platform reports pricing, with the delivery, and for a role that may not read costs.',
  },
)

/** A message as staff sees it. */
export const Message = Type.Object(
  {
    id: Type.String(),
    channel: Type.String({ description: 'Phone number id.' }),
    to: Type.String({ description: 'E.164 digits without the plus.' }),
    template: TemplateOrNull,
    text: orNull(Type.String({ description: 'Of a message without a template.' })),
    waybill_number: orNull(Type.String()),
    status: Status,
    provider_message_id: orNull(Type.String()),
    error: orNull(Type.Object({ code: orNull(Type.Integer()), meaning: Type.String() })),
    attempts: Type.Integer({ description: 'Sends that failed.' }),
    created_at: Time,
    send_at: orNull(Time),
    cost: Cost,
    timeline: Type.Array(Type.Object({ status: Status, at: Time, detail: orNull(Type.String()) })),
  },
  { title: 'MessageWithTimeline' },
)

export const exampleMessage: Static<typeof Message> = {
  id: 'msg_0198a7c2k4m6p8r0t2v4x6z8a',
  channel: '106540352242922',
  to: '94770000101',
  template: {
    name: 'order_created',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: [{ type: 'text', text: 'Nimali' }] }],
  },
  text: null,
  waybill_number: 'DM00000001',
  status: 'delivered',
  provider_message_id: 'wamid.HBgLOTQ3NzAwMDAxMDE',
  error: null,
  attempts: 0,
  created_at: '2026-02-19T19:06:23.000Z',
  send_at: null,
  cost: { amount: '0.0165', currency: 'USD', category: 'utility', is_free: false },
  timeline: [{ status: 'queued', at: '2026-02-19T19:06:23.000Z', detail: null }],
}

export const Page = PageOf(Message, 'MessageList', exampleMessage, {
  description: 'May be short, or empty, before the end.',
})

interface Event {
  status: MessageStatus
  happened_at: Date
  detail: string | null
}

export const messageView = (
  row: MessageRow,
  timeline: readonly Event[] = [],
  cost?: MessageCost,
): Static<typeof Message> => ({
  id: row.message_id,
  channel: row.phone_number_id,
  to: row.recipient,
  template: isPlain(row.template) ? null : { ...row.template, components: row.template.components.map(withoutAction) },
  text: isPlain(row.template) ? row.template.text : null,
  waybill_number: row.waybill_number,
  status: row.status,
  provider_message_id: row.provider_message_id,
  error: row.error_meaning === null ? null : { code: row.error_code, meaning: row.error_meaning },
  attempts: row.attempts,
  created_at: row.created_at.toISOString(),
  send_at: row.send_at?.toISOString() ?? null,
  cost: cost ?? null,
  timeline: inOrder(timeline).map(({ status, happened_at, detail }) => ({
    status,
    at: happened_at.toISOString(),
    detail,
  })),
})

/**
 * Returns the statuses of one message in the order in which they were stored. Webhooks give times in whole seconds:
 * none shows a time before the one that it followed.
 */
export const inOrder = <Update extends { readonly happened_at: Date }>(updates: readonly Update[]): Update[] => {
  let reached = new Date(0)
  return updates.map(update => {
    if (update.happened_at > reached) reached = update.happened_at
    return { ...update, happened_at: reached }
  })
}

/** Omits the action, which the payload repeats. */
const withoutAction = ({ action: _, ...component }: Component): Component => component
