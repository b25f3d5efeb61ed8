import { isDeepStrictEqual } from 'node:util'
import {
  type OrderEvent,
  type OrderEventType,
  type OrderSnapshot,
  takenBackEvent,
} from '@courier/shared/contract/order-events.ts'
import { rememberPhones } from '../conversations/phone-number.ts'
import { findCountry } from '../conversations/queries.ts'
import { type MessageStatus, prepared, type Tx } from '../database/tables.ts'
import { fillFrom, type Source } from '../messages/placeholders.ts'
import type { Content } from '../messaging-api/message-template.ts'

const movedEvent: OrderEventType = 'order.status_changed'

interface Waiting {
  readonly id: string
  readonly waybill: string
  /** null means that no rule made it. */
  readonly ruleEvent: string | null
  readonly isOlder: boolean
  readonly status: MessageStatus
  readonly recipient: string
  readonly template: Content
  /** null means that an earlier version made it. */
  readonly source: Source | null
}

/** Cancels a message, so that it is no longer sent and one in flight not again, or makes it again. */
type Change = { readonly id: string; readonly detail: string } & (
  | { readonly kind: 'cancel' }
  | { readonly kind: 'remake'; readonly recipient: string; readonly template: Content }
)

const cancel = (id: string, detail: string): Change => ({ kind: 'cancel', id, detail })

export interface Superseding {
  readonly waybill: string
  /** Names the events of the rules that made the messages. */
  readonly events: readonly string[]
  /** Names a message of the same transaction: that message and later ones stay. */
  readonly before: string
  /** Names the rule's own event, for the timeline. */
  readonly by: string
}

/** Cancels waiting messages, and prevents those in flight from being resent. */
export const supersedeMessages = async (tx: Tx, tenant: string, given: readonly Superseding[]): Promise<void> => {
  if (given.length === 0) return
  const ofWaybill = Map.groupBy(given, ({ waybill }) => waybill)
  const events = given.flatMap(superseding => superseding.events)
  const waiting = await lockWaiting(tx, tenant, [...ofWaybill.keys()], events)
  const changes = waiting.flatMap(({ id, waybill, ruleEvent, isOlder }) => {
    const isUntrue = (by: Superseding) => by.events.includes(ruleEvent ?? '') && (isOlder || id < by.before)
    const [first] = (ofWaybill.get(waybill) ?? [])
      .filter(isUntrue)
      .map(({ by }) => by)
      .sort()
    return first === undefined ? [] : cancel(id, `superseded by ${first}`)
  })
  await storeChanges(tx, tenant, changes)
}

export interface TakenBack {
  readonly order: OrderSnapshot
  /** Names a message of the same transaction: that message and later ones stay. */
  readonly before: string | undefined
}

/** Cancels waiting messages about statuses other than the one to which staff took an order back. */
export const cancelUntrue = async (tx: Tx, tenant: string, takenBack: readonly TakenBack[]): Promise<void> => {
  if (takenBack.length === 0) return
  const ofWaybill = Map.groupBy(takenBack, ({ order }) => order.waybill_number)
  const waiting = await lockWaiting(tx, tenant, [...ofWaybill.keys()])
  const isUntrue = (message: Waiting): boolean => {
    const { id, waybill, isOlder } = message
    const reported = findReportedStatus(message)
    const isEarlier = ({ before }: TakenBack) => isOlder || before === undefined || id < before
    const backs = ofWaybill.get(waybill) ?? []
    return reported !== undefined && backs.some(back => reported !== back.order.status_key && isEarlier(back))
  }
  const changes = waiting.filter(isUntrue).map(({ id }) => cancel(id, `superseded by ${takenBackEvent}`))
  await storeChanges(tx, tenant, changes)
}

/** Returns the status that a message reports by its rule; undefined for a rule on anything but a move. */
const findReportedStatus = ({ ruleEvent, source }: Waiting): string | undefined => {
  if (ruleEvent === movedEvent) return source?.event.status_key
  return ruleEvent === null || ruleEvent.includes('.') ? undefined : ruleEvent
}

