import type { Owner } from '../conversations/conversation.ts'
import { type Json, parse, toList, toRecord } from '../messaging-api/read-json.ts'
import { readContent, readId, readText, readTime } from './json.ts'
import { readDigits, readPerson } from './person.ts'

/** Limits texts, which are cut, and everything else that staff read. */
const maxText = 5_000
const maxLabel = 1_024

/** Reads a message that a person wrote; undefined for one in a group or from nobody, and for a system message. */
export const readInbound = (phoneNumberId: string, value: Json, contacts: readonly Json[], now: Date) => {
  const messageId = readId(value.id)
  const content = readMessage(value)
  const context = readId(toRecord(value.context).id)
  const ids = [value.from_user_id, value.from_parent_user_id]
  const person = readPerson([value.from, readSharedNumber(value)], ids, contacts)
  const isNamed = person !== undefined || (content.payload !== undefined && context !== undefined)
  if (messageId === undefined || !isNamed || value.group_id !== undefined || value.type === 'system') return undefined
  const at = readTime(value.timestamp, now)
  return { kind: 'inbound' as const, phoneNumberId, ...person, messageId, at, context, ...content }
}

/** Reads a call of a person, which opens the conversation as a message does. */
export const readCall = (phoneNumberId: string, value: Json, contacts: readonly Json[], now: Date) =>
  value.event === 'connect' && value.direction !== 'BUSINESS_INITIATED'
    ? readInbound(phoneNumberId, { ...value, type: 'call' }, contacts, now)
    : undefined

/** Reads a message that the company's phone app, or another responder, sent to a person. */
export const readEcho = (phoneNumberId: string, outer: Json, contacts: readonly Json[], now: Date) => {
  // Another responder's message has its content one level deeper.
  const value: Json = { ...toRecord(outer.message), ...outer }
  const messageId = readId(value.id)
  const person = readPerson([value.to], [value.to_user_id, value.to_parent_user_id], contacts)
  if (messageId === undefined || !person || value.group_id !== undefined) return undefined
  return {
    kind: 'echo' as const,
    phoneNumberId,
    ...person,
    messageId,
    at: readTime(value.timestamp, now),
    ...readMessage(value),
  }
}

/**
 * Reads who answers a person from now on: the platform says to the new owner that control was passed, to the previous
 * one that it was taken. It comes after the messages of its second.
 */
export const readHandover = (phoneNumberId: string, value: Json, contacts: readonly Json[], now: Date) => {
  const { phone_number, wa_id, user_id } = toRecord(value.sender)
  const person = readPerson([phone_number, wa_id], [user_id], contacts)
  const owner = handovers.get(value.type)
  if (!person || !owner) return undefined
  return { kind: 'owner' as const, phoneNumberId, ...person, owner, at: readHandoverTime(value.timestamp, now) }
}
const handovers = new Map<unknown, Owner>([
  ['control_passed', 'ours'],
  ['control_taken', 'other'],
])

const readHandoverTime = (value: unknown, now: Date): Date => {
  const at = readTime(value, now)
  return at < now ? new Date(at.getTime() + 1) : at
}

/** Reads the system message about a new phone number or user id. The person wrote nothing. */
export const readChange = (phoneNumberId: string, value: Json, _contacts: readonly Json[], now: Date) => {
  const { type, customer, wa_id, new_wa_id, ...ids } = toRecord(value.system)
  const { user_id, parent_user_id, previous_user_id, previous_parent_user_id } = ids
  const messageId = readId(value.id)
  if (messageId === undefined || !changes.includes(type)) return undefined
  const before = readPerson([customer, value.from], [previous_user_id, previous_parent_user_id])
  const person = readPerson([wa_id, new_wa_id], [user_id, parent_user_id])
  if (!before || !person) return undefined
  return { kind: 'change' as const, phoneNumberId, messageId, at: readTime(value.timestamp, now), before, ...person }
}

const changes: readonly unknown[] = ['user_changed_number', 'customer_changed_number', 'user_changed_user_id']

