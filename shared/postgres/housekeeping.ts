import type pg from 'pg'
import type { Logger } from 'pino'
import { pollWorker } from '../poll-worker.ts'
import { type AnyTransaction, findTenantIds, inTenant } from './database.ts'
import { keptHours } from './idempotency.ts'

/** Deletes up to 10,000 expired rows of a tenant; returns how many. */
export type DeleteExpired = (tx: AnyTransaction, tenant: string) => Promise<number>

/**
 * Deletes rows of a table that meet `condition`, our own SQL. `lock` may skip rows that others hold; only the notifier
 * passes it, so Citus need not understand it. `in` would plan a join, which takes three times as long.
 */
export const deleteWhere =
  (table: string, condition: string, lock: '' | 'for update skip locked' = ''): DeleteExpired =>
  async (tx, tenant) => {
    const slice = `select ctid from ${table} where tenant_id = $1 and ${condition} limit 10000 ${lock}`
    const deletion = `delete from ${table} where tenant_id = $1 and ctid = any(array(${slice}))`
    return (await tx.client.query(deletion, [tenant])).rowCount ?? 0
  }

export const deleteOldKeys = deleteWhere('idempotency_keys', `created_at <= now() - interval '${keptHours} hours'`)

/** Runs the deletions for every tenant, in slices that each end within the statement timeout; a stop ends it early. */
const clean = async (
  pool: pg.Pool,
  logger: Logger,
  deletions: readonly DeleteExpired[],
  stopping = new AbortController().signal,
): Promise<void> => {
  const deleteExpired = async (tenant: string, deletion: DeleteExpired): Promise<void> => {
    while (!stopping.aborted && (await inTenant(pool, tenant, (tx: AnyTransaction) => deletion(tx, tenant))) > 0);
  }
  for (const tenant of await findTenantIds(pool))
    for (const deletion of deletions)
      await deleteExpired(tenant, deletion).catch(err => logger.warn({ err, tenant }, 'housekeeping.failed'))
}

/** Delays the first run by 30 to 90 seconds, so that not all processes run at once. */
const chooseFirstSeconds = (): number => 60 * (0.5 + Math.random())

/** Runs the deletions soon after the start and an hour after each run. */
export const createHousekeeping = (
  pool: pg.Pool,
  logger: Logger,
  deletions: readonly DeleteExpired[],
  firstSeconds = chooseFirstSeconds(),
) => ({
  clean: () => clean(pool, logger, deletions),
  ...pollWorker({
    name: 'housekeeping.run',
    everySeconds: 3_600,
    firstSeconds,
    logger,
    run: stopping => clean(pool, logger, deletions, stopping),
  }),
})
