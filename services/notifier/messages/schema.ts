import { type Static, type TSchema, Type } from '@sinclair/typebox'

export const ParameterText = Type.String({
  minLength: 1,
  maxLength: 1024,
  // A line break, a tab or more than four blanks in a row makes the API refuse the whole message (messaging-api 1.2).
  pattern: '^(?!.* {5})[^\\n\\r\\t\\u0000]*\\S[^\\n\\r\\t\\u0000]*$',
  must: 'be 1 to 1024 characters without line breaks, tabs and more than four blanks in a row',
})

export const Parameter = Type.Object(
  {
    type: Type.Literal('text', { must: 'be "text"' }),
    text: ParameterText,
    parameter_name: Type.Optional(
      Type.String({ pattern: '^[a-z0-9_]{1,60}$', must: 'be lower-case letters, digits and _' }),
    ),
  },
  { additionalProperties: false },
)

export const Component = Type.Object(
  {
    type: Type.Union([Type.Literal('header'), Type.Literal('body')], { must: 'be "header" or "body"' }),
    parameters: Type.Array(Parameter, { maxItems: 100 }),
  },
  { additionalProperties: false },
)

export const TemplateName = Type.String({
  pattern: '^[a-z0-9_]{1,512}$',
  must: 'be a template name: lower-case letters, digits and _',
})
export const LanguageCode = Type.String({
  pattern: '^[a-z]{2,3}(_[A-Z]{2})?$',
  must: 'be a locale code such as en_US',
})

/** What to send: an approved template and its parameters (spec.md 2.6). */
export const MessageTemplate = Type.Object(
  {
    name: TemplateName,
    language: Type.Object({ code: LanguageCode }, { additionalProperties: false }),
    components: Type.Array(Component, { maxItems: 2 }),
  },
  { additionalProperties: false },
)
export type MessageTemplate = Static<typeof MessageTemplate>

const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))

const Phone = Type.String({
  maxLength: 40,
  description: "Phone number, in any usual spelling; with a waybill_number it may be left out: the customer's.",
})

/** One message as the staff portal asks for it (spec.md 2.6, with what our service adds). */
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
        description: 'What it is about; parameter texts may then name fields of the order, as {{customer_name}}.',
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
  },
  {
    title: 'Message',
    examples: [
      {
        waybill_number: 'DM00000001',
        template: {
          name: 'order_delivered',
          language: { code: 'en_US' },
          components: [
            {
              type: 'body',
              parameters: [
                { type: 'text', text: '{{customer_name}}' },
                { type: 'text', text: '{{waybill_number}}' },
              ],
            },
          ],
        },
      },
      {
        to: '0770000101',
        template: {
          name: 'order_created',
          language: { code: 'en_US' },
          components: [
            { type: 'header', parameters: [{ type: 'text', text: 'DM00000001' }] },
            {
              type: 'body',
              parameters: [
                { type: 'text', text: 'Nimali' },
                { type: 'text', text: 'Lanka Shoes' },
                { type: 'text', text: '4500' },
              ],
            },
          ],
        },
      },
    ],
  },
)
export type MessageBody = Static<typeof MessageBody>

/** A message whose recipient is known and whose texts are final. */
export type MessageRequest = MessageBody & { to: string }

export const MessageBodies = (maxMessages: number) =>
  Type.Object({ messages: Type.Array(MessageBody, { minItems: 1, maxItems: maxMessages }) })

export const Accepted = Type.Object({
  id: Type.String(),
  status: Type.Union([Type.Literal('queued'), Type.Literal('held')]),
})
export type Accepted = Static<typeof Accepted>
