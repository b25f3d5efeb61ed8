import { createDatabase, inTenant } from '@courier/shared/database.ts'
import { deleteOldKeys } from '@courier/shared/idempotency.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tables, Tx } from '../database/tables.ts'

const hour = 3_600_000

/**
 * Once an hour deletes what nothing needs any more: idempotency keys past their time, places in time of recipients that
 * may be written to, conversations in which nobody ever wrote, events that orders repeats no more. `stop` waits for the deletion under way.
 */
export const keepHouse = (pool: pg.Pool, logger: Logger): { stop: () => Promise<void> } => {
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = clean(pool, logger).catch(err => logger.warn({ err }, 'housekeeping.failed'))
  }, hour).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return running
    },
  }
}

export const clean = async (pool: pg.Pool, logger: Logger): Promise<void> => {
  const tenants = await createDatabase<Tables>(pool).selectFrom('tenants').select('tenant_id').execute()
  for (const { tenant_id } of tenants)
    await forget(pool, tenant_id).catch(err => logger.warn({ err, tenant: tenant_id }, 'housekeeping.failed'))
}

/** In slices: each is over before a statement times out. */
const forget = async (pool: pg.Pool, tenant: string): Promise<void> => {
  while ((await inTenant(pool, tenant, (tx: Tx) => deleteOldKeys(tx, tenant))) > 0);
  while ((await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, 'recipients', idle))) > 0);
  while ((await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, 'conversations', silent))) > 0);
  while ((await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, 'events', past))) > 0);
}

const idle = sql`next_send_at < now() - interval '1 hour'`
const past = sql`taken_at < now() - interval '30 days'`
const silent = sql`last_inbound_at is null and opted_out_at is null and opted_in_at is null`

const deleteRows = async (tx: Tx, tenant: string, table: string, where: typeof idle): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ctid in (
      select ctid from ${sql.table(table)} where tenant_id = ${tenant} and ${where} limit 10000 for update skip locked
    )`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
