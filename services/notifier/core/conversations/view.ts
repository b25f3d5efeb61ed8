import { orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { maxUserIdLength } from '../messaging-api/user-id.ts'
import { type Conversation as ConversationState, expiresAt, isOpen } from './conversation.ts'
import { OptOutEntry, Scope } from './opt-outs.ts'

export const noPhone = 'The phone field must be a phone number, such as +94770000101.'

export const Phone = Type.Object({
  phone: Type.String({
    maxLength: maxUserIdLength,
    sentence: noPhone,
    description: 'Phone number, in any usual spelling, or the user id of a person without one.',
  }),
})

export const OptOutBody = Type.Object(
  {
    scope: Type.Optional(Scope),
    reason: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S', must: 'be a text of 1 to 500 characters' }),
    channel: Type.Optional(Type.String({ maxLength: 64, description: 'Phone number id.' })),
  },
  { title: 'OptOut', additionalProperties: false, examples: [{ scope: 'all', reason: 'Asked by phone.' }] },
)

const timeOrNull = (description: string, ...examples: string[]) => orNull(Time(), { description, examples })

export const Conversation = Type.Object(
  {
    data: Type.Object({
      open: Type.Boolean({ description: 'True if a message may be sent now on the free plan.' }),
      last_inbound_at: timeOrNull('The time when the person last wrote.', '2026-02-19T19:06:23.000Z'),
      expires_at: timeOrNull('The time 24 hours after that, when the conversation closes.', '2026-02-20T19:06:23.000Z'),
      opted_out: Type.Boolean({ description: 'True if the person opted out of every message.', examples: [false] }),
      marketing_opted_out: Type.Boolean({ description: 'True if the person opted out of marketing messages.' }),
      opt_outs: Type.Array(OptOutEntry, { description: 'The newest 20 opt-outs and opt-ins, newest first.' }),
    }),
  },
  { title: 'Conversation' },
)

export const conversationView = (
  { lastInboundAt = null, optedOutAt = null, marketingOutAt = null }: Partial<ConversationState> = {},
  opt_outs: Static<typeof OptOutEntry>[],
  now: Date,
): Static<typeof Conversation> => ({
  data: {
    open: isOpen(lastInboundAt, now),
    last_inbound_at: lastInboundAt,
    expires_at: expiresAt(lastInboundAt),
    opted_out: optedOutAt !== null,
    marketing_opted_out: (optedOutAt ?? marketingOutAt) !== null,
    opt_outs,
  },
})
