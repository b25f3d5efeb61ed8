import { type Static, Type } from '@sinclair/typebox'

const Media = Type.Object({
  id: Type.Optional(Type.String()),
  link: Type.Optional(Type.String()),
  filename: Type.Optional(Type.String()),
})
const Fallback = Type.Object({ fallback_value: Type.String() })

/**
 * See docs/contributors/messaging-api.md#components. The check against the template decides which of these a part
 * takes.
 */
export const Parameter = Type.Object(
  {
    type: Type.String(),
    parameter_name: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
    image: Type.Optional(Media),
    document: Type.Optional(Media),
    video: Type.Optional(Media),
    location: Type.Optional(Type.Object({})),
    currency: Type.Optional(Fallback),
    date_time: Type.Optional(Fallback),
    payload: Type.Optional(Type.String()),
    coupon_code: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
export type Parameter = Static<typeof Parameter>

export const Component = Type.Object(
  {
    type: Type.String(),
    sub_type: Type.Optional(Type.String()),
    index: Type.Optional(
      Type.Union([Type.String({ maxLength: 1, pattern: '^[0-9]$' }), Type.Integer({ minimum: 0, maximum: 9 })]),
    ),
    parameters: Type.Optional(Type.Array(Parameter)),
  },
  { additionalProperties: false },
)
export type Component = Static<typeof Component>

/** The body of a send (docs/contributors/messaging-api.md#send). Unknown fields are refused, as the real API does. */
export const MessageBody = Type.Object(
  {
    messaging_product: Type.Literal('whatsapp'),
    recipient_type: Type.Optional(Type.Literal('individual')),
    to: Type.String(),
    type: Type.Literal('template'),
    template: Type.Object(
      {
        name: Type.String({ maxLength: 512 }),
        language: Type.Object(
          { code: Type.String(), policy: Type.Optional(Type.Literal('deterministic')) },
          { additionalProperties: false },
        ),
        components: Type.Optional(Type.Array(Component)),
      },
      { additionalProperties: false },
    ),
    biz_opaque_callback_data: Type.Optional(Type.String({ maxLength: 512 })),
    context: Type.Optional(Type.Object({ message_id: Type.String() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)
export type MessageBody = Static<typeof MessageBody>

const { messaging_product, recipient_type, to, biz_opaque_callback_data, context } = MessageBody.properties

/** The body of a text (docs/contributors/messaging-api.md#texts). */
export const TextBody = Type.Object(
  {
    ...{ messaging_product, recipient_type, to, biz_opaque_callback_data, context },
    type: Type.Literal('text'),
    text: Type.Object(
      { body: Type.String({ minLength: 1, maxLength: 4096 }), preview_url: Type.Optional(Type.Boolean()) },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)
export type TextBody = Static<typeof TextBody>

const strict = { additionalProperties: false }

/** The body of a text with reply buttons (docs/contributors/messaging-api.md#texts). */
export const ButtonsBody = Type.Object(
  {
    ...{ messaging_product, recipient_type, to, biz_opaque_callback_data, context },
    type: Type.Literal('interactive'),
    interactive: Type.Object(
      {
        type: Type.Literal('button'),
        body: Type.Object({ text: Type.String({ minLength: 1, maxLength: 1024 }) }, strict),
        action: Type.Object(
          {
            buttons: Type.Array(
              Type.Object(
                {
                  type: Type.Literal('reply'),
                  reply: Type.Object(
                    {
                      id: Type.String({ minLength: 1, maxLength: 256 }),
                      title: Type.String({ minLength: 1, maxLength: 20 }),
                    },
                    strict,
                  ),
                },
                strict,
              ),
              { minItems: 1, maxItems: 3 },
            ),
          },
          strict,
        ),
      },
      strict,
    ),
  },
  strict,
)
export type ButtonsBody = Static<typeof ButtonsBody>

/** A reply button. */
export type ReplyButton = ButtonsBody['interactive']['action']['buttons'][number]['reply']
