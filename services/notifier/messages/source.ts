import type { InvoiceSnapshot, OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { type Content, isPlain, listTexts } from '../messaging-api/message-template.ts'
import { fillComponent, fillLines, missingField, plain } from './placeholders.ts'

/** The parts of a message that come from its order, from which the message can be made again. */
export interface Source {
  /** The texts with fields of the order as `{{customer_name}}`. */
  readonly content: Content
  /** The status and note that the message is about, which do not change with the order. */
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

/** Fills the content with the order's values. Leaves it as it is where one is `missing`. */
export const fillFrom = ({ content, event }: Source, order: OrderSnapshot) => {
  const values = { ...order, ...event }
  const texts = isPlain(content) ? [content.text] : listTexts(content).map(({ text }) => text)
  const missing = missingField(texts, values)
  return { template: missing === undefined ? fill(content, values) : content, missing }
}

/** Fills the content with the values of an order or an invoice. */
export const fill = (content: Content, order: OrderSnapshot | InvoiceSnapshot): Content =>
  isPlain(content)
    ? { text: fillLines(content.text, order) }
    : { ...content, components: content.components.map(component => fillComponent(component, order)) }
