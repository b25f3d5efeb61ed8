import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

/** Names the messaging API's requests by the last word of their path; `phone_number` is the number itself. */
export const requestNames = [
  'messages',
  'register',
  'phone_number',
  'message_templates',
  'debug_token',
  'subscribed_apps',
] as const
export type RequestName = (typeof requestNames)[number]

export const statusWords = ['sent', 'delivered', 'read', 'failed'] as const
export type StatusWord = (typeof statusWords)[number]

const Broken = <Kind extends string>(kind: Kind, fallback: boolean, description: string) =>
  closed(
    {
      kind: Type.Literal(kind),
      accepted: Type.Optional(
        Type.Boolean({ description: `True if the request took effect all the same; default ${fallback}.` }),
      ),
    },
    { description },
  )

/** Describes a failure that replaces the response to a request after every check, or, for `refused`, before any. */
const Trouble = Type.Union(
  [
    closed(
      {
        kind: Type.Literal('error'),
        code: Type.Integer({ minimum: 0 }),
        details: Type.Optional(Type.String()),
        http_status: Type.Optional(Type.Integer({ minimum: 400, maximum: 599 })),
        retry_after_seconds: Type.Optional(
          Type.Integer({ minimum: 0, description: 'The value of the Retry-After header.' }),
        ),
      },
      { description: 'Refuses the request with a code from docs/contributors/messaging-api.md#error-table.' },
    ),
    Broken('lost', true, 'Cuts the connection once the request is read.'),
    closed(
      { kind: Type.Literal('refused') },
      { description: 'Cuts the connection before the body is read; not for one recipient, which only the body names.' },
    ),
    Broken('half', true, 'Cuts the connection in the middle of the response.'),
    Broken('html', false, 'Responds with 502 and a page.'),
    Broken('empty', false, 'Responds with 500 and no body.'),
  ],
  { must: 'be one of the documented troubles' },
)
export type Trouble = Static<typeof Trouble>

export const Script = closed({
  call: Type.Optional(oneOf([...requestNames, 'any'], { description: 'Default: messages.' })),
  times: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: 'The number of requests that meet the trouble. Default: 1; null: until cleared.',
      must: 'be a whole number from 1, or null',
    }),
  ),
  recipient: Type.Optional(
    Type.String({
      maxLength: 20,
      pattern: '^[0-9]{3,20}$',
      description: 'Limits the script to sends to this number.',
      must: 'be digits',
    }),
  ),
  trouble: Trouble,
})
export type Script = Static<typeof Script>

/** Keeps the troubles that a test has set, in the order in which they were set. */
export const createScripts = () => {
  let waiting: (Script & { left: number })[] = []
  /** Returns and uses up the trouble of a request, before or after its body is read; `recipient` is in digits. */
  const take = (request: RequestName, isRead: boolean, recipient?: string): Trouble | undefined => {
    const script = waiting.find(
      ({ call = 'messages', trouble, recipient: only }) =>
        (call === request || call === 'any') &&
        (trouble.kind !== 'refused') === isRead &&
        (only === undefined || only === recipient),
    )
    if (!script) return undefined
    script.left -= 1
    if (script.left === 0) waiting = waiting.filter(other => other !== script)
    return script.trouble
  }
  return {
    add: (script: Script): void => {
      waiting.push({ ...script, left: script.times === null ? Infinity : (script.times ?? 1) })
    },
    take,
    list: (): Script[] => waiting.map(({ left, ...script }) => ({ ...script, times: left === Infinity ? null : left })),
    clear: (): void => {
      waiting = []
    },
  }
}

/** Lists how every request fails during an outage, before its body is read. Control and the page keep working. */
const outageModes = ['reset', 'hang', 'unavailable'] as const

export const Outage = Type.Union(
  [
    oneOf(outageModes, {
      description:
        'reset cuts the connection; hang sends nothing until the outage ends, then cuts it; unavailable is 503 with code 2.',
    }),
    Type.Null({ description: 'No outage.' }),
  ],
  { must: `be one of ${outageModes.join(', ')}, or null` },
)
export type Outage = Static<typeof Outage>
