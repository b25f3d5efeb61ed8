import { orNull } from '@courier/shared/schemas.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type Content, MessageTemplate } from '../messaging-api/message-template.ts'
import type { Hours } from './hours.ts'
import type { Source } from './source.ts'

const optional = <S extends TSchema>(schema: S) => Type.Optional(orNull(schema))

const Phone = Type.String({
  maxLength: 40,
  description: "Phone number, in any usual spelling; with a waybill_number it may be left out: the customer's.",
})

const toTexts = (type: string, ...texts: string[]) => ({
  type,
  parameters: texts.map(text => ({ type: 'text', text })),
})
const fill = (name: string, ...components: object[]) => ({ name, language: { code: 'en_US' }, components })

/** One message as the staff portal requests it (docs/merchants/contract.md#send, with what our service adds). */
export const MessageBody = Type.Object(
  {
    messaging_product: optional(Type.String({ maxLength: 64 })),
    recipient_type: optional(Type.Literal('individual', { must: 'be "individual"' })),
    type: optional(Type.Literal('template', { must: 'be "template": other messages are not sent' })),
    to: optional(Phone),
    template: MessageTemplate,
    channel: optional(Type.String({ maxLength: 64, description: 'Phone number id; without it the default channel.' })),
    waybill_number: optional(
      Type.String({
        maxLength: 50,
        description:
          'The parcel that it is about; parameter texts may then name fields of the order, as {{customer_name}}.',
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
    respect_hours: optional(Type.Boolean({ description: "Send it within the tenant's hours alone." })),
  },
  {
    title: 'Message',
    additionalProperties: false,
    examples: [
      {
        waybill_number: 'DM00000001',
        template: fill('order_delivered', toTexts('body', '{{customer_name}}', '{{waybill_number}}')),
      },
      {
        to: '0770000101',
        template: fill(
          'order_created',
          toTexts('header', 'DM00000001'),
          toTexts('body', 'Nimali', 'Lanka Shoes', '4500'),
        ),
      },
    ],
  },
)
export type MessageBody = Static<typeof MessageBody>

/** A message whose recipient is known and whose texts are final. */
export type MessageRequest = Omit<MessageBody, 'template'> & {
  to: string
  template: Content
  /** The order of the message is in no final status; undefined: unknown. */
  isUnderWay?: boolean | undefined
  /** The reason why the values of its order cannot fill its texts. */
  missing?: string | undefined
  hours?: Hours | undefined
  /** undefined: no part of it comes from an order. */
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
