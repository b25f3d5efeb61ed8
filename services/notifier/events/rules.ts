import { actionOutcomes } from '@courier/shared/contract/customer-actions.ts'
import {
  isStatusEvent,
  isUnderWay,
  type OrderEvent,
  type OrderSnapshot,
} from '@courier/shared/contract/order-events.ts'
import type { Hours } from '../messages/hours.ts'
import type { MessageRequest } from '../messages/schema.ts'
import { fillFrom, toSource } from '../messages/source.ts'
import type { Content, MessageTemplate } from '../messaging-api/message-template.ts'
import type { Rule } from './queries.ts'

/** Returns true if the event fires the rule. A status key fires when an order reaches it, by creation or a move. */
export const fires = (rule: Rule, { type, order }: OrderEvent): boolean =>
  rule.event === type || (isStatusEvent(type) && rule.event === order.status_key)

export interface TenantHours {
  readonly between: Hours['between'] | null
  readonly timeZone: string
}

/** Returns the template of the rule's messages, before the order's values fill it. */
export const toTemplate = ({ template, language, components, ...texts }: Rule): MessageTemplate => ({
  name: template,
  language: { code: language },
  components: [
    ...(['header', 'body'] as const).flatMap(type =>
      texts[type].length > 0 ? [{ type, parameters: texts[type].map(text => ({ type: 'text' as const, text })) }] : [],
    ),
    ...components,
  ],
})

const toContent = (rule: Rule): Content => (rule.text === null ? toTemplate(rule) : { text: rule.text })

/** Returns true for a reply to a customer who has just pressed a button. */
const isReply = ({ event }: Rule): boolean => actionOutcomes.some(outcome => event.endsWith(`.${outcome}`))

/** Returns the rule's message about an order, to its customer; `phoneNumberId` is that of the button in question. */
export const makeMessage = (
  rule: Rule,
  order: OrderSnapshot,
  { between, timeZone }: TenantHours,
  phoneNumberId?: string,
): MessageRequest => {
  const source = toSource(toContent(rule), order, true)
  const ownBetween = rule.send_between ?? (isReply(rule) ? null : between)
  return {
    to: order.customer_phone,
    ...fillFrom(source, order),
    source,
    channel: rule.phone_number_id ?? phoneNumberId ?? null,
    waybill_number: order.waybill_number,
    hold_until_open: rule.holds_until_open,
    isUnderWay: isUnderWay(order),
    hours: ownBetween ? { between: ownBetween, timeZone } : undefined,
  }
}
