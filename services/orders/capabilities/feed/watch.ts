import { pollWorker } from '@courier/shared/poll-worker.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../../core/database/tables.ts'
import type { FeedOwner } from './numbering.ts'

/** Describes a merchant that has read its feed up to a position. */
interface FeedReader extends FeedOwner {
  readonly after: number
}

const newsSql = `
  select number::int - 1 as index
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as reader (tenant_id, merchant_id, after, number)
  join feeds f on f.tenant_id = reader.tenant_id and f.merchant_id = reader.merchant_id
  where f.last_position > reader.after
    or exists (select from log n where n.tenant_id = f.tenant_id and n.merchant_id = f.merchant_id
      and n.position is null)`

/** Returns the readers that have new changes. Runs in `inAllTenants`. */
const findNews = async (tx: Tx, readers: readonly Waiter[]): Promise<Waiter[]> => {
  const values = (['tenant', 'merchantId', 'after'] as const).map(column => readers.map(reader => reader[column]))
  const rows = await tx.rows({ name: 'find_news', text: newsSql, values })
  return rows.map(({ index }) => readers[index] as Waiter)
}

/** Sets how soon a poll finds what other processes write. */
const pollSeconds = 1
/** Changes that this process writes within this time share a poll. */
const wakeMilliseconds = 50

interface Waiter extends FeedReader {
  readonly resolve: () => void
}

export type ChangeWatch = ReturnType<typeof createChangeWatch>

/**
 * Lets any number of readers wait for changes, at the cost of one query a second, and up to twenty while orders change.
 */
export const createChangeWatch = (pool: pg.Pool, logger: Logger) => {
  const waiters = new Set<Waiter>()
  let isClosed = false
  const worker = pollWorker({
    name: 'changes.poll',
    everySeconds: pollSeconds,
    wakeMilliseconds,
    logger,
    run: async () => {
      if (waiters.size === 0) return
      const readers = [...waiters]
      for (const { resolve } of await inAllTenants(pool, (tx: Tx) => findNews(tx, readers))) resolve()
    },
  })
  /**
   * Resolves when the reader's merchant has changes, when `signal` aborts, when the watch closes, or after
   * `milliseconds`.
   */
  const wait = (reader: FeedReader, milliseconds: number, signal: AbortSignal): Promise<void> => {
    if (isClosed || signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { ...reader, resolve }
    const timeout = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => resolve(), { once: true })
    waiters.add(waiter)
    // Finds changes committed since the reader looked.
    worker.start()
    worker.wake()
    return promise.finally(() => {
      clearTimeout(timeout)
      waiters.delete(waiter)
    })
  }
  const countWaiting = (tenant: string, merchantId: string): number =>
    [...waiters].filter(waiter => waiter.tenant === tenant && waiter.merchantId === merchantId).length
  /** Polls soon: this process has changed orders. */
  const wake = (): void => {
    if (waiters.size > 0) worker.wake()
  }
  const close = (): Promise<void> => {
    isClosed = true
    for (const { resolve } of waiters) resolve()
    return worker.stop()
  }
  return { wait, wake, countWaiting, close }
}
