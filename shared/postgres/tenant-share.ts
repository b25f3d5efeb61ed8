import type pg from 'pg'
import { limitWait } from './patience.ts'

/**
 * Counts the tasks of a tenant that hold a connection, and lists the tasks that wait for one; a share without tasks is
 * removed.
 */
interface Share {
  held: number
  readonly waiting: Set<() => void>
}

const pools = new WeakMap<pg.Pool, Map<string, Share>>()

/** Leaves one in five connections to other tenants. Small pools, such as those of commands, are not divided. */
const limitShare = ({ max }: pg.PoolOptions): number => (max < 5 ? max : Math.floor(max * 0.8))

/**
 * Runs `task`, which takes one connection of the pool, once the tenant holds fewer connections than its share: only
 * transactions of one tenant wait for each other's locks, and other tenants go on. Rejects when the pool would refuse a
 * wait as long.
 */
export const inTenantShare = async <Result>(
  pool: pg.Pool,
  tenant: string,
  task: () => Promise<Result>,
): Promise<Result> => {
  const shares = pools.get(pool) ?? new Map<string, Share>()
  pools.set(pool, shares)
  const share = shares.get(tenant) ?? { held: 0, waiting: new Set() }
  shares.set(tenant, share)
  if (share.held < limitShare(pool.options)) share.held++
  else await waitForShare(share, pool)
  try {
    return await task()
  } finally {
    const [next] = share.waiting
    if (next) next()
    else if (--share.held === 0) shares.delete(tenant)
  }
}

/** Counts the tasks that wait for a connection from their tenant's share. */
export const countWaiting = (pool: pg.Pool): number =>
  [...(pools.get(pool)?.values() ?? [])].reduce((count, { waiting }) => count + waiting.size, 0)

/** Resolves when a task that ends passes its connection on. */
const waitForShare = ({ waiting }: Share, pool: pg.Pool): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const start = (): void => {
    endWait()
    waiting.delete(start)
    resolve()
  }
  const endWait = limitWait(pool, () => {
    endWait()
    waiting.delete(start)
    reject(new Error('timeout exceeded when trying to connect: the tenant holds its share of the connections'))
  })
  waiting.add(start)
  return promise
}
