import { query } from '@courier/shared/postgres/database.ts'
import { deleteRows, type TakeOld } from '@courier/shared/postgres/old-rows.ts'
import { findStatuses } from '../statuses/status-queries.ts'

const ordersAtOnce = 5_000
const tables = ['order_events', 'order_edits', 'customer_actions', 'attempts', 'instructions']

/**
 * Deletes and returns the timelines of orders that have a final status, no open request, and a last event that is old
 * enough. The orders stay, so their waybills are never assigned again.
 */
export const takeTimelines: TakeOld = async (tx, tenant, days, [at = '-infinity', waybill = '']) => {
  const statuses = [...(await findStatuses(tx, tenant)).values()]
  const final = statuses.filter(({ moves }) => moves.length === 0).map(({ key }) => key)
  const orders = await query<{ at: string; waybill: string }>(tx)`
    select created_at::text as at, waybill_number as waybill from orders
    where tenant_id = ${tenant} and (created_at, waybill_number) > (${at}::timestamptz, ${waybill})
      and created_at < now() - make_interval(days => ${days}) and status_key = any(${final}::text[])
    order by created_at, waybill_number limit ${ordersAtOnce}`
  const listed = orders.map(({ waybill }) => waybill)
  // Skips orders that somebody is moving, taking back or editing; the next statement sees everything written before.
  // A lock writes the row, so orders whose timelines were taken earlier get none.
  const locked = await query<{ waybill: string }>(tx)`
    select waybill_number as waybill from orders
    where tenant_id = ${tenant} and waybill_number = any(${listed}::text[]) and status_key = any(${final}::text[])
      and (exists (select from order_events event
          where event.tenant_id = ${tenant} and event.waybill_number = orders.waybill_number)
        or exists (select from customer_actions action
          where action.tenant_id = ${tenant} and action.waybill_number = orders.waybill_number))
    for no key update skip locked`
  const waybills = locked.map(({ waybill }) => waybill)
  const kept = await query<{ waybill: string }>(tx)`
    select waybill_number as waybill from order_events
    where tenant_id = ${tenant} and waybill_number = any(${waybills}::text[])
      and happened_at >= now() - make_interval(days => ${days})
    union select waybill_number from customer_actions
    where tenant_id = ${tenant} and waybill_number = any(${waybills}::text[]) and status = 'open'`
  const isKept = new Set(kept.map(({ waybill }) => waybill))
  const old = waybills.filter(waybill => !isKept.has(waybill))
  const rows: Record<string, readonly string[]> = {}
  for (const table of tables) rows[table] = await deleteRows(tx, tenant, [table, 'waybill_number'], old)
  const last = orders.length < ordersAtOnce ? undefined : orders.at(-1)
  return { rows, next: last && [last.at, last.waybill] }
}
