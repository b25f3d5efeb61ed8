import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { FilterText, listQuery, oneOf, text } from '@courier/shared/lists/filters.ts'
import { oneOf as oneOfWords, orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Conversation, expiresAt, isOpen } from '../../core/conversations/conversation.ts'
import { messageIdPattern } from '../../core/messages/insert.ts'
import { type MessageRow, Status } from '../../core/messages/view.ts'
import { isPlain } from '../../core/messaging-api/message-template.ts'
import { isUserId } from '../../core/messaging-api/user-id.ts'
import { Rendered } from '../../core/templates/render.ts'
import { ReplyPrice } from '../costs/queries.ts'
import { type ConversationRow, type InboundRow, type Name, positionPattern } from './queries.ts'

const textOrNull = orNull(Type.String())
const at = Time({ format: 'date-time' })

const Channel = FilterText('Phone number id; without it, the number to which the person wrote last.')

export const ConversationsQuery = listQuery(cursorFields, {
  unread: oneOf(['true', 'false'], 'With true, only conversations with unread messages.'),
  channel: text('Phone number id.'),
})
export const conversationCursor = listCursor(new RegExp(`^${positionPattern}$`))

export const ThreadQuery = Type.Object({ channel: Type.Optional(Channel), ...cursorFields })
/** Names the last message of each direction that was shown: outbound, then inbound. */
export const threadCursor = listCursor(new RegExp(`^$|${messageIdPattern}`), new RegExp(`^(${positionPattern})?$`))

export const ReadBody = Type.Object(
  {
    up_to: Type.String({ minLength: 1, maxLength: 512, description: 'The id of the newest message that was read.' }),
    channel: Type.Optional(Channel),
  },
  { title: 'ReadConversation', additionalProperties: false, examples: [{ up_to: 'wamid.HBgLOTQ3NzAwMDAxMDE' }] },
)

export const ReplyBody = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '^(?=\\s*\\S)[^\\u0000-\\u0009\\u000b-\\u001f]*$',
      must: 'be a text of 1 to 4096 characters',
    }),
    channel: Type.Optional(Channel),
    waybill_number: Type.Optional(
      Type.String({ minLength: 1, maxLength: 50, description: 'The parcel whose timeline shows the reply.' }),
    ),
    asks_number: Type.Optional(
      Type.Literal(true, {
        must: 'be true',
        description: 'Adds a button by which the person shares the phone number.',
      }),
    ),
    takes_over: Type.Optional(
      Type.Literal(true, {
        must: 'be true',
        description: 'Says that the reply is to take the conversation over while another responder answers it.',
      }),
    ),
  },
  { title: 'Reply', additionalProperties: false, examples: [{ text: 'It arrives tomorrow.' }] },
)

const ThreadMessage = Type.Object(
  {
    id: Type.String({ examples: ['wamid.HBgLOTQ3NzAwMDAxMDE'] }),
    direction: oneOfWords(['in', 'out'], { description: 'in: from the customer.' }),
    at,
    type: Type.String({
      description: 'text, button, location, image, …; our own messages have text or template.',
      examples: ['text'],
    }),
    text: orNull(Type.String(), {
      examples: ['Where is my parcel?'],
      description:
        'The text, the label of a button, the name, address and coordinates of a location, the caption or name of a file.',
    }),
    media_id: orNull(Type.String(), { description: 'The platform’s id of the file.' }),
    unread: Type.Boolean(),
    template: textOrNull,
    rendered: orNull(Rendered, {
      examples: [null],
      description: 'A template as the customer read it; null for other messages, and if the catalogue never had it.',
    }),
    status: orNull(Status, {
      description: 'Null for a message from the customer, or from the company’s phone app.',
      examples: [null],
    }),
    error: textOrNull,
    waybill_number: textOrNull,
    standby: Type.Boolean({
      description: 'True if another responder on the number answered at the time; an outbound one is from there.',
      examples: [false],
    }),
  },
  { title: 'ConversationMessage' },
)

const window = {
  phone: orNull(Type.String(), {
    description: 'E.164 digits without the plus; null while the number is unknown.',
    examples: ['94770000101'],
  }),
  user_id: orNull(Type.String(), {
    description: 'The platform’s id of the person, which requests may name in place of a phone number.',
    examples: [null],
  }),
  username: orNull(Type.String(), { examples: [null] }),
  channel: Type.String({ description: 'Phone number id.', examples: ['106540352242922'] }),
  open: Type.Boolean({ description: 'True if a text may be sent now.' }),
  expires_at: orNull(at, {
    description: '24 hours after the person last wrote.',
    examples: ['2026-02-20T19:06:23.000Z'],
  }),
  owner: orNull(oneOfWords(['ours', 'other']), {
    description:
      'Who answers the person: we, or another responder on the number; null while unknown. A text of ours takes the conversation over.',
    examples: [null],
  }),
  owner_at: orNull(at, { description: 'Since when.', examples: [null] }),
}

const Summary = Type.Object(
  { ...window, unread: Type.Integer({ minimum: 0 }), last_message: ThreadMessage },
  { title: 'ConversationSummary' },
)
export const ConversationPage = PageOf(Summary, 'ConversationList')

export const Thread = Type.Object(
  {
    ...PageOf(ThreadMessage, '', undefined, { description: 'Newest first.' }).properties,
    conversation: Type.Object(window),
    reply: Type.Optional(ReplyPrice),
  },
  { title: 'ConversationMessages' },
)

export const ReadDone = Type.Object(
  { data: Type.Object({ unread: Type.Integer({ minimum: 0 }) }) },
  { title: 'ConversationRead' },
)

export const showWindow = (
  recipient: string,
  { userId, username }: Name = { userId: null, username: null },
  channel: string,
  { lastInboundAt = null, owner = null, ownerAt: owner_at = null }: Partial<Conversation> = {},
  now: Date,
) => ({
  phone: isUserId(recipient) ? null : recipient,
  user_id: isUserId(recipient) ? recipient : userId,
  username,
  channel,
  open: isOpen(lastInboundAt, now),
  expires_at: expiresAt(lastInboundAt),
  owner,
  owner_at,
})

export const showInbound = ({
  id,
  at,
  type,
  text,
  media_id,
  unread,
  kind,
  standby,
}: InboundRow): Static<typeof ThreadMessage> => {
  const ofOurs = { template: null, rendered: null, status: null, error: null, waybill_number: null }
  return { id, direction: kind === 'echo' ? 'out' : 'in', at, type, text, media_id, unread, standby, ...ofOurs }
}

export const showOutbound = (row: MessageRow, rendered: Rendered | null = null): Static<typeof ThreadMessage> => {
  const { id, template, status, error_meaning: error, waybill_number, created_at: at } = row
  const content = isPlain(template)
    ? { type: 'text', text: template.text, template: null }
    : { type: 'template', text: null, template: template.name }
  const ofAll = { id, direction: 'out' as const, at, media_id: null, unread: false, standby: false }
  return { ...ofAll, ...content, rendered, status, error, waybill_number }
}

export const showConversation = (row: ConversationRow, name: Name | undefined) => ({
  ...showWindow(row.recipient, name, row.number, row, row.now),
  unread: row.unreadMessages,
  last_message: showInbound(row),
})
