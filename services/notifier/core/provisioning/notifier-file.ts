import { actionOutcomes, immediateActions } from '@courier/shared/contract/customer-actions.ts'
import { merchantEvents } from '@courier/shared/contract/order-events.ts'
import { closed } from '@courier/shared/schemas.ts'
import { type Static, type TString, Type } from '@sinclair/typebox'
import { MessagesPerSecond, Name, PhoneNumberId, Pin, Plan, Secret, VerifyToken } from '../channels/fields.ts'
import {
  CouponCode,
  LanguageCode,
  Location,
  MediaLink,
  ParameterName,
  ParameterText,
  Payload,
  PlainTextBody,
  TemplateName,
} from '../messaging-api/message-template.ts'

/** Accepts the secret itself, or the name of the environment variable that has it. */
const orVariable = (schema: TString) =>
  Type.Union([schema, closed({ env: Type.String({ maxLength: 255, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }) })], {
    must: `${schema.must}, or {"env": NAME}`,
  })

const Words = Type.Array(
  Type.String({ minLength: 1, maxLength: 64, pattern: '\\S', must: 'be a text of 1 to 64 characters' }),
  { maxItems: 50, must: 'be a list of at most 50 words' },
)

const Channel = closed({
  phone_number_id: PhoneNumberId,
  name: Name,
  plan: Plan,
  default: Type.Optional(Type.Boolean()),
  access_token: orVariable(Secret),
  app_secret: orVariable(Secret),
  verify_token: orVariable(VerifyToken),
  waba_id: Type.Optional(PhoneNumberId),
  pin: Type.Optional(orVariable(Pin)),
  messages_per_second: Type.Optional(MessagesPerSecond),
})

/** Has the form that orders accepts (shared/contract/customer-actions.ts). */
const Action = Type.String({
  maxLength: 63,
  pattern: '^[a-z][a-z0-9_]{0,62}$',
  must: `be ${immediateActions.join(', ')}, or the name of a request such as call_me`,
})

/** Gives a button its value: the end of its address, a press's payload, the requested action, or the code to copy. */
const Button = closed(
  {
    index: Type.Integer({ minimum: 0, maximum: 9, must: 'be the position of the button, 0 to 9' }),
    url: Type.Optional(ParameterText),
    payload: Type.Optional(Payload),
    action: Type.Optional(Action),
    code: Type.Optional(CouponCode),
  },
  { minProperties: 2, maxProperties: 2, must: 'have an index, and one of url, payload, action and code' },
)

const maxRules = 100
/** The maximum exceeds the needs of any template; it bounds the messages that a rule creates for 500 events. */
const maxRuleParameters = 20

const SendBetween = Type.Array(
  Type.String({ maxLength: 5, pattern: '^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$', must: 'be a time such as 08:00' }),
  { minItems: 2, maxItems: 2, must: 'be a start and an end, such as ["08:00", "20:00"]' },
)

const outcomes = [...actionOutcomes, 'accepted', 'declined'].join('|')

const EventName = Type.String({
  maxLength: 80,
  // Includes the pattern of status keys that orders accepts in a tenant's file.
  pattern: `^(order\\.created|order\\.status_changed|${merchantEvents.join('|').replaceAll('.', '\\.')}|[a-z0-9][a-z0-9_-]{0,62}|[a-z][a-z0-9_]{0,62}\\.(${outcomes}))$`,
  must: `be order.created, order.status_changed, ${merchantEvents.join(', ')}, a status key such as key_13, or an outcome such as confirm_order.done`,
})

/** Turns an event into a message; its texts may name fields of the order or invoice, such as {{customer_name}}. */
const Rule = closed({
  on: EventName,
  template: Type.Optional(TemplateName),
  language: Type.Optional(LanguageCode),
  text: Type.Optional(PlainTextBody),
  header: Type.Optional(Type.Array(ParameterText, { maxItems: 1 })),
  body: Type.Optional(Type.Array(ParameterText, { maxItems: maxRuleParameters })),
  named_body: Type.Optional(
    Type.Record(ParameterName, ParameterText, {
      additionalProperties: false,
      maxProperties: maxRuleParameters,
      must: `be an object of at most ${maxRuleParameters} texts by the names of their parameters`,
    }),
  ),
  header_image: Type.Optional(MediaLink),
  header_video: Type.Optional(MediaLink),
  header_document: Type.Optional(MediaLink),
  header_location: Type.Optional(Location),
  buttons: Type.Optional(Type.Array(Button, { maxItems: 10 })),
  channel: Type.Optional(PhoneNumberId),
  hold_until_open: Type.Optional(Type.Boolean()),
  send_between: Type.Optional(SendBetween),
  supersedes: Type.Optional(Type.Array(EventName, { maxItems: 20, must: 'be a list of at most 20 events' })),
  expires_after_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 72, must: 'be a whole number from 1 to 72' })),
  pause_on_category_change: Type.Optional(Type.Boolean()),
})

export const NotifierFile = closed({
  tenant: closed({
    id: Type.String({
      maxLength: 63,
      pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
      must: 'be 1 to 63 of a-z, 0-9, _ and -',
    }),
    country: Type.String({ maxLength: 2, pattern: '^[A-Z]{2}$', must: 'be a country code such as LK' }),
    stop_words: Type.Optional(Words),
    start_words: Type.Optional(Words),
    resend_unknown: Type.Optional(Type.Boolean()),
    send_between: Type.Optional(SendBetween),
    time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64, must: 'be a time zone such as Asia/Colombo' })),
    opt_out: Type.Optional(closed({ exempt: Type.Literal('parcel_under_way', { must: 'be parcel_under_way' }) })),
    currency: Type.Optional(Type.String({ maxLength: 3, pattern: '^[A-Z]{3}$', must: 'be a currency such as USD' })),
  }),
  channels: Type.Array(Channel),
  rules: Type.Optional(Type.Array(Rule, { maxItems: maxRules })),
})
export type NotifierFile = Static<typeof NotifierFile>
export type GivenRule = NonNullable<NotifierFile['rules']>[number]