/** Reads the number that a person shared because a message of ours asked for it. */
const readSharedNumber = (value: Json): unknown => {
  const { origin, phones } = toRecord(toList(value.contacts)[0])
  const { wa_id, phone } = toRecord(toList(phones)[0])
  return value.type === 'contacts' && origin === 'contact_request'
    ? (readDigits(wa_id) ?? readText(phone, 40)?.replace(/\D/g, ''))
    : undefined
}

/** Reads the content of a message; of an edit, the content that is the newer one. A deletion has none. */
const readMessage = (outer: Json) => {
  const edit = toRecord(outer.type === 'edit' ? outer.edit : outer.type === 'revoke' && outer.revoke)
  const value = outer.type === 'edit' ? { type: 'edit', ...toRecord(edit.message) } : outer
  const { button_reply, list_reply, nfm_reply, call_permission_reply } = toRecord(value.interactive)
  const [button, reply, item] = [toRecord(value.button), toRecord(button_reply), toRecord(list_reply)]
  const type = readText(value.type, 30) ?? 'unknown'
  const content = toRecord(value[type])
  const location = readLocation(toRecord(value.location))
  const label = button.text ?? reply.title ?? item.title ?? content.caption ?? content.filename ?? content.emoji
  const shown = readForm(toRecord(nfm_reply)) ?? readPermission(toRecord(call_permission_reply))
  const other = location ?? readCards(value.contacts) ?? shown ?? label ?? readOrder(content)
  const pressed = [button.text, button.payload, reply.title, reply.id, item.title, item.id]
  return {
    type,
    /** Is the API's id of the message that this one replaces. */
    edits: readId(edit.original_message_id),
    text: readContent(toRecord(value.text).body, maxText),
    /** Shows staff any other content: a location, contact cards, a form, a label, a caption, the name of a file. */
    label: readContent(other, maxLabel),
    mediaId: readId(content.id),
    /** Shows a location that the person shared: its name, address and coordinates. */
    location: readContent(location, maxLabel),
    payload: readText(button.payload ?? reply.id, 500),
    /** Holds the text of the pressed button or list item, and its value. */
    buttons: pressed.map(label => readContent(label, 500)).filter(label => label !== undefined),
  }
}

const readLocation = ({ latitude, longitude, name, address }: Json): string | undefined => {
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined
  return `${joinTexts([name, address])} (${latitude}, ${longitude})`.trim()
}

const joinTexts = (texts: readonly unknown[]): string =>
  texts.flatMap(text => readContent(text, maxLabel) ?? []).join(', ')

/** Shows each contact card in a line: its name and numbers. */
const readCards = (cards: unknown): string | undefined => {
  const lines = toList(cards)
    .map(toRecord)
    .map(({ name, phones }) => {
      const numbers = toList(phones)
        .map(toRecord)
        .map(({ phone, wa_id }) => phone ?? wa_id)
      return joinTexts([toRecord(name).formatted_name, ...numbers])
    })
  return lines.join('\n') || undefined
}

/** Shows the text of an order, or of other content, and each item in a line: its quantity, id and price. */
const readOrder = ({ text, product_items }: Json): string | undefined => {
  const items = toList(product_items)
    .map(toRecord)
    .flatMap(({ quantity, product_retailer_id, item_price, currency }) => {
      const price = readId(item_price) && ` (${[item_price, readText(currency, 10)].filter(Boolean).join(' ')})`
      return readId(product_retailer_id) ? `${readId(quantity) ?? '?'} × ${product_retailer_id}${price ?? ''}` : []
    })
  return [...(readContent(text, maxLabel) ? [readContent(text, maxLabel)] : []), ...items].join('\n') || undefined
}

const readPermission = ({ response }: Json): string | undefined => {
  const word = readText(response, 40)
  return word && `call permission: ${word}`
}

/** Shows the fields of a form that the person filled in; an address form has them in `values`. */
const readForm = ({ body, response_json: json }: Json): string | undefined => {
  const { values, ...others } = toRecord(parse(typeof json === 'string' ? json : ''))
  const fields = Object.entries({ ...toRecord(values), ...others })
  const shown = fields.filter(([name, value]) => name !== 'flow_token' && ['string', 'number'].includes(typeof value))
  return shown.map(([name, value]) => `${name}: ${value}`).join('\n') || readContent(body, maxLabel)
}
