import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { MessageStatus, Tx } from '../../core/database/tables.ts'
import { restoredDetail } from '../../core/messages/insert.ts'

/**
 * Runs after a restore of the database from an older backup, before any process uses it. Messages that may have been
 * sent from the lost database, in use until `until`, become unknown, and so will messages for events from before that
 * time. The notifier never resends them on its own.
 */
export const markRestored = async (pool: pg.Pool, until: Date, isDryRun: boolean) => {
  const restored: Awaited<ReturnType<typeof markTenant>>[] = []
  for (const tenant of await findTenantIds(pool))
    restored.push(await inTenant(pool, tenant, (tx: Tx) => markTenant(tx, tenant, until), { keeps: () => !isDryRun }))
  return restored
}

/** Marks a tenant's messages, and counts them by status in the backup; `scheduled` counts those that stay queued. */
const markTenant = async (tx: Tx, tenant: string, until: Date) => {
  await sql`
    update tenants set in_doubt_before = greatest(in_doubt_before, ${until}) where tenant_id = ${tenant}`.execute(tx)
  const statuses = await markUnknown(tx, tenant, until)
  const left = await query<{ scheduled: number }>(tx)`
    select count(*)::integer as scheduled from messages where tenant_id = ${tenant} and status = 'queued'`
  await audit(tx, tenant, operator(), 'database.restored', tenant)
  const count = (status: MessageStatus): number => statuses.filter(one => one === status).length
  const [queued, held, sending] = [count('queued'), count('held'), count('sending')]
  return { tenant, queued, held, sending, scheduled: left[0]?.scheduled ?? 0 }
}

/** Makes messages unknown without a due time, so that nothing resends them. Returns their former statuses. */
const markUnknown = async (tx: Tx, tenant: string, until: Date): Promise<MessageStatus[]> => {
  const rows = await query<{ status: MessageStatus }>(tx)`
    with before as (
      select message_id, status from messages
      where tenant_id = ${tenant} and created_at < ${until}
        -- A message that may leave with others may leave before its time.
        and (joins is not null or coalesce(send_at, created_at) < ${until})
        and (status in ('queued', 'held', 'sending') or status = 'unknown' and due_at < 'infinity')
      order by message_id
      for update
    ), marked as (
      update messages m set status = 'unknown', status_at = now(), due_at = 'infinity', fence = m.fence + 1
      from before where m.tenant_id = ${tenant} and m.message_id = before.message_id
    ), logged as (
      insert into message_events (tenant_id, message_id, status, detail)
      select ${tenant}, message_id, 'unknown', ${restoredDetail} from before where status <> 'unknown'
    )
    select status from before`
  return rows.map(({ status }) => status)
}
