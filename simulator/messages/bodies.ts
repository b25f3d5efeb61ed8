import { closed } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

const OptionalText = Type.Optional(Type.String())
const Media = Type.Object({ id: OptionalText, link: OptionalText, filename: OptionalText })
const Fallback = Type.Object({ fallback_value: Type.String() })

/**
 * See docs/contributors/messaging-api.md#components. The check against the template decides which of these fields a
 * part takes.
 */
const Parameter = closed({
  type: Type.String(),
  parameter_name: OptionalText,
  text: OptionalText,
  image: Type.Optional(Media),
  document: Type.Optional(Media),
  video: Type.Optional(Media),
  location: Type.Optional(Type.Object({})),
  currency: Type.Optional(Fallback),
  date_time: Type.Optional(Fallback),
  payload: OptionalText,
  coupon_code: OptionalText,
})
export type Parameter = Static<typeof Parameter>

const Component = closed({
  type: Type.String(),
  sub_type: OptionalText,
  index: Type.Optional(
    Type.Union([Type.String({ maxLength: 1, pattern: '^[0-9]$' }), Type.Integer({ minimum: 0, maximum: 9 })]),
  ),
  parameters: Type.Optional(Type.Array(Parameter)),
})
export type Component = Static<typeof Component>

/** Lists the fields of any send (docs/contributors/messaging-api.md#send). As in the real API, others are refused. */
const common = {
  messaging_product: Type.Literal('whatsapp'),
  recipient_type: Type.Optional(Type.Literal('individual')),
  to: OptionalText,
  /** Names a person by the user id. */
  recipient: OptionalText,
  biz_opaque_callback_data: Type.Optional(Type.String({ maxLength: 512 })),
}

export const TemplateBody = closed({
  ...common,
  type: Type.Literal('template'),
  template: closed({
    name: Type.String({ maxLength: 512 }),
    language: closed({ code: Type.String(), policy: Type.Optional(Type.Literal('deterministic')) }),
    components: Type.Optional(Type.Array(Component)),
  }),
})

/** See docs/contributors/messaging-api.md#texts. */
export const TextBody = closed({
  ...common,
  type: Type.Literal('text'),
  text: closed({
    body: Type.String({ minLength: 1, maxLength: 4096 }),
    preview_url: Type.Optional(Type.Boolean()),
  }),
})

const Reply = closed({
  id: Type.String({ minLength: 1, maxLength: 256 }),
  title: Type.String({ minLength: 1, maxLength: 20 }),
})
export type Reply = Static<typeof Reply>

/** Describes a text with reply buttons (docs/contributors/messaging-api.md#texts). */
export const ButtonsBody = closed({
  ...common,
  type: Type.Literal('interactive'),
  interactive: closed({
    type: Type.Literal('button'),
    body: closed({ text: Type.String({ minLength: 1, maxLength: 1024 }) }),
    action: closed({
      buttons: Type.Array(closed({ type: Type.Literal('reply'), reply: Reply }), { minItems: 1, maxItems: 3 }),
    }),
  }),
})

/** Marks a message of a person as read (docs/contributors/messaging-api.md#texts). */
export const ReadBody = closed({
  messaging_product: common.messaging_product,
  status: Type.Literal('read'),
  message_id: Type.String(),
  typing_indicator: Type.Optional(closed({ type: Type.Literal('text') })),
})

/** Asks a person for the phone number (docs/contributors/messaging-api.md#people). */
export const AskNumberBody = closed({
  ...common,
  type: Type.Literal('interactive'),
  interactive: closed({
    type: Type.Literal('request_contact_info'),
    body: closed({ text: Type.String({ minLength: 1, maxLength: 1024 }) }),
    action: closed({ name: Type.Literal('request_contact_info') }),
  }),
})
export type MessageBody =
  | Static<typeof TemplateBody>
  | Static<typeof TextBody>
  | Static<typeof ButtonsBody>
  | Static<typeof AskNumberBody>

/** Is the button of a message that asks for the phone number. */
export const askNumber = { id: 'request_contact_info', title: 'Share phone number' }
