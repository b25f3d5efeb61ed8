import { isUnderWay, type OrderEvent, type OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { Hours } from '../messages/hours.ts'
import { fillText } from '../messages/placeholders.ts'
import type { MessageRequest } from '../messages/schema.ts'

/** Which event makes which message. */
export interface Rule {
  /** order.created, order.status_changed, or the key of a status that an order reaches. */
  readonly event: string
  readonly template: string
  readonly language: string
  /** Texts of the parameters, with fields of the order as `{{customer_name}}`. */
  readonly header: readonly string[]
  readonly body: readonly string[]
  /** null: the default one. */
  readonly phoneNumberId: string | null
  readonly holdsUntilOpen: boolean
  /** null: the tenant's. */
  readonly sendBetween: Hours['between'] | null
  /** Events whose rules' messages about the waybill are not sent any more. */
  readonly supersedes: readonly string[]
  /** null: as every message. */
  readonly expiresAfterHours: number | null
}

/** A status key fires when an order reaches that status, at its creation or by a move. */
export const fires = (rule: Rule, { type, order }: OrderEvent): boolean =>
  rule.event === type || rule.event === order.status_key

/** A tenant's settings for the rules that name no hours. */
export interface TenantHours {
  readonly between: Hours['between'] | null
  readonly timeZone: string | null
}

/** The rule's message about an order, to its customer. */
export const messageOf = (rule: Rule, order: OrderSnapshot, { between, timeZone }: TenantHours): MessageRequest => {
  const ownBetween = rule.sendBetween ?? between
  const parameters = (texts: readonly string[]) =>
    texts.map(text => ({ type: 'text' as const, text: fillText(text, order) }))
  const components = (['header', 'body'] as const).flatMap(type =>
    rule[type].length > 0 ? [{ type, parameters: parameters(rule[type]) }] : [],
  )
  return {
    to: order.customer_phone,
    template: { name: rule.template, language: { code: rule.language }, components },
    channel: rule.phoneNumberId,
    waybill_number: order.waybill_number,
    hold_until_open: rule.holdsUntilOpen,
    isUnderWay: isUnderWay(order),
    hours: ownBetween && timeZone ? { between: ownBetween, timeZone } : undefined,
  }
}
