import { type Static, Type } from '@sinclair/typebox'
import { createRing } from '../basics/ring.ts'

const Phone = Type.String({
  maxLength: 16,
  pattern: '^\\+?[1-9][0-9]{5,14}$',
  must: 'be an international number in digits',
})

/** What a person sends to a business number. */
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
  },
  { title: 'Inbound' },
)
export type Inbound = Static<typeof Inbound>

/** A person stops or resumes marketing messages. */
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
