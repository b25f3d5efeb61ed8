import { PageOf } from '@courier/shared/lists/cursor.ts'
import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Cost as MessageCost } from '../costs/queries.ts'
import { type MessageStatus, messageStatuses } from '../database/tables.ts'
import { type Component, isPlain, MessageTemplate } from '../messaging-api/message-template.ts'
import type { MessageRow } from './queries.ts'

const Time = Type.String({ description: 'ISO 8601, UTC' })
export const Status = oneOf(messageStatuses, { examples: ['delivered'] })

const exampleTemplate = {
  name: 'order_created',
  language: { code: 'en_US' },
  components: [{ type: 'body', parameters: [{ type: 'text', text: 'Nimali' }] }],
}
const TemplateOrNull = Type.Unsafe<MessageTemplate | null>({
  ...MessageTemplate,
  type: ['object', 'null'],
  examples: [exampleTemplate],
})
export const Cost = orNull(
  Type.Object({
    amount: orNull(Type.String({ description: 'An exact decimal; null: no tariff says.' }), { examples: ['0.0165'] }),
    currency: orNull(Type.String(), { examples: ['USD'] }),
    category: Type.String({ description: 'The category as billed by the platform.', examples: ['utility'] }),
    is_free: Type.Boolean({ examples: [false] }),
  }),
  {
    description: 'Null until the platform reports pricing, with the delivery, and for a role that may not read costs.',
  },
)

export const Message = Type.Object(
  {
    id: Type.String({ examples: ['msg_0198a7c2k4m6p8r0t2v4x6z8a'] }),
    channel: Type.String({ description: 'Phone number id.', examples: ['106540352242922'] }),
    to: Type.String({ description: 'E.164 digits without the plus.', examples: ['94770000101'] }),
    template: TemplateOrNull,
    text: orNull(Type.String({ description: 'The text of a message without a template.' })),
    waybill_number: orNull(Type.String(), { examples: ['DM00000001'] }),
    status: Status,
    provider_message_id: orNull(Type.String(), { examples: ['wamid.HBgLOTQ3NzAwMDAxMDE'] }),
    error: orNull(Type.Object({ code: orNull(Type.Integer()), meaning: Type.String() }), { examples: [null] }),
    attempts: Type.Integer({ description: 'Sends that failed.' }),
    created_at: Time,
    send_at: orNull(Time),
    cost: Cost,
    timeline: Type.Array(Type.Object({ status: Status, at: Time, detail: orNull(Type.String()) })),
  },
  { title: 'MessageWithTimeline' },
)

export const Page = PageOf(Message, 'MessageList', undefined, {
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
  timeline: inOrder(timeline).map(({ status, happened_at: at, detail }) => ({ status, at: at.toISOString(), detail })),
})

/** Orders the statuses of a message as stored: webhooks give whole seconds, so none shows a time before the last. */
export const inOrder = <Update extends { readonly happened_at: Date }>(updates: readonly Update[]): Update[] => {
  let reached = new Date(0)
  return updates.map(update => {
    if (update.happened_at > reached) reached = update.happened_at
    return { ...update, happened_at: reached }
  })
}

/** Omits the action, which the payload repeats. */
const withoutAction = ({ action: _, ...component }: Component): Component => component
