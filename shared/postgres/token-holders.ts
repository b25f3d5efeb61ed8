import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { atMost } from '../lru-limit.ts'
import { type AnyTransaction, findTenantIds, inTenant, withoutDoubt } from './database.ts'
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

/** Limits the tokens in one statement of a flood. */
const floodBatch = 1_000

/** Finds the live tokens with these hashes, by hash in base64. */
type ReadCallers<Caller> = (
  tx: AnyTransaction,
  tenant: string,
  hashes: readonly Buffer[],
) => Promise<ReadonlyMap<string, Caller>>

/**
 * Finds callers with `read` and caches them for a few seconds, or until they expire. undefined: the token is unknown,
 * expired or revoked. Does not use the cache's own `fetch`, which would hold the look-ups of forged tokens: they would
 * evict valid ones.
 */
export const rememberCallers = <Caller extends { readonly millisecondsLeft: number | null }>(
  pool: pg.Pool,
  read: ReadCallers<Caller>,
): FindTokenHolder<Caller> => {
  const callers = new LRUCache<string, Caller>(atMost(10_000))
  const lookUp = batchReads((tenant, hashes) => readTenant(pool, tenant, hashes, read))
  /**
   * Looks up tokens for addresses that sent too many wrong ones: all these look-ups of the process take turns on one
   * connection, so that forged tokens keep neither Postgres busy nor valid tokens waiting.
   */
  const lookUpInFlood = batchRequests<TokenHash, Caller | undefined>({
    run: (_key, tokens) => findInTenants(pool, tokens, read),
    take: () => floodBatch,
    lanes: () => 1,
  })
  const toKey = (tenant: string, hash: string): string => `${hash} ${tenant}`

  const find = async (tenant: string, token: string, flood = false): Promise<Caller | undefined> => {
    const hash = hashToken(token).toString('base64')
    const key = toKey(tenant, hash)
    const start = performance.now()
    let caller = callers.get(key)
    if (!caller) {
      if (!mayBeToken(token)) return undefined
      caller = await (flood ? lookUpInFlood('', { tenant, hash }) : lookUp(tenant, hash))
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

/** Identifies a token by its hash, in base64. */
interface TokenHash {
  readonly tenant: string
  readonly hash: string
}

/**
 * Finds the callers of tokens of any tenants, in the order of the tokens: one statement for each tenant that exists.
 */
export const findInTenants = async <Caller>(
  pool: pg.Pool,
  tokens: readonly TokenHash[],
  read: ReadCallers<Caller>,
): Promise<(Caller | undefined)[]> => {
  const known = new Set(await findTenantIds(pool))
  const found = new Map<string, ReadonlyMap<string, Caller>>()
  for (const [tenant, group] of Map.groupBy(tokens, ({ tenant }) => tenant)) {
    const hashes = [...new Set(group.map(({ hash }) => hash))]
    if (known.has(tenant)) found.set(tenant, await readTenant(pool, tenant, hashes, read))
  }
  return tokens.map(({ tenant, hash }) => found.get(tenant)?.get(hash))
}

const readTenant = <Caller>(pool: pg.Pool, tenant: string, hashes: readonly string[], read: ReadCallers<Caller>) => {
  const bytes = hashes.map(hash => Buffer.from(hash, 'base64'))
  return inTenant(pool, tenant, (tx: AnyTransaction) => read(tx, tenant, bytes)).catch(withoutDoubt)
}
