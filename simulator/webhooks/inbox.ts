import { type Static, Type } from '@sinclair/typebox'
import { createRing } from '../basics/ring.ts'

const Phone = Type.String({
  maxLength: 16,
  pattern: '^\\+?[1-9][0-9]{5,14}$',
  must: 'be an international number in digits',
})

/** A message that a person sends to a business number. */
export const Inbound = Type.Object(
  {
    from: Phone,
    phone_number_id: Type.Optional(Type.String({ description: 'Default the first number.' })),
    name: Type.Optional(Type.String({ description: "The person's profile name." })),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'A text; STOP is one.' })),
    button: Type.Optional(
      Type.Object(
        {
          text: Type.String({ minLength: 1 }),
          payload: Type.Optional(Type.String({ description: 'Default the text.' })),
        },
        { description: 'A tap on a quick-reply button of a template, instead of a text.' },
      ),
    ),
    location: Type.Optional(
      Type.Object(
        {
          latitude: Type.Number({ minimum: -90, maximum: 90 }),
          longitude: Type.Number({ minimum: -180, maximum: 180 }),
          name: Type.Optional(Type.String()),
          address: Type.Optional(Type.String()),
        },
        { description: 'A place, instead of a text.' },
      ),
    ),
  },
  { title: 'Inbound' },
)
export type Inbound = Static<typeof Inbound>

/** A person's press of a quick reply of a message. */
export const Press = Type.Object(
  {
    message_id: Type.String(),
    index: Type.Integer({ minimum: 0, maximum: 9, description: 'The place of the button, from 0.' }),
    from: Type.Optional(Phone),
    copies: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10, description: 'How often its webhook comes; once without it.' }),
    ),
  },
  { title: 'Press' },
)
export type Press = Static<typeof Press>

/** A person's stop or resumption of marketing messages. */
export const Preference = Type.Object(
  {
    from: Phone,
    value: Type.Union([Type.Literal('stop'), Type.Literal('resume')]),
    phone_number_id: Type.Optional(Type.String({ description: 'Default the first number.' })),
  },
  { title: 'Preference' },
)
export type Preference = Static<typeof Preference>

export const InboundView = Type.Object(
  {
    id: Type.String(),
    phone_number_id: Type.String(),
    from: Type.String(),
    type: Type.String(),
    text: Type.String(),
    at: Type.String(),
  },
  { title: 'InboundMessage' },
)
export type InboundView = Static<typeof InboundView>

export const createInbox = (capacity: number) => createRing<InboundView>(capacity)
export type Inbox = ReturnType<typeof createInbox>
