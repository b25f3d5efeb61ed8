import { deleteRows, type TakeOld } from '@courier/shared/postgres/old-rows.ts'
import { sql } from 'kysely'
import { findStatuses } from '../statuses/status-queries.ts'

const ordersAtOnce = 5_000

/**
 * Takes the timelines of orders in a final status, without open requests, whose last event is old enough. The orders
 * stay, so nobody gets their waybills again.
 */
export const takeTimelines: TakeOld = async (tx, tenant, days, [at = '-infinity', waybill = '']) => {
  const statuses = [...(await findStatuses(tx, tenant)).values()]
  const final = statuses.filter(({ moves }) => moves.length === 0).map(({ key }) => key)
  const { rows: orders } = await sql<{ at: string; waybill: string }>`
    select created_at::text as at, waybill_number as waybill from orders
    where tenant_id = ${tenant} and (created_at, waybill_number) > (${at}::timestamptz, ${waybill})
      and created_at < now() - make_interval(days => ${days}) and status_key = any(${final}::text[])
    order by created_at, waybill_number limit ${ordersAtOnce}`.execute(tx)
  const { rows: recent } = await sql<{ waybill: string }>`
    select waybill_number as waybill from order_events
    where tenant_id = ${tenant} and waybill_number = any(${orders.map(({ waybill }) => waybill)}::text[])
      and happened_at >= now() - make_interval(days => ${days})`.execute(tx)
  const { rows: open } = await sql<{ waybill: string }>`
    select waybill_number as waybill from customer_actions
    where tenant_id = ${tenant} and waybill_number = any(${orders.map(({ waybill }) => waybill)}::text[])
      and status = 'open'`.execute(tx)
  const kept = new Set([...recent, ...open].map(({ waybill }) => waybill))
  const old = orders.flatMap(({ waybill }) => (kept.has(waybill) ? [] : waybill))
  const order_events = await deleteRows(tx, tenant, ['order_events', 'waybill_number'], old)
  const order_edits = await deleteRows(tx, tenant, ['order_edits', 'waybill_number'], old)
  const customer_actions = await deleteRows(tx, tenant, ['customer_actions', 'waybill_number'], old)
  const attempts = await deleteRows(tx, tenant, ['attempts', 'waybill_number'], old)
  const instructions = await deleteRows(tx, tenant, ['instructions', 'waybill_number'], old)
  const last = orders.length < ordersAtOnce ? undefined : orders.at(-1)
  return {
    rows: { order_events, order_edits, customer_actions, attempts, instructions },
    next: last && [last.at, last.waybill],
  }
}
