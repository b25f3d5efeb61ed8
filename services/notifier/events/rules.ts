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
import type { Component, Content, MessageTemplate } from '../messaging-api/message-template.ts'

/** A rule turns an event into a message. */
export interface Rule {
  /** The type of an event, or the key of a status that an order reaches. */
  readonly event: string
  /** The text replaces a template, whose name and language are then empty. */
  readonly text: string | null
  readonly template: string
  readonly language: string
  /** Texts of the parameters, with fields of the order as `{{customer_name}}`. */
  readonly header: readonly string[]
  readonly body: readonly string[]
  /** A header of another kind, buttons, and a body with names. */
  readonly components: readonly Component[]
  /** null: the number of the button that the event is about, else the default one. */
  readonly phoneNumberId: string | null
  readonly holdsUntilOpen: boolean
  /** null: the tenant's hours; for replies, any time. */
  readonly sendBetween: Hours['between'] | null
  /** Messages about the waybill made by rules on these events are no longer sent. */
  readonly supersedes: readonly string[]
  /** null: the default of every message. */
  readonly expiresAfterHours: number | null
  /**
   * When the platform changes the category of its template, the rule makes no messages until the rules are applied
   * again.
   */
  readonly pausesOnCategoryChange: boolean
  /** null: the rule is not paused. */
  readonly pausedReason: string | null
}

/**
 * Returns true if the event fires the rule. A status key fires when an order reaches that status, by creation or by a
 * move.
 */
export const fires = (rule: Rule, { type, order }: OrderEvent): boolean =>
  rule.event === type || (isStatusEvent(type) && rule.event === order.status_key)

/** A tenant's hours, for the rules that name none. */
export interface TenantHours {
  readonly between: Hours['between'] | null
  readonly timeZone: string
}

/** Returns the template of the rule's messages, before the order's values fill it. */
export const templateOf = ({ template, language, components, ...texts }: Rule): MessageTemplate => ({
  name: template,
  language: { code: language },
  components: [
    ...(['header', 'body'] as const).flatMap(type =>
      texts[type].length > 0 ? [{ type, parameters: texts[type].map(text => ({ type: 'text' as const, text })) }] : [],
    ),
    ...components,
  ],
})

/** Returns the content of the rule's messages, before the order's values fill it. */
const contentOf = (rule: Rule): Content => (rule.text === null ? templateOf(rule) : { text: rule.text })

/** Returns true for a reply to a customer who has just pressed a button. */
const isReply = ({ event }: Rule): boolean => actionOutcomes.some(outcome => event.endsWith(`.${outcome}`))

/** Returns the rule's message about an order, to its customer; `phoneNumberId` is that of the button in question. */
export const messageOf = (
  rule: Rule,
  order: OrderSnapshot,
  { between, timeZone }: TenantHours,
  phoneNumberId?: string,
): MessageRequest => {
  const source = toSource(contentOf(rule), order, true)
  const ownBetween = rule.sendBetween ?? (isReply(rule) ? null : between)
  return {
    to: order.customer_phone,
    ...fillFrom(source, order),
    source,
    channel: rule.phoneNumberId ?? phoneNumberId ?? null,
    waybill_number: order.waybill_number,
    hold_until_open: rule.holdsUntilOpen,
    isUnderWay: isUnderWay(order),
    hours: ownBetween ? { between: ownBetween, timeZone } : undefined,
  }
}
