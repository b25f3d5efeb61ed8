import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../one-of.ts'

/** The calls of the messaging API, by the last word of their path; the number itself is `phone_number`. */
export const callNames = [
  'messages',
  'register',
  'deregister',
  'phone_number',
  'phone_numbers',
  'message_templates',
  'debug_token',
] as const
export type CallName = (typeof callNames)[number]

export const statusWords = ['sent', 'delivered', 'read', 'failed'] as const
export type StatusWord = (typeof statusWords)[number]

export const StatusStep = Type.Object({
  status: oneOf(statusWords),
  code: Type.Optional(Type.Integer({ minimum: 0, description: 'Of `failed`: a code of messaging-api 3.3.' })),
})
export type StatusStep = Static<typeof StatusStep>

const accepted = (fallback: boolean) =>
  Type.Optional(Type.Boolean({ description: `Whether the call took effect all the same; default ${fallback}.` }))

/** What a call meets instead of its ordinary answer, once it has passed every check. */
export const Trouble = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal('error'),
        code: Type.Integer({ minimum: 0 }),
        details: Type.Optional(Type.String()),
        http_status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
        subcode: Type.Optional(Type.Integer()),
        is_transient: Type.Optional(Type.Boolean()),
        retry_after_seconds: Type.Optional(Type.Integer({ minimum: 0, description: 'As the header Retry-After.' })),
        regain_minutes: Type.Optional(
          Type.Integer({ minimum: 0, description: 'As estimated_time_to_regain_access in x-business-use-case-usage.' }),
        ),
      },
      { description: 'Refused with a code of messaging-api 3.3.' },
    ),
    Type.Object({ kind: Type.Literal('lost'), accepted: accepted(true) }, { description: 'Read, then cut off.' }),
    Type.Object(
      { kind: Type.Literal('refused') },
      { description: 'Cut off before the body is read; not for one recipient, which only the body tells.' },
    ),
    Type.Object({ kind: Type.Literal('half'), accepted: accepted(true) }, { description: 'Cut off in mid-answer.' }),
    Type.Object(
      { kind: Type.Literal('slow'), seconds: Type.Number({ minimum: 0, maximum: 3600 }) },
      { description: 'Takes effect at once, is answered late. Real seconds.' },
    ),
    Type.Object({ kind: Type.Literal('html'), accepted: accepted(false) }, { description: '502 with a page.' }),
    Type.Object({ kind: Type.Literal('empty'), accepted: accepted(false) }, { description: '500 without a body.' }),
    Type.Object(
      {
        kind: Type.Literal('course'),
        statuses: Type.Array(StatusStep, { description: 'The statuses that follow, in this order; none is none.' }),
        copies: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
        disorder: Type.Optional(Type.Boolean({ description: 'Delivers the last status first.' })),
        message_status: Type.Optional(oneOf(['accepted', 'held_for_quality_assessment', 'paused'])),
      },
      { description: 'Accepted; what happens to the message afterwards. Of sends only.' },
    ),
  ],
  { title: 'Trouble', must: 'be one of the documented troubles' },
)
export type Trouble = Static<typeof Trouble>
export type Course = Extract<Trouble, { kind: 'course' }>
