import { actionOutcomes } from '@courier/shared/contract/customer-actions.ts'
import {
  type CourierEvent,
  isOrderEvent,
  isStatusEvent,
  isUnderWay,
  readMerchantSubject,
} from '@courier/shared/contract/order-events.ts'
import type { Hours } from '../messages/hours.ts'
import { fill, fillFrom, toSource } from '../messages/placeholders.ts'
import type { MessageRequest } from '../messages/schema.ts'
import { type Content, type MessageTemplate, toTexts } from '../messaging-api/message-template.ts'
import type { Rule } from './queries.ts'

/** Returns true if the event fires the rule. A rule on a status fires when an order gets it, by creation or a move. */
export const fires = (rule: Rule, event: CourierEvent): boolean => {
  // The merchant may no longer have a phone number.
  if (!isOrderEvent(event)) return rule.event === event.type && readMerchantSubject(event).merchant_phone !== null
  return rule.event === event.type || (isStatusEvent(event.type) && rule.event === event.order.status_key)
}

export interface TenantHours {
  readonly between: Hours['between'] | null
  readonly timeZone: string
}

/** Returns the template of the rule's messages, before the order's values fill it. */
export const toTemplate = ({ template, language, components, ...texts }: Rule): MessageTemplate => ({
  name: template,
  language: { code: language },
  components: [...toTexts('header', ...texts.header), ...toTexts('body', ...texts.body), ...components],
})

/** Names a rule by what identifies it: its event, and its template and language or the word `text`. */
export const nameRule = ({ event, template, language, text }: Rule): string =>
  `${event}: ${text === null ? `${template} ${language}` : 'text'}`

/** Returns true for a reply to a customer who has just pressed a button. */
const isReply = ({ event }: Rule): boolean => actionOutcomes.some(outcome => event.endsWith(`.${outcome}`))

/**
 * Returns the rule's message. A message about an order goes to its customer, from `phoneNumberId`, the number of the
 * button in question. A message about an invoice or a bank account goes to its merchant; no edit of an order changes
 * it.
 */
export const makeMessage = (
  rule: Rule,
  event: CourierEvent,
  { between, timeZone }: TenantHours,
  phoneNumberId: string | null = null,
): MessageRequest => {
  const hours = rule.send_between ?? (isReply(rule) ? null : between)
  const settings = {
    channel: rule.phone_number_id ?? phoneNumberId,
    hold_until_open: rule.holds_until_open,
    hours: hours ? { between: hours, timeZone } : undefined,
  }
  const content: Content = rule.text === null ? toTemplate(rule) : { text: rule.text }
  if (!isOrderEvent(event)) {
    const subject = readMerchantSubject(event)
    return { ...settings, to: subject.merchant_phone ?? '', template: fill(content, subject) }
  }
  const { order } = event
  const { within_minutes: minutes } = rule
  const source = toSource(content, order, true)
  return {
    ...settings,
    to: order.customer_phone,
    ...fillFrom(source, order),
    source,
    waybill_number: order.waybill_number,
    isUnderWay: isUnderWay(order),
    ...(minutes !== null && { window: { joins: nameRule(rule), minutes, from: new Date(event.happened_at) } }),
  }
}
