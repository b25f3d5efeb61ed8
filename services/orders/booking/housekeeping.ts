import { createDatabase, inTenant } from '@courier/shared/database.ts'
import { deleteOldKeys } from '@courier/shared/idempotency.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { deleteOldTokens } from '../access/token-queries.ts'
import type { Tables, Tx } from '../database/tables.ts'

const hour = 3_600_000

/** Deletes idempotency keys and tokens that are no longer kept, once an hour. `stop` waits for the deletion under way. */
export const keepHouse = (pool: pg.Pool, logger: Logger): { stop: () => Promise<void> } => {
  let running = Promise.resolve()
  /** In slices: each is over before a statement times out. */
  const forget = async (tenant: string): Promise<void> => {
    while ((await inTenant(pool, tenant, (tx: Tx) => deleteOldKeys(tx, tenant))) > 0);
    while ((await inTenant(pool, tenant, (tx: Tx) => deleteOldTokens(tx, tenant))) > 0);
  }
  const clean = async (): Promise<void> => {
    const tenants = await createDatabase<Tables>(pool).selectFrom('tenants').select('tenant_id').execute()
    for (const { tenant_id } of tenants)
      await forget(tenant_id).catch(err => logger.warn({ err, tenant: tenant_id }, 'housekeeping.failed'))
  }
  const timer = setInterval(() => {
    running = clean().catch(err => logger.warn({ err }, 'housekeeping.failed'))
  }, hour).unref()
  return {
    stop: () => {
      clearInterval(timer)
      return running
    },
  }
}
