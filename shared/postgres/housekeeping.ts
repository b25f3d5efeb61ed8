import type pg from 'pg'
import type { Logger } from 'pino'
import { type AnyTransaction, findTenantIds, inTenant } from './database.ts'

/** Deletes up to 10,000 expired rows of a tenant; returns how many. */
export type DeleteExpired = (tx: AnyTransaction, tenant: string) => Promise<number>

const hourMilliseconds = 3_600_000

/** Half a minute to one and a half after the start: not in all processes at once. */
const firstRun = (): number => 60_000 * (0.5 + Math.random())

/**
 * Runs the deletions for every tenant soon after the start and an hour after each run. `stop` waits for the one in
 * progress and starts no other.
 */
export const createHousekeeping = (
  pool: pg.Pool,
  logger: Logger,
  deletions: readonly DeleteExpired[],
  firstMilliseconds = firstRun(),
) => {
  let running = Promise.resolve()
  let isStopping = false
  let timer: NodeJS.Timeout | undefined
  /** In slices, each within the statement timeout. */
  const deleteExpired = async (tenant: string, deletion: DeleteExpired): Promise<void> => {
    while (!isStopping && (await inTenant(pool, tenant, (tx: AnyTransaction) => deletion(tx, tenant))) > 0);
  }
  const clean = async (): Promise<void> => {
    for (const tenant of await findTenantIds(pool))
      for (const deletion of deletions)
        await deleteExpired(tenant, deletion).catch(err => logger.warn({ err, tenant }, 'housekeeping.failed'))
  }
  const run = async (): Promise<void> => {
    await clean().catch(err => logger.warn({ err }, 'housekeeping.failed'))
    if (!isStopping) runAfter(hourMilliseconds)
  }
  const runAfter = (milliseconds: number): void => {
    timer = setTimeout(() => {
      running = run()
    }, milliseconds).unref()
  }
  const start = (): void => runAfter(firstMilliseconds)
  const stop = (): Promise<void> => {
    clearTimeout(timer)
    isStopping = true
    return running
  }
  return { clean, start, stop }
}
