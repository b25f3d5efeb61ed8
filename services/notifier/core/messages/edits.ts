import { editedEvent } from '@courier/shared/contract/order-events.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'

const lockName = (tenant: string): string => JSON.stringify(['edits', tenant])

/**
 * Waits until messages made from orders as they were before an edit are stored: with the lock, the edit finds them.
 * Lock before any row: docs/contributors/decisions.md#order-of-locks.
 */
export const lockForEdits = (tx: Tx, tenant: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${lockName(tenant)}, 0))`.execute(tx)

/** Returns true if an edit of one of these orders arrived since `readAt`. Later edits wait for the commit. */
export const wereEdited = async (tx: Tx, tenant: string, waybills: readonly string[], readAt: Date) => {
  if (waybills.length === 0) return false
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${lockName(tenant)}, 0))`.execute(tx)
  const rows = await query(tx)`
    select 1 from events where tenant_id = ${tenant} and taken_at >= ${readAt} and type = ${editedEvent}
      and waybill_number = any(${waybills}::text[]) limit 1`
  return rows.length > 0
}
