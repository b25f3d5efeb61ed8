import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { type AnyTransaction, findTenantIds, inTenant } from './database.ts'
import { batchReads, batchRequests } from './request-batcher.ts'
import { hashToken, mayBeToken } from './tokens.ts'

export interface FindTokenHolder<Caller> {
  /**
   * Finds the caller that a token authenticates. In a `flood` of wrong tokens look-ups share statements, one at a time.
   */
  (tenant: string, token: string, flood?: boolean): Promise<Caller | undefined>
  /** Forgets a token that was just revoked. */
  forget(tenant: string, token: string): void
}

/** A caller is cached for this long, from before its look-up. */
const cachedMilliseconds = 3_000

/** After this time no process admits a token that has ended. */
export const forgottenMilliseconds = cachedMilliseconds + 100

/** Tokens in one statement of a flood. */
const floodBatch = 1_000

/** Finds the live tokens with these hashes, by hash in base64. */
type ReadCallers<Caller> = (
  tx: AnyTransaction,
  tenant: string,
  hashes: readonly Buffer[],
) => Promise<ReadonlyMap<string, Caller>>

/**
 * Finds callers by `read` and caches them for a few seconds, until they expire. undefined: the token is unknown,
 * expired or revoked.
 */
export const rememberCallers = <Caller extends { readonly millisecondsLeft: number | null }>(
  pool: pg.Pool,
  read: ReadCallers<Caller>,
): FindTokenHolder<Caller> => {
  const callers = new LRUCache<string, Caller>({ max: 10_000 })
  const readTenant = (tenant: string, hashes: readonly string[]) =>
    inTenant(pool, tenant, (tx: AnyTransaction) =>
      read(
        tx,
        tenant,
        hashes.map(hash => Buffer.from(hash, 'base64')),
      ),
    )
  const lookUp = batchReads(readTenant)
  const lookUpInFlood = batchFlood(pool, readTenant)
  const toKey = (tenant: string, hash: string): string => `${hash} ${tenant}`

  const find = async (tenant: string, token: string, flood = false): Promise<Caller | undefined> => {
    const hash = hashToken(token).toString('base64')
    const key = toKey(tenant, hash)
    const start = performance.now()
    let caller = callers.get(key)
    if (!caller) {
      if (!mayBeToken(token)) return undefined
      caller = await (flood ? lookUpInFlood({ tenant, hash }) : lookUp(tenant, hash))
      const ttl = Math.min(cachedMilliseconds, caller?.millisecondsLeft ?? cachedMilliseconds)
      if (caller) callers.set(key, caller, { start, ttl })
    }
    return caller
  }
  const forget = (tenant: string, token: string): void => {
    callers.delete(toKey(tenant, hashToken(token).toString('base64')))
  }
  return Object.assign(find, { forget })
}

interface Wanted {
  tenant: string
  /** Base64. */
  hash: string
}

/**
 * Looks up tokens for addresses that sent too many wrong ones: all of the process take turns on one connection, so that
 * forged tokens keep neither Postgres busy nor valid ones waiting.
 */
const batchFlood = <Caller>(
  pool: pg.Pool,
  read: (tenant: string, hashes: readonly string[]) => Promise<ReadonlyMap<string, Caller>>,
) => {
  const lookUp = batchRequests<Wanted, Caller | undefined>({
    run: async (_key, wanted) => {
      const tenants = new Set(await findTenantIds(pool))
      const found = new Map<string, ReadonlyMap<string, Caller>>()
      for (const [tenant, group = []] of Object.entries(Object.groupBy(wanted, ({ tenant }) => tenant)))
        if (tenants.has(tenant)) found.set(tenant, await read(tenant, [...new Set(group.map(({ hash }) => hash))]))
      return wanted.map(({ tenant, hash }) => found.get(tenant)?.get(hash))
    },
    take: () => floodBatch,
    lanes: () => 1,
  })
  return (wanted: Wanted): Promise<Caller | undefined> => lookUp('', wanted)
}
