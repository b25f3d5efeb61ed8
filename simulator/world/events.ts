import type { PhoneNumber } from '../accounts/account.ts'
import { makeMessageId } from '../messages/message.ts'
import { toUserId, writePerson } from '../messages/people.ts'
import { writeHead } from '../webhooks/payloads.ts'
import { writeWindowKey } from './report.ts'
import type { World } from './world.ts'

/** `route`, `pass` and `take` change who answers the person; `answer`: the other responder writes. */
const routingEvents = ['route', 'pass', 'take', 'release', 'answer'] as const
export const personEvents = ['call', 'echo', 'change', 'marketing_stop', 'marketing_resume', ...routingEvents] as const

interface PersonEvent {
  kind: (typeof personEvents)[number]
  person: string
  /** Is the text of an echo or of the other responder, or the new phone number. */
  text?: string | undefined
}

/** Reports in a webhook what happens beside messages (docs/contributors/messaging-api.md#people). */
export const reportEvent = (world: World, number: PhoneNumber, { kind, person, text = '' }: PersonEvent): void => {
  const { behaviour, lastInbound, callback } = world
  const { phone_number_id } = number
  const phone = person.replace('+', '')
  const own = { id: makeMessageId(phone), timestamp: String(Math.floor(Date.now() / 1000)) }
  const name = (field: string, id: string) => writePerson(behaviour, phone, field, id)
  const business = writeHead(number).metadata.display_phone_number
  const send = (field: string, list: string, value: object) =>
    callback.send(phone_number_id, { field, value: { [list]: [value] } })
  if (isRouting(kind)) reportRouting(world, number, { kind, phone, own, text })
  else if (kind === 'call') {
    lastInbound.set(writeWindowKey(phone_number_id, phone), Date.now())
    const call = { to: business, event: 'connect', direction: 'USER_INITIATED' }
    send('calls', 'calls', { ...name('from', 'from_user_id'), ...own, ...call })
  } else if (kind === 'echo') {
    const content = { from: business, type: 'text', text: { body: text } }
    send('smb_message_echoes', 'message_echoes', { ...name('to', 'to_user_id'), ...own, ...content })
  } else if (kind === 'change')
    send('messages', 'messages', {
      ...name('from', 'from_user_id'),
      ...own,
      type: 'system',
      system: {
        ...(behaviour.people.startsWith('user_ids')
          ? { type: 'user_changed_user_id' }
          : { type: 'user_changed_number', body: `User changed from ${phone} to ${text}`, wa_id: text }),
        ...(behaviour.people !== 'phones' && { user_id: toUserId(text), previous_user_id: toUserId(phone) }),
      },
    })
  else {
    const preference = { category: 'marketing_messages', value: kind.slice('marketing_'.length) }
    const person = { ...name('wa_id', 'user_id'), timestamp: Number(own.timestamp) }
    send('user_preferences', 'user_preferences', { ...person, ...preference })
  }
}

type RoutingEvent = (typeof routingEvents)[number]
const isRouting = (kind: string): kind is RoutingEvent => routingEvents.some(each => each === kind)

/**
 * Changes who answers a person (docs/contributors/messaging-api.md#several-responders): a route to another responder
 * and a release come without a webhook.
 */
const reportRouting = (
  { others, callback }: World,
  { phone_number_id, display_phone_number }: PhoneNumber,
  { kind, phone, own, text }: { kind: RoutingEvent; phone: string; own: { timestamp: string }; text: string },
): void => {
  const key = writeWindowKey(phone_number_id, phone)
  const send = (field: string, value: object) => callback.send(phone_number_id, { field, value })
  if (kind === 'answer') {
    const message = { to: phone, timestamp: own.timestamp, type: 'text', text: { body: text } }
    send('standby', { standby: { message_echoes: [{ id: makeMessageId(phone), message }] } })
    return
  }
  if (kind === 'route' || kind === 'take') others.add(key)
  else others.delete(key)
  if (kind === 'route' || kind === 'release') return
  const type = kind === 'pass' ? 'control_passed' : 'control_taken'
  const roles = { previous_owner_role: 'ai_agent', new_owner_role: 'escalation' }
  const recipient = { display_phone_number, phone_number_id }
  const { timestamp } = own
  send('messaging_handovers', { recipient, sender: { phone_number: phone }, timestamp, type, [type]: roles })
}
