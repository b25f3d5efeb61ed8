import type { Tx } from '../database/tables.ts'
import type { Mover } from './check-moves.ts'
import type { Move } from './move.ts'

/** A lock that is not free within two seconds ends the call with 503. */
export const limitLockWait = (tx: Tx) => tx.client.query(`set local lock_timeout = '2s'`)

/**
 * Locks those of `waybills` that the mover may see until the transaction ends, and returns the status of each, read after
 * the lock. In the order of their numbers: opposite lists wait for each other and do not deadlock.
 */
export const lockOrders = async (
  tx: Tx,
  tenant: string,
  mover: Mover,
  waybills: readonly string[],
): Promise<Map<string, string>> => {
  const values = [tenant, waybills, 'merchantId' in mover ? mover.merchantId : null]
  const { rows } = await tx.client.query({ name: 'lock_orders', text: locking, values })
  return new Map(
    rows.map((row: { waybill_number: string; status_key: string }) => [row.waybill_number, row.status_key]),
  )
}

const locking = `
  select waybill_number, status_key from orders
  where tenant_id = $1 and waybill_number = any($2::text[]) and ($3::bigint is null or merchant_id = $3)
  order by waybill_number for no key update`

/**
 * Writes a checked move of locked orders. The clock is read and the outbox numbered here, while the rows are held: what
 * is told of one waybill, and when, never goes backwards.
 */
export const writeMoves = (tx: Tx, { tenant, waybills, statusKey, note, mover }: Move) => {
  const values = [tenant, waybills, statusKey, 'staffName' in mover ? mover.staffName : null, note]
  return tx.client.query({ name: 'write_moves', text: writing, values })
}

const writing = `
  with moment as materialized (
    select clock_timestamp() as now
  ), moved as (
    update orders set status_key = $3 where tenant_id = $1 and waybill_number = any($2::text[])
  ), told as (
    insert into order_events (tenant_id, waybill_number, status_key, happened_at, staff_name, note)
    select $1, waybill_number, $3, now, $4, $5 from moment, unnest($2::text[]) as waybill_number
  )
  insert into outbox (tenant_id, type, waybill_numbers, status_keys, note, happened_at)
  select $1, 'order.status_changed', $2::text[], array_fill($3::text, array[cardinality($2::text[])]), $5, now from moment`
