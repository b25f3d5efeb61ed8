import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Conversation as ConversationState, expiresAt, isOpen } from './conversation.ts'
import { type findOptOuts, optOutScopes } from './opt-outs.ts'

export const noPhone = 'The phone field must be a phone number, such as +94770000101.'

export const Phone = Type.Object({
  phone: Type.String({ maxLength: 40, sentence: noPhone, description: 'Phone number, in any usual spelling.' }),
})

const Scope = oneOf(optOutScopes, {
  must: 'be all or marketing',
  description: 'Every message, or marketing messages alone.',
  examples: ['marketing'],
})

export const OptOutBody = Type.Object(
  {
    scope: Type.Optional(Scope),
    reason: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S', must: 'be a text of 1 to 500 characters' }),
    channel: Type.Optional(Type.String({ maxLength: 64, description: 'Phone number id.' })),
  },
  { title: 'OptOut', additionalProperties: false, examples: [{ scope: 'all', reason: 'Asked by phone.' }] },
)

const timeOrNull = (description: string, ...examples: string[]) => orNull(Type.String(), { description, examples })

export const Conversation = Type.Object(
  {
    data: Type.Object({
      open: Type.Boolean({ description: 'True if a message may be sent on plan free now.' }),
      last_inbound_at: timeOrNull('When the person last wrote.', '2026-02-19T19:06:23.000Z'),
      expires_at: timeOrNull('24 hours after that.', '2026-02-20T19:06:23.000Z'),
      opted_out: Type.Boolean({ description: 'True if the person opted out of every message.', examples: [false] }),
      marketing_opted_out: Type.Boolean({ description: 'True if the person opted out of marketing messages.' }),
      opt_outs: Type.Array(
        Type.Object({
          id: Type.String({ description: 'The id by which the audit names it.', examples: ['17'] }),
          change: oneOf(['out', 'in']),
          scope: Scope,
          at: Type.String(),
          by: Type.String({
            description: 'customer, platform or staff, and the way or the name.',
            examples: ['platform: user_preferences'],
          }),
          reason: orNull(Type.String()),
        }),
        { description: 'The newest 20, newest first.' },
      ),
    }),
  },
  { title: 'Conversation' },
)

export const conversationView = (
  state: ConversationState | undefined,
  optOuts: Awaited<ReturnType<typeof findOptOuts>>,
  now: Date,
): Static<typeof Conversation> => {
  const { lastInboundAt = null, optedOutAt = null, marketingOutAt = null } = state ?? {}
  return {
    data: {
      open: isOpen(lastInboundAt, now),
      last_inbound_at: lastInboundAt?.toISOString() ?? null,
      expires_at: expiresAt(lastInboundAt)?.toISOString() ?? null,
      opted_out: optedOutAt !== null,
      marketing_opted_out: (optedOutAt ?? marketingOutAt) !== null,
      opt_outs: optOuts.map(({ opt_out_id: id, change, scope, at, actor_kind, actor, reason }) => ({
        id,
        change,
        scope,
        at: at.toISOString(),
        by: `${actor_kind}: ${actor}`,
        reason,
      })),
    },
  }
}
