import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { rememberPhones } from '../conversations/phone-number.ts'
import { findCountry } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { Content } from '../messaging-api/message-template.ts'
import { findOrders } from '../orders-client/find-orders.ts'
import { type KnownOrder, type OrdersClient, ordersUnavailable } from '../orders-client/orders-client.ts'
import { fillFrom, type Source } from './source.ts'

/**
 * Fills a message that is sent again from its current order; undefined leaves it as it is. Refuses one whose order has
 * another phone since.
 */
export const fillAgain = async (
  { pool, orders }: { readonly pool: pg.Pool; readonly orders: OrdersClient },
  tenant: string,
  id: string,
): Promise<Content | undefined> => {
  const message = await inTenant(pool, tenant, (tx: Tx) => findAboutOrder(tx, tenant, id))
  if (!message) return undefined
  const { waybill_number: waybill, source } = message
  const found = await findOrders(orders, tenant, [waybill])
  if (!found) throw httpError('unavailable', ordersUnavailable, { retryAfterSeconds: 2 })
  const order = found.get(waybill)
  if (!order) return undefined
  const country = await inTenant(pool, tenant, (tx: Tx) => findCountry(tx, tenant))
  if (hasOtherPhone(message, order, rememberPhones(country)))
    throw invalid({
      to: [
        `The customer of ${waybill} has another phone number since: send a new message with this waybill_number and without to.`,
      ],
    })
  return source ? fillFrom(source, order).template : undefined
}

/** A failed or unknown message about an order. */
interface AboutOrder {
  readonly waybill_number: string
  readonly recipient: string
  readonly source: Source | null
  readonly rule_event: string | null
}

const findAboutOrder = (tx: Tx, tenant: string, id: string) =>
  tx
    .selectFrom('messages')
    .select(['waybill_number', 'recipient', 'source', 'rule_event'])
    .where('tenant_id', '=', tenant)
    .where('message_id', '=', id)
    .where('status', 'in', ['failed', 'unknown'])
    .where('waybill_number', 'is not', null)
    .executeTakeFirst() as Promise<AboutOrder | undefined>

/**
 * Returns true if the order's phone has changed. A number that staff gave may be any, except one that was corrected
 * since.
 */
const hasOtherPhone = (
  { recipient, source, rule_event }: AboutOrder,
  { customer_phone, customer_secondary_phone, edits }: KnownOrder,
  recipientOf: (phone: string) => string | undefined,
): boolean => {
  const isIt = (phone: unknown): boolean => typeof phone === 'string' && recipientOf(phone) === recipient
  if (isIt(customer_phone)) return false
  if (source?.isToCustomer ?? rule_event !== null) return true
  if (isIt(customer_secondary_phone)) return false
  return edits.some(({ previous }) => isIt(previous?.customer_phone) || isIt(previous?.customer_secondary_phone))
}