/**
 * Rebuilds messages about edited orders in place: rule, hours, send time and queue position stay, and the pre-send
 * check looks at the new recipient. Cancels a message that cannot be rebuilt. A message in flight may have reached the
 * old recipient: it keeps its content, and the notifier never resends it on its own.
 */
export const remakeMessages = async (tx: Tx, tenant: string, edits: readonly OrderEvent[]): Promise<void> => {
  if (edits.length === 0) return
  const orders = new Map(edits.map(({ order }) => [order.waybill_number, order]))
  const readRecipient = rememberPhones(await findCountry(tx, tenant))
  const waiting = await lockWaiting(tx, tenant, [...orders.keys()])
  const changes = waiting.flatMap(
    message => toChange(message, orders.get(message.waybill) as OrderSnapshot, readRecipient) ?? [],
  )
  await storeChanges(tx, tenant, changes)
}

/** Returns the change; undefined if the edit does not affect the message. */
const toChange = (
  { id, status, source, ...message }: Waiting,
  order: OrderSnapshot,
  readRecipient: (phone: string) => string | undefined,
): Change | undefined => {
  if (!source) return cancel(id, 'the order was edited')
  const recipient = source.isToCustomer ? readRecipient(order.customer_phone) : message.recipient
  if (recipient === undefined) return cancel(id, "the order was edited: the customer's phone is not a phone number")
  const { template, missing } = fillFrom(source, order)
  if (recipient === message.recipient && isDeepStrictEqual(template, message.template)) return undefined
  if (status === 'sending' || status === 'unknown') return cancel(id, 'the order was edited after it was sent')
  if (missing !== undefined) return cancel(id, `the order was edited: ${missing}`)
  return { kind: 'remake', id, recipient, template, detail: 'made again: the order was edited' }
}

/** Finds the waiting messages, or those of rules on `events`, by the waybill's index; locks them in key order. */
const lockWaiting = (tx: Tx, tenant: string, waybills: readonly string[], events?: readonly string[]) =>
  prepared<Waiting>(tx, 'lock_waiting')`
    with found as (
      select message.message_id from unnest(${waybills}::text[]) as given (waybill) cross join lateral (
        select message_id from messages
        where tenant_id = ${tenant} and waybill_number = given.waybill
          and (source is not null or rule_event is not null)
          and (${events ?? null}::text[] is null or rule_event = any(${events ?? null}::text[]))
          and status in ('queued', 'held', 'sending', 'unknown') and superseded_by is null
        offset 0
      ) message
    )
    select message_id as id, waybill_number as waybill, status, recipient, template, source,
      rule_event as "ruleEvent", created_at < now() as "isOlder"
    from messages m join found using (message_id)
    where tenant_id = ${tenant} and status in ('queued', 'held', 'sending', 'unknown')
    order by message_id for update of m`

/** Stores the changes. Queues a message that was held for the old recipient: the new one's conversation may be open. */
const storeChanges = async (tx: Tx, tenant: string, changes: readonly Change[]): Promise<void> => {
  if (changes.length === 0) return
  await prepared(tx, 'store_changes')`
    with changed as (
      update messages m set
        recipient = coalesce(given.recipient, m.recipient), template = coalesce(given.template, m.template),
        superseded_by = case when given.kind = 'cancel' then given.detail else m.superseded_by end,
        status = case when m.status in ('sending', 'unknown') then m.status
          when given.kind = 'cancel' then 'cancelled' when given.recipient <> m.recipient then 'queued'
          else m.status end,
        status_at = case when m.status in ('queued', 'held') and given.kind = 'cancel'
          or m.status = 'held' and given.recipient <> m.recipient then now() else m.status_at end,
        fence = case when m.status in ('queued', 'held') then m.fence + 1 else m.fence end
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
        as given (id text, kind text, recipient text, template jsonb, detail text)
      where m.tenant_id = ${tenant} and m.message_id = given.id
      returning m.message_id, m.status, given.detail
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select ${tenant}, message_id, status, detail from changed where status in ('queued', 'held', 'cancelled')`
}
