import type { Staff } from '@courier/shared/access/staff.ts'
import { PageOf } from '@courier/shared/lists/cursor.ts'
import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { type MessageStatus, messageStatuses, type Tx } from '../database/tables.ts'
import { type Component, type Content, isPlain, MessageTemplate } from '../messaging-api/message-template.ts'

const at = Time({ description: 'ISO 8601, UTC' })
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
const Message = Type.Object({
  id: Type.String({ examples: ['msg_0198a7c2k4m6p8r0t2v4x6z8a'] }),
  channel: Type.String({ description: 'Phone number id.', examples: ['106540352242922'] }),
  to: Type.String({ description: 'E.164 digits without the plus, or a user id.', examples: ['94770000101'] }),
  template: TemplateOrNull,
  text: orNull(Type.String({ description: 'The text of a message without a template.' })),
  waybill_number: orNull(Type.String(), { examples: ['DM00000001'] }),
  waybill_numbers: Type.Array(Type.String(), {
    description: 'All parcels that the message is about.',
    examples: [['DM00000001']],
  }),
  status: Status,
  provider_message_id: orNull(Type.String(), { examples: ['wamid.HBgLOTQ3NzAwMDAxMDE'] }),
  error: orNull(Type.Object({ code: orNull(Type.Integer()), meaning: Type.String() }), { examples: [null] }),
  attempts: Type.Integer({ description: 'The number of failed sends.' }),
  created_at: at,
  send_at: orNull(at),
  timeline: Type.Array(Type.Object({ status: Status, at, detail: orNull(Type.String()) })),
})
export type Message = Static<typeof Message>

/** Adds fields to messages that are read. */
export interface MessageFacet {
  readonly fields: TProperties
  /** Finds the fields by message, for this member of staff; shares the round trip that reads the timelines. */
  readonly read: (tx: Tx, staff: Staff, ids: readonly string[]) => Promise<ReadonlyMap<string, object>>
  /** Holds the fields of a message that `read` did not find. */
  readonly absent: object
}

/** Returns the schemas of a message and of a page of messages, with the fields of the facets. */
export const defineViews = (facets: readonly MessageFacet[]) => {
  const { timeline, ...fields } = Message.properties
  const more = Object.assign({}, ...facets.map(facet => facet.fields))
  const Shown = Type.Object({ ...fields, ...more, timeline }, { title: 'MessageWithTimeline' }) as typeof Message
  const description = 'A page may be short, or empty, before the end.'
  return {
    OneMessage: Type.Object({ data: Shown }, { title: 'OneMessage' }),
    Page: PageOf(Shown, 'MessageList', undefined, { description }),
  }
}

type Shown = Pick<
  Message,
  'id' | 'channel' | 'to' | 'waybill_number' | 'waybill_numbers' | 'status' | 'provider_message_id' | 'attempts'
>

export interface MessageRow extends Shown {
  readonly template: Content
  readonly error_code: number | null
  readonly error_meaning: string | null
  readonly created_at: Date
  readonly send_at: Date | null
}

export interface StatusUpdate {
  readonly status: MessageStatus
  readonly at: Date
  readonly detail: string | null
}

export const messageView = (
  { template, error_code: code, error_meaning: meaning, ...row }: MessageRow,
  timeline: readonly StatusUpdate[] = [],
): Message => ({
  ...row,
  template: isPlain(template) ? null : { ...template, components: template.components.map(withoutAction) },
  text: isPlain(template) ? template.text : null,
  error: meaning === null ? null : { code, meaning },
  timeline: inOrder(timeline),
})

/** Raises each update's time to that of the update before it, if that is later: webhooks give whole seconds. */
export const inOrder = <Update extends { readonly at: Date }>(updates: readonly Update[]): Update[] => {
  let reached = new Date(0)
  return updates.map(update => {
    if (update.at > reached) reached = update.at
    return { ...update, at: reached }
  })
}

/** Omits the action, which the payload repeats. */
const withoutAction = ({ action: _, ...component }: Component): Component => component
