import {
  isMerchantEvent,
  listMerchantFields,
  type MerchantSnapshot,
  merchantEvents,
  type OrderSnapshot,
  orderFields,
} from '@courier/shared/contract/order-events.ts'
import {
  type Component,
  type Content,
  isPlain,
  listTexts,
  mapTexts,
  type ParameterPart,
} from '../messaging-api/message-template.ts'

const placeholder = /\{\{([^{}]*)\}\}/g

type Values = OrderSnapshot | MerchantSnapshot

const fields = [...orderFields, ...merchantEvents.flatMap(listMerchantFields)]
const isField = (name: string): boolean => fields.includes(name)

/** Are filled in when a message that others may join leaves. */
const groupFields = ['count', 'waybill_numbers']

const listNames = (text: string): string[] => [...text.matchAll(placeholder)].map(([, name = '']) => name.trim())

export const hasPlaceholder = (text: string): boolean => text.search(placeholder) >= 0

/** Returns true if a `{{` or `}}` is left outside placeholders: it would be sent literally. */
export const isOpenPlaceholder = (text: string): boolean => /\{\{|\}\}/.test(text.replace(placeholder, ''))

/** Names what an event is about, such as `An invoice`. */
const nameSubject = (event: string): string => {
  const noun = (event.split('.')[0] ?? '').replaceAll('_', ' ')
  return `${/^[aeiou]/.test(noun) ? 'An' : 'A'} ${noun}`
}

/** Returns the error of a text that names unknown fields; undefined when the order, invoice or account has them all. */
export const placeholderError = (text: string, event = '', isPerPerson = false): string | undefined => {
  const [what, known]: [string, string[]] = isMerchantEvent(event)
    ? [nameSubject(event), listMerchantFields(event)]
    : ['An order', [...orderFields, ...(isPerPerson ? groupFields : [])]]
  const unknown = listNames(text).filter(name => !known.includes(name))
  if (unknown.length === 0) return undefined
  const named = unknown.map(name => `{{${name}}}`).join(', ')
  return `${what} has no field ${named}. It has ${known.join(', ')}.`
}

/** Returns the reason why the order's values cannot fill these texts. A null in an order is not a reason. */
const findMissing = (texts: readonly string[], order: OrderSnapshot): string | undefined =>
  order.tracking_url === undefined && texts.flatMap(listNames).includes('tracking_url')
    ? 'The order has no {{tracking_url}}: orders needs PUBLIC_URL.'
    : undefined

/** Replaces a missing value: a parameter must not be empty. */
const nothing = '-'
const maxLength = 1024

const fillField = (order: Values, placed: string): string => {
  const name = placed.trim()
  if (groupFields.includes(name)) return `{{${name}}}`
  return isField(name) ? plain(String((order as Record<string, unknown>)[name] ?? '')) || nothing : nothing
}

/** Fills `{{field}}` as the API accepts it: with one blank for blanks and line breaks, and at most 1,024 characters. */
export const fillText = (text: string, order: Values): string => {
  const filled = text.replace(placeholder, (_whole, placed: string) => fillField(order, placed))
  return clip(plain(filled)) || nothing
}

/** Finds the letters of a text, each with its marks and vowel signs. */
const letters = new Intl.Segmenter('si', { granularity: 'grapheme' })

const clip = (text: string): string =>
  text.length <= maxLength ? text.trim() : text.slice(0, letters.segment(text).containing(maxLength)?.index).trim()

/** Fills a message without a template as `fillText` does, but keeps its own line breaks. */
const fillLines = (text: string, order: Values): string =>
  clip(
    text
      .split('\n')
      .map(line => (line.trim() === '' ? '' : fillText(line, order)))
      .join('\n'),
  )

/** Fills a text whose own characters must all stay, such as a URL: cuts the order's longest values until it fits. */
const fillWhole = ({ text, maxLength, isAddress }: ParameterPart, order: Values): string => {
  const encode = (value: string): string => (isAddress ? encodeURIComponent(value) : value)
  const lengths = listNames(text).map(name => encode(fillField(order, name)).length)
  const most = divideRoom(lengths, maxLength - text.replace(placeholder, '').length)
  const filled = text.replace(placeholder, (_whole, placed: string) => cut(fillField(order, placed), most, encode))
  return plain(filled) || nothing
}

/** Returns how long each value may be so that all fit. */
const divideRoom = (lengths: readonly number[], room: number): number => {
  let left = room
  for (const [index, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (lengths.length - index))
    if (length > share) return share
    left -= length
  }
  return room
}

/** Returns as many whole letters of a value as fit once they are encoded. */
const cut = (value: string, most: number, encode: (value: string) => string): string => {
  let kept = ''
  for (const { segment } of letters.segment(value)) {
    const longer = kept + encode(segment)
    if (longer.length > most) break
    kept = longer
  }
  return kept
}

/** Fills the component's texts with the order's values; percent-encodes them in addresses. */
export const fillComponent = (component: Component, order: Values): Component => ({
  ...component,
  parameters: component.parameters.map(parameter =>
    mapTexts(component, parameter, part => {
      if (!hasPlaceholder(part.text)) return part.text
      return part.field === 'text' && !part.isAddress ? fillText(part.text, order) : fillWhole(part, order)
    }),
  ),
})

/** Makes a text well-formed; replaces each run of blanks and control characters with one blank. */
const plain = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()

/** Holds what fills a message again from its order. */
export interface Source {
  /** Holds the texts with fields of the order, such as `{{customer_name}}`. */
  readonly content: Content
  /** Holds the status and note that the message is about, which do not change with the order. */
  readonly event: Pick<OrderSnapshot, 'status_key' | 'status_name' | 'note'>
  /** The message goes to the order's customer, not to a number that staff gave. */
  readonly isToCustomer: boolean
}

export const toSource = (content: Content, order: OrderSnapshot, isToCustomer: boolean): Source => {
  const event = {
    status_key: order.status_key,
    status_name: plain(order.status_name),
    note: order.note && plain(order.note),
  }
  return { content, event, isToCustomer }
}

/** Fills the content with the order's values. Leaves it as it is if a value is `missing`. */
export const fillFrom = ({ content, event }: Source, order: OrderSnapshot) => {
  const values = { ...order, ...event }
  const texts = isPlain(content) ? [content.text] : listTexts(content).map(({ text }) => text)
  const missing = findMissing(texts, values)
  return { template: missing === undefined ? fill(content, values) : content, missing }
}

export const fill = (content: Content, order: Values): Content =>
  isPlain(content)
    ? { text: fillLines(content.text, order) }
    : { ...content, components: content.components.map(component => fillComponent(component, order)) }
