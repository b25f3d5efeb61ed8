import type { PhoneNumber } from '../accounts/account.ts'
import { type Message, messageId } from '../messages/message.ts'
import type { StatusStep } from '../trouble/trouble.ts'
import type { Inbound, InboundView } from '../webhooks/inbox.ts'
import { statusOf, userIdOf } from '../webhooks/payloads.ts'
import type { World } from './world.ts'

/** The delay of a status after the one before it, in milliseconds, before the delay factor. */
const usualDelayMs = { sent: 500, delivered: 1_500, read: 8_000 }

/** Plans the statuses of an accepted message, with delays between half and one and a half of the usual. */
export const planStatuses = (world: World, message: Message): void => {
  let delayMs = 0
  for (const status of ['sent', 'delivered', 'read'] as const) {
    delayMs += usualDelayMs[status] * (0.5 + Math.random()) * world.behaviour.delay_factor
    world.clock.after(delayMs, () => reportStatus(world, message, { status }, Date.now()))
  }
}

/** Stores the status of a message and sends it to the callback of its number; `at` is when it happened. */
export const reportStatus = (world: World, message: Message, step: StatusStep, at: number): void => {
  message.statuses.push({ status: step.status, at, code: step.status === 'failed' ? (step.code ?? 131000) : undefined })
  const lastInbound = world.lastInbound.get(windowKey(message.phoneNumberId, message.to)) ?? 0
  const status = statusOf(message, step, at, message.acceptedAt - lastInbound < windowMs)
  const ids = world.behaviour.user_ids && { recipient_user_id: userIdOf(message.to) }
  const contact = ids ? { wa_id: message.to, user_id: ids.recipient_user_id } : undefined
  world.callback.send(message.phoneNumberId, { status: { ...status, ...ids }, contact })
}

const windowMs = 86_400_000
const windowKey = (phoneNumberId: string, person: string): string => `${phoneNumberId} ${person}`

/**
 * Stores a person's message and sends it to the callback of the number
 * (docs/contributors/messaging-api.md#inbound-messages).
 */
export const receive = (
  world: World,
  number: PhoneNumber,
  { from, name, text, button, location }: Inbound,
  { copies = 1, repliesTo }: { copies?: number | undefined; repliesTo?: Message } = {},
): InboundView => {
  const person = from.replace('+', '')
  const at = Date.now()
  const id = messageId(person)
  const content = button
    ? tap(number, button, repliesTo ?? world.messages.lastTo(number.phone_number_id, person))
    : location
      ? { type: 'location', location }
      : { type: 'text', text: { body: text ?? '' } }
  const user_id = world.behaviour.user_ids ? userIdOf(person) : undefined
  const sender = { from: person, ...(user_id && { from_user_id: user_id }) }
  const message = { ...sender, id, timestamp: String(Math.floor(at / 1000)), ...content }
  const contact = { profile: { name: name ?? person }, wa_id: person, ...(user_id && { user_id }) }
  const view = {
    id,
    phone_number_id: number.phone_number_id,
    from: person,
    type: content.type,
    text: button?.text ?? text ?? [location?.name, location?.address].filter(Boolean).join(', '),
    at: new Date(at).toISOString(),
  }
  world.inbox.push(view)
  world.lastInbound.set(windowKey(number.phone_number_id, person), at)
  for (let copy = 0; copy < copies; copy++) world.callback.send(number.phone_number_id, { contact, message })
  return view
}

/** Returns true if texts may be sent to the person (docs/contributors/messaging-api.md#conversations). */
export const isOpen = ({ lastInbound }: World, phoneNumberId: string, person: string): boolean =>
  Date.now() - (lastInbound.get(windowKey(phoneNumberId, person)) ?? 0) < windowMs

/** A reply button returns under another name than a template's button. */
const tap = (number: PhoneNumber, { text, payload = text }: NonNullable<Inbound['button']>, message?: Message) => {
  const id = message?.id
  const isReply = message?.replies.some(reply => reply.id === payload)
  return {
    ...(isReply
      ? { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: payload, title: text } } }
      : { type: 'button', button: { payload, text } }),
    ...(id !== undefined && { context: { from: number.display_phone_number.replace(/\D/g, ''), id } }),
  }
}
