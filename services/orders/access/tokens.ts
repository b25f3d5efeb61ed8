import { createHash, randomBytes } from 'node:crypto'
import { inTenant } from '@courier/shared/database.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { findLiveToken, insertToken } from './token-queries.ts'

export type Holder = { merchantId: string } | { staffName: string }

/** A new token: 256 random bits behind a prefix that lets leak scanners know it. Only its hash is kept. */
export const createToken = async (tx: Tx, tenant: string, holder: Holder, expiresAt: Date | null) => {
  const id = `tok_${randomBytes(9).toString('base64url')}`
  const token = `courier_${randomBytes(32).toString('base64url')}`
  await insertToken(tx, {
    tenant_id: tenant,
    token_id: id,
    hash: hashToken(token),
    merchant_id: 'merchantId' in holder ? holder.merchantId : null,
    staff_name: 'staffName' in holder ? holder.staffName : null,
    expires_at: expiresAt,
  })
  return { id, token }
}

/** A token has 256 bits of chance, so a plain hash is enough. */
const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Whom a token speaks for. */
export interface Caller {
  readonly tokenId: string
  readonly merchantId: string | null
  readonly expiresAt: Date | null
}

/** A revoked token is refused within this time plus the one look-up. */
const rememberedMilliseconds = 3_000

/** Finds the holders of tokens, remembering them for a few seconds. undefined: unknown, expired or revoked. */
export const createTokenReader = (pool: pg.Pool) => {
  const callers = new LRUCache<string, Caller>({ max: 10_000, ttl: rememberedMilliseconds })
  return async (tenant: string, token: string): Promise<Caller | undefined> => {
    const hash = hashToken(token)
    const key = `${hash.toString('base64')} ${tenant}`
    const caller = callers.get(key) ?? (await readCaller(pool, tenant, hash))
    if (!caller || (caller.expiresAt && caller.expiresAt.getTime() <= Date.now())) return undefined
    if (!callers.has(key)) callers.set(key, caller)
    return caller
  }
}

const readCaller = (pool: pg.Pool, tenant: string, hash: Buffer): Promise<Caller | undefined> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const row = await findLiveToken(tx, tenant, hash)
    return row && { tokenId: row.token_id, merchantId: row.merchant_id, expiresAt: row.expires_at }
  })
