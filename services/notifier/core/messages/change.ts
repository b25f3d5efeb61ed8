import { invalid } from '@courier/shared/errors/errors.ts'
import { normalisePhone } from '@courier/shared/phone-number.ts'
import { type Action, type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { MessageStatus, Tx } from '../database/tables.ts'
import type { Content } from '../messaging-api/message-template.ts'
import { findOrders, type KnownOrder, type OrdersClient, ordersUnavailable } from '../orders-client/orders-client.ts'
import { resentExpirySql } from './expiry.ts'
import { fillFrom, type Source } from './placeholders.ts'
import { findMessage } from './queries.ts'

/** Cancels a message whose sending has not begun. Returns its resulting status; undefined if no such message exists. */
export const cancelMessage = (tx: Tx, tenant: string, id: string, by?: Actor): Promise<MessageStatus | undefined> =>
  move(tx, tenant, id, by, {
    from: ['queued', 'held'],
    to: sql`status = 'cancelled', status_at = now(), fence = m.fence + 1`,
    detail: 'cancelled by staff',
    action: 'message.cancelled',
  })

export const resendMessage = (tx: Tx, tenant: string, id: string, by?: Actor, content?: Content) => {
  const template = sql`coalesce(${content ? JSON.stringify(content) : null}::jsonb, template)`
  return move(tx, tenant, id, by, {
    from: ['failed', 'unknown'],
    // Refuses an unknown message while its webhook may still arrive, and a message whose {{tracking_url}} is unfilled.
    when: sql`(status = 'failed' or due_at = 'infinity')
      and ${template}::text !~ '[{][{][^{}]*tracking_url[^{}]*[}][}]'`,
    to: sql`status = 'queued', template = ${template}, status_at = now(), due_at = now(),
      expires_at = ${sql.raw(resentExpirySql)},
      attempts = 0, error_code = null, error_meaning = null, superseded_by = null, fence = m.fence + 1,
      joined_to = null,
      former_ids = array_remove(m.former_ids || m.provider_message_id, null), provider_message_id = null`,
    detail: 'sent again by staff',
    action: 'message.resent',
  })
}

interface Move {
  readonly from: readonly MessageStatus[]
  readonly when?: ReturnType<typeof sql>
  readonly to: ReturnType<typeof sql>
  readonly detail: string
  readonly action: Action
}

const move = async (tx: Tx, tenant: string, id: string, by: Actor | undefined, wanted: Move) => {
  const { from, to, detail, action, when = sql`true` } = wanted
  const rows = await query<{ status: MessageStatus }>(tx)`
    with moved as (
      update messages m set ${to}
      where tenant_id = ${tenant} and message_id = ${id} and status in (${sql.join(from)}) and ${when}
      returning tenant_id, message_id, status
    ), logged as (
      insert into message_events (tenant_id, message_id, status, detail)
      select tenant_id, message_id, status, ${detail} from moved
    )
    select status from moved`
  if (rows[0] && by) await audit(tx, tenant, by, action, id)
  if (rows[0]) return rows[0].status
  return (await findMessage(tx, tenant, id))?.status
}

/**
 * Fills a failed or unknown message from its current order; if the returned content is undefined, the message keeps its
 * own. Refuses a message whose order now has another phone.
 */
export const fillAgain = async (
  { pool, orders }: { readonly pool: pg.Pool; readonly orders: OrdersClient },
  tenant: string,
  id: string,
): Promise<{ waybill: string; content: Content | undefined } | undefined> => {
  const [message, ...joined] = await inTenant(pool, tenant, (tx: Tx) => findAboutOrders(tx, tenant, id))
  if (!message) return undefined
  const all = [message, ...joined]
  const found = await findOrders(orders, tenant, [...new Set(all.map(each => each.waybill_number))])
  if (!found) throw ordersUnavailable()
  const order = found.get(message.waybill_number)
  if (!order) return undefined
  const moved = all.find(each => hasOtherPhone(each, found.get(each.waybill_number) ?? order))
  if (moved)
    throw invalid({
      to: [
        `The customer of ${moved.waybill_number} has another phone number since: send a new message with this waybill_number and without to.`,
      ],
    })
  const { waybill_number: waybill, source } = message
  return { waybill, content: source ? fillFrom(source, order).template : undefined }
}

type AboutOrder = Record<'waybill_number' | 'recipient' | 'country', string> & {
  source: Source | null
  rule_event: string | null
}

/** Finds the message, then those that left with it. */
const findAboutOrders = (tx: Tx, tenant: string, id: string): Promise<AboutOrder[]> =>
  query<AboutOrder>(tx)`
    select waybill_number, recipient, source, rule_event, country from messages join tenants using (tenant_id)
    where tenant_id = ${tenant} and (message_id = ${id} or joined_to = ${id}) and status in ('failed', 'unknown')
      and waybill_number is not null
    order by joined_to is not null, message_id`

/** Returns true if the order's phone has changed. A number that staff gave counts only if an edit has replaced it. */
const hasOtherPhone = (
  { recipient, source, rule_event, country }: AboutOrder,
  { customer_phone, customer_secondary_phone, edits = [] }: KnownOrder,
): boolean => {
  const matches = (phone: unknown) => typeof phone === 'string' && normalisePhone(phone, country) === recipient
  if (matches(customer_phone)) return false
  if (source?.isToCustomer ?? rule_event !== null) return true
  if (matches(customer_secondary_phone)) return false
  return edits.some(({ previous }) => matches(previous?.customer_phone) || matches(previous?.customer_secondary_phone))
}
