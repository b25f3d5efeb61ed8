import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Outage, statusWords } from '../trouble/trouble.ts'
import { personEvents } from '../world/events.ts'

const Phone = Type.String({
  maxLength: 16,
  pattern: '^\\+?[1-9][0-9]{5,14}$',
  must: 'be an international number in digits',
})
const PhoneNumberId = Type.Optional(Type.String({ description: 'Default: the first number.' }))

export const Inbound = closed({
  from: Phone,
  phone_number_id: PhoneNumberId,
  name: Type.Optional(Type.String({ description: "The person's profile name." })),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'The text, such as STOP.' })),
  button: Type.Optional(
    closed(
      {
        text: Type.String({ minLength: 1 }),
        payload: Type.Optional(Type.String({ description: 'Default: the text.' })),
      },
      { description: 'A tap on a quick-reply button of a template, instead of a text.' },
    ),
  ),
  location: Type.Optional(
    closed(
      {
        latitude: Type.Number({ minimum: -90, maximum: 90 }),
        longitude: Type.Number({ minimum: -180, maximum: 180 }),
        name: Type.Optional(Type.String()),
        address: Type.Optional(Type.String()),
      },
      { description: 'A location, instead of a text.' },
    ),
  ),
  message: Type.Optional(
    Type.Intersect([Type.Object({ type: Type.String() }), Type.Record(Type.String(), Type.Unknown())], {
      description: 'Any other content, as the real API writes it.',
    }),
  ),
})
export type Inbound = Static<typeof Inbound>

export const Press = closed({
  message_id: Type.String(),
  index: Type.Integer({ minimum: 0, maximum: 9, description: 'The position of the button, from 0.' }),
  from: Type.Optional(Phone),
  copies: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10, description: 'The number of times that its webhook is sent. Default: 1.' }),
  ),
})
export type Press = Static<typeof Press>

export const PersonEvent = closed({
  kind: oneOf(personEvents, {
    description:
      'change: the person has a new phone number, and so a new user id. route, take: another responder answers; pass, release: we do; answer: the other responder writes.',
  }),
  person: Phone,
  text: Type.Optional(Type.String({ description: 'The text of an echo, or the new phone number in digits.' })),
  phone_number_id: PhoneNumberId,
})
export type PersonEvent = Static<typeof PersonEvent>

export const FieldChange = closed({
  field: Type.String({ minLength: 1, maxLength: 100, description: 'The name of the field, such as security.' }),
  value: Type.Record(Type.String(), Type.Unknown(), { description: 'The value, as the real API writes it.' }),
  entry_id: Type.Optional(Type.String({ description: 'Default: the account of the number.' })),
  phone_number_id: PhoneNumberId,
})
export type FieldChange = Static<typeof FieldChange>

export const StatusReport = closed({
  message_id: Type.String(),
  status: oneOf(statusWords),
  code: Type.Optional(Type.Integer({ minimum: 0 })),
})
export type StatusReport = Static<typeof StatusReport>

export const OutageMode = closed({ mode: Outage })

const Count = Type.String({ maxLength: 6, pattern: '^[0-9]{1,6}$', must: 'be a whole number' })
export const ListQuery = Type.Object({ limit: Type.Optional(Count) })
export const MessageQuery = Type.Object({
  to: Type.Optional(Type.String({ description: 'The recipient; characters other than digits are ignored.' })),
  phone_number_id: Type.Optional(Type.String()),
  limit: Type.Optional(Count),
})
