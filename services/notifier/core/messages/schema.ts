import { ErrorList, listErrors } from '@courier/shared/errors/field-errors.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type Content, MessageTemplate, toTexts } from '../messaging-api/message-template.ts'
import { maxUserIdLength } from '../messaging-api/user-id.ts'
import type { Hours } from './hours.ts'
import type { Source } from './placeholders.ts'

const optional = <S extends TSchema>(schema: S) => Type.Optional(orNull(schema))

const Phone = Type.String({
  maxLength: maxUserIdLength,
  description:
    "Phone number, in any usual spelling, or the user id of a person without one; with a waybill_number it may be omitted and is the customer's.",
})

const fill = (name: string, ...components: object[]) => ({ name, language: { code: 'en_US' }, components })

/** Describes one message as the staff portal requests it (docs/merchants/contract.md#send, with our additions). */
export const MessageBody = Type.Object(
  {
    messaging_product: optional(Type.String({ maxLength: 64 })),
    recipient_type: optional(Type.Literal('individual', { must: 'be "individual"' })),
    type: optional(Type.Literal('template', { must: 'be "template": other messages are not sent' })),
    to: optional(Phone),
    template: MessageTemplate,
    channel: optional(Type.String({ maxLength: 64, description: 'Phone number id; without it, the default channel.' })),
    waybill_number: optional(
      Type.String({
        maxLength: 50,
        description:
          'The parcel that the message is about; texts may then name fields of its order, such as {{customer_name}}.',
      }),
    ),
    send_at: optional(
      Type.String({
        pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:?\\d\\d)$',
        maxLength: 40,
        must: 'be a time with its zone, such as 2027-01-31T09:00:00Z',
      }),
    ),
    hold_until_open: optional(Type.Boolean()),
    respect_hours: optional(Type.Boolean({ description: "Send the message only within the tenant's hours." })),
  },
  {
    title: 'Message',
    additionalProperties: false,
    examples: [
      {
        waybill_number: 'DM00000001',
        template: fill('order_delivered', ...toTexts('body', '{{customer_name}}', '{{waybill_number}}')),
      },
      {
        to: '0770000101',
        template: fill(
          'order_created',
          ...toTexts('header', 'DM00000001'),
          ...toTexts('body', 'Nimali', 'Lanka Shoes', '4500'),
        ),
      },
    ],
  },
)
export type MessageBody = Static<typeof MessageBody>

/** Describes a message whose recipient is known and whose texts are final. */
export type MessageRequest = Omit<MessageBody, 'template'> & {
  to: string
  template: Content
  /** Is true if its order is not in a final status; undefined means unknown. */
  isUnderWay?: boolean | undefined
  /** Says why the values of its order cannot fill its texts. */
  missing?: string | undefined
  hours?: Hours | undefined
  /** May leave as one with others of the same rule to the same person, at the end of the window. */
  window?: { readonly joins: string; readonly minutes: number; readonly from: Date } | undefined
  /** undefined means that no part of it comes from an order. */
  source?: Source | undefined
}

export const MessageBodies = (maxMessages: number) =>
  Type.Object(
    { messages: Type.Array(MessageBody, { minItems: 1, maxItems: maxMessages }) },
    { title: 'Messages', examples: [{ messages: MessageBody.examples }], additionalProperties: false },
  )

export const AcceptedMessage = Type.Object(
  {
    id: Type.String({ examples: ['msg_0198a7c2k4m6p8r0t2v4x6z8a'] }),
    status: Type.Union([Type.Literal('queued'), Type.Literal('held')]),
  },
  { title: 'Accepted' },
)
export type AcceptedMessage = Static<typeof AcceptedMessage>

/** Holds the messages of a request; undefined stands for a message that has errors. */
export interface Batch<Message> {
  readonly messages: readonly (Message | undefined)[]
  readonly errors: ErrorList
  /** Returns the prefix of paths of the message at `index`: `messages.<index>.` in a bulk request, else empty. */
  readonly toPath: (index: number) => string
}

export const toBatch = <Message>(message: Message | undefined, errors = new ErrorList()): Batch<Message> => ({
  messages: [message],
  errors,
  toPath: () => '',
})

const listed = (index: number): string => `messages.${index}.`

/** Compiles a reader of bulk requests of up to `maxMessages` messages: it keeps those with a valid shape. */
export const createBatchReader = (maxMessages: number): ((body: unknown) => Batch<MessageBody>) => {
  const check = TypeCompiler.Compile(MessageBodies(maxMessages))
  return body => {
    if (check.Check(body)) return { messages: body.messages, errors: new ErrorList(), toPath: listed }
    const errors = listErrors(check, body ?? {})
    const messages: unknown = (body as { messages?: unknown } | null)?.messages
    // Keeps nothing if there may be more errors than were counted.
    const isReadable = Array.isArray(messages) && messages.length <= maxMessages && !errors.isFull
    const wrong = new Set([...errors.paths].map(path => /^messages\.\d+\./.exec(`${path}.`)?.[0]))
    const kept = isReadable ? messages.map((message, index) => (wrong.has(listed(index)) ? undefined : message)) : []
    return { messages: kept, errors, toPath: listed }
  }
}

const checkOne = TypeCompiler.Compile(MessageBody)

export const readOne = (body: unknown): Batch<MessageBody> =>
  checkOne.Check(body) ? toBatch(body) : toBatch<MessageBody>(undefined, listErrors(checkOne, body ?? {}))
