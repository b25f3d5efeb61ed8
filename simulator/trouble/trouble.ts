import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../basics/one-of.ts'

/** The requests of the messaging API, by the last word of their path; the number itself is `phone_number`. */
export const requestNames = ['messages', 'register', 'phone_number', 'message_templates', 'debug_token'] as const
export type RequestName = (typeof requestNames)[number]

export const statusWords = ['sent', 'delivered', 'read', 'failed'] as const

export const StatusStep = Type.Object({
  status: oneOf(statusWords),
  code: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Of `failed`; docs/contributors/messaging-api.md#error-table.' }),
  ),
})
export type StatusStep = Static<typeof StatusStep>

const Broken = <Kind extends string>(kind: Kind, fallback: boolean, description: string) =>
  Type.Object(
    {
      kind: Type.Literal(kind),
      accepted: Type.Optional(
        Type.Boolean({ description: `Whether the request took effect all the same; default ${fallback}.` }),
      ),
    },
    { description },
  )

/** A failure that a request meets in place of its ordinary response, once it has passed every check. */
export const Trouble = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal('error'),
        code: Type.Integer({ minimum: 0 }),
        details: Type.Optional(Type.String()),
        http_status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
        retry_after_seconds: Type.Optional(Type.Integer({ minimum: 0, description: 'As the header Retry-After.' })),
      },
      { description: 'Refused with a code of docs/contributors/messaging-api.md#error-table.' },
    ),
    Broken('lost', true, 'Read, then cut off.'),
    Type.Object(
      { kind: Type.Literal('refused') },
      { description: 'Cut off before the body is read; not for one recipient, which only the body names.' },
    ),
    Broken('half', true, 'Cut off in the middle of the response.'),
    Broken('html', false, '502 with a page.'),
    Broken('empty', false, '500 without a body.'),
  ],
  { title: 'Trouble', must: 'be one of the documented troubles' },
)
export type Trouble = Static<typeof Trouble>
