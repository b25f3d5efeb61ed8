import { type Static, Type } from '@sinclair/typebox'
import type { PhoneNumber } from '../accounts/account.ts'
import { createRing } from '../ring.ts'
import { messageId } from '../send/message-id.ts'
import type { World } from '../world.ts'

const Phone = Type.String({ pattern: '^\\+?[1-9][0-9]{5,14}$', must: 'be an international number in digits' })

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
          message_id: Type.Optional(
            Type.String({ description: 'Of the template; default the last one to this person.' }),
          ),
        },
        { description: 'A tap on a quick-reply button of a template, instead of a text.' },
      ),
    ),
  },
  { title: 'Inbound' },
)
export type Inbound = Static<typeof Inbound>

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

/** Takes a person's message and tells the callback of the number (messaging-api 4.5). */
export const receive = (world: World, number: PhoneNumber, { from, name, text, button }: Inbound): InboundView => {
  const person = from.replace('+', '')
  const at = world.clock.now()
  const id = messageId(person)
  const content = button ? tap(world, number, person, button) : { type: 'text', text: { body: text ?? '' } }
  const message = { from: person, id, timestamp: String(Math.floor(at / 1000)), ...content }
  const contact = { profile: { name: name ?? person }, wa_id: person }
  const view = {
    id,
    phone_number_id: number.phone_number_id,
    from: person,
    type: content.type,
    text: button?.text ?? text ?? '',
    at: new Date(at).toISOString(),
  }
  world.inbox.push(view)
  world.callback.tell(number.phone_number_id, { field: 'messages', contact, message })
  return view
}

const tap = (world: World, number: PhoneNumber, person: string, button: NonNullable<Inbound['button']>) => {
  const id = button.message_id ?? world.messages.lastTo(number.phone_number_id, person)?.id
  return {
    type: 'button',
    button: { payload: button.payload ?? button.text, text: button.text },
    ...(id !== undefined && { context: { from: number.display_phone_number.replace(/\D/g, ''), id } }),
  }
}
