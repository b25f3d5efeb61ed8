import { createPool } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Test } from 'tap'
import { startProxy } from './tcp-proxy.ts'

/** Describes a pool that loses its database between two transactions. */
export interface LossyPool {
  readonly pool: pg.Pool
  /** Loses Postgres once this many transactions have returned their connections to the pool. */
  loseAfter: (transactions: number) => void
  /** Restores Postgres. Returns true if Postgres was lost. */
  restore: () => Promise<boolean>
}

export const createLossyPool = async (t: Pick<Test, 'teardown'>, url: string): Promise<LossyPool> => {
  const address = new URL(url)
  const proxy = await startProxy({ host: address.hostname, port: Number(address.port) })
  address.host = `127.0.0.1:${proxy.port}`
  const pool = createPool({ url: address.href, name: 'lossy', connections: 10 })
  t.teardown(() => pool.end().then(proxy.close))
  let left = Number.POSITIVE_INFINITY
  let cutting: Promise<void> | undefined
  pool.on('release', () => {
    if (--left === 0) cutting = proxy.cut()
  })
  return {
    pool,
    loseAfter: transactions => {
      left = transactions
    },
    restore: async () => {
      left = Number.POSITIVE_INFINITY
      if (!cutting) return false
      await cutting
      cutting = undefined
      await proxy.restore()
      while (pool.totalCount > 0) await new Promise(setImmediate)
      return true
    },
  }
}

interface Response {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly body: { readonly message?: string; readonly code?: string }
}

interface Change {
  /** Prepares a request that has something to change each time; returns a function that sends it. */
  readonly request: () => Promise<() => Promise<Response>>
  /** Reads all rows that the request may change. */
  readonly read: () => Promise<unknown>
}

/**
 * Sends a request that loses its database after its first transaction, its second and so on, and finally one that does
 * not lose it. A 503 may claim that nothing was changed only if that is true; any other status requires a change.
 * Returns the responses.
 */
export const loseBetweenTransactions = async (
  t: Test,
  { loseAfter, restore }: LossyPool,
  { request, read }: Change,
): Promise<Response[]> => {
  const responses: Response[] = []
  for (let transactions = 1; ; transactions++) {
    const send = await request()
    const before = JSON.stringify(await read())
    loseAfter(transactions)
    const response = await send()
    const isLost = await restore()
    const isUnchanged = JSON.stringify(await read()) === before
    const { message } = response.body
    const about = `after ${transactions} transactions: ${response.status} ${message}`
    if (response.status === 503 && /nothing was changed/i.test(`${message}`)) t.ok(isUnchanged, about)
    else if (response.status === 503) t.match(response.body, { message: / / }, about)
    else t.notOk(isUnchanged, about)
    responses.push(response)
    if (!isLost) return responses
  }
}
