import type { PhoneNumber } from '../accounts/account.ts'
import { askNumber } from '../messages/bodies.ts'
import { type Message, makeMessageId } from '../messages/message.ts'
import { writeContact, writePerson } from '../messages/people.ts'
import type { StatusWord } from '../trouble/trouble.ts'
import { findPriceCategory, writeHead, writeStatus } from '../webhooks/payloads.ts'
import type { InboundView, World } from './world.ts'

/** Sets the delay of each status after the previous one, in milliseconds at delay factor 1. */
const usualDelayMs = { sent: 500, delivered: 1_500, read: 8_000 }

/** Plans the statuses of an accepted message, with delays between half and one and a half times the usual. */
export const planStatuses = (world: World, message: Message): void => {
  let delayMs = 0
  for (const status of ['sent', 'delivered', 'read'] as const) {
    delayMs += usualDelayMs[status] * (0.5 + Math.random()) * world.behaviour.delay_factor
    world.clock.after(delayMs, () => reportStatus(world, message, status))
  }
}

/** Stores a status that a message has now, and sends it in a webhook. */
export const reportStatus = (world: World, message: Message, status: StatusWord, code = 131000): void => {
  const step = { status, at: Date.now(), ...(status === 'failed' && { code }) }
  const event = writeStatus(message, step, isFree(world, message), world.behaviour)
  message.statuses.push(step)
  world.callback.send(message.phoneNumberId, { status: event })
}

/**
 * Returns true for a message that costs nothing (docs/contributors/messaging-api.md#pricing): with the prices of before
 * October 2026 a utility template within an open window, since then the first service messages of a number and month.
 */
const isFree = (world: World, message: Message): boolean => {
  const { phoneNumberId, to, acceptedAt } = message
  const category = findPriceCategory(message)
  if (world.behaviour.prices === '2025-07')
    return category === 'utility' && isOpen(world, phoneNumberId, to, acceptedAt)
  if (category !== 'service') return false
  const key = `${phoneNumberId} ${new Date(acceptedAt).toISOString().slice(0, 7)}`
  const counted = world.serviceMessages.get(key) ?? new Set<string>()
  world.serviceMessages.set(key, counted)
  if (counted.size < world.behaviour.free_service_messages) counted.add(message.id)
  return counted.has(message.id)
}

/** Returns true for a message that is accepted and never delivered, because nobody can be charged for it. */
export const isUnpaid = (world: World, message: Message): boolean =>
  !world.behaviour.payment_method &&
  world.behaviour.prices !== '2025-07' &&
  findPriceCategory(message) === 'service' &&
  !isFree(world, message)

const windowMs = 86_400_000
export const writeWindowKey = (phoneNumberId: string, person: string): string => `${phoneNumberId} ${person}`

/** Returns true if texts may be sent to the person (docs/contributors/messaging-api.md#conversations). */
export const isOpen = ({ lastInbound }: World, phoneNumberId: string, person: string, at = Date.now()): boolean =>
  at - (lastInbound.get(writeWindowKey(phoneNumberId, person)) ?? 0) < windowMs

/** Describes a message from a person: a text, a location, or a tap on a button of the message `to`. */
export interface Inbound {
  from: string
  name?: string | undefined
  text?: string | undefined
  location?: { name?: string; address?: string } | undefined
  button?: { text: string; payload?: string } | undefined
  /** Holds any other content, as the real API writes it. */
  message?: { [field: string]: unknown; type: string } | undefined
  to?: Message | undefined
}

/** Stores a person's message, and posts it `copies` times (docs/contributors/messaging-api.md#inbound-messages). */
export const receive = (world: World, number: PhoneNumber, inbound: Inbound, copies = 1): InboundView => {
  const { name, text, button, location, message: given } = inbound
  const phone_number_id = number.phone_number_id
  const from = inbound.from.replace('+', '')
  const at = Date.now()
  const id = makeMessageId(from)
  const isNumberShared = button?.payload === askNumber.id
  const content = isNumberShared
    ? { type: 'contacts', contacts: [{ origin: 'contact_request', phones: [{ phone: `+${from}`, wa_id: from }] }] }
    : given
      ? given
      : button
        ? writeTap(number, button, inbound.to ?? world.messages.list({ phone_number_id, to: from }).next().value)
        : location
          ? { type: 'location', location }
          : { type: 'text', text: { body: text } }
  const person = writePerson(world.behaviour, from, 'from', 'from_user_id')
  const message = { ...person, id, timestamp: String(Math.floor(at / 1000)), ...content }
  const contact = writeContact(world.behaviour, from, name)
  const shown = button?.text ?? text ?? [location?.name, location?.address].filter(Boolean).join(', ')
  const view = { id, phone_number_id, from, type: content.type, text: shown, at: new Date(at).toISOString() }
  world.inbox.push(view)
  world.lastInbound.set(writeWindowKey(phone_number_id, from), at)
  const isOthers = world.others.has(writeWindowKey(phone_number_id, from))
  const standby = { field: 'standby', value: { standby: { contacts: [contact], messages: [message] } } }
  for (let copy = 0; copy < copies; copy++)
    world.callback.send(phone_number_id, isOthers ? standby : { contact, message })
  return view
}

/** Builds a tap's message. The webhook gives a reply button a different type from a template's button. */
const writeTap = (number: PhoneNumber, { text, payload = text }: NonNullable<Inbound['button']>, message?: Message) => {
  const isReply = message?.replies.some(reply => reply.id === payload)
  return {
    ...(isReply
      ? { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: payload, title: text } } }
      : { type: 'button', button: { payload, text } }),
    ...(message && { context: { from: writeHead(number).metadata.display_phone_number, id: message.id } }),
  }
}
