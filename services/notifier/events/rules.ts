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

/** Which event makes which message. */
export interface Rule {
  /** The type of an event, or the key of a status that an order reaches. */
  readonly event: string
  /** In place of a template, whose name and language are then empty. */
  readonly text: string | null
  readonly template: string
  readonly language: string
  /** Texts of the parameters, with fields of the order as `{{customer_name}}`. */
  readonly header: readonly string[]
  readonly body: readonly string[]
  /** A header of another kind, buttons, and a body with names. */
  readonly components: readonly Component[]
  /** null: that of the button which the event is about, else the default one. */
  readonly phoneNumberId: string | null
  readonly holdsUntilOpen: boolean
  /** null: the tenant's; for replies, any time. */
  readonly sendBetween: Hours['between'] | null
  /** Events whose rules' messages about the waybill are not sent any more. */
  readonly supersedes: readonly string[]
  /** null: as every message. */
  readonly expiresAfterHours: number | null
  /** When the platform changes the category of its template, it makes no messages until the rules are applied again. */
  readonly pausesOnCategoryChange: boolean
  /** null: it is not paused. */
  readonly pausedReason: string | null
}

/** A status key fires when an order reaches that status, at its creation or by a move. */
export const fires = (rule: Rule, { type, order }: OrderEvent): boolean =>
  rule.event === type || (isStatusEvent(type) && rule.event === order.status_key)

/** A tenant's settings for the rules that name no hours. */
export interface TenantHours {
  readonly between: Hours['between'] | null
  readonly timeZone: string
}

/** The template of the rule's messages, before the order's values stand in it. */
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

/** What the rule's messages say, before the order's values stand in it. */
const contentOf = (rule: Rule): Content => (rule.text === null ? templateOf(rule) : { text: rule.text })

/** Replies to a customer who has just pressed a button. */
const isReply = ({ event }: Rule): boolean => actionOutcomes.some(outcome => event.endsWith(`.${outcome}`))

/** The rule's message about an order, to its customer; `phoneNumberId` is of the button that it is about. */
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
