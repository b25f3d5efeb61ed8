import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { AnyTransaction } from './database.ts'
import type { FindCaller } from './http/authenticate.ts'

/** A new token: 256 random bits behind a prefix that lets leak scanners know it. Only its hash is kept. */
export const newToken = () => {
  const id = `tok_${randomBytes(9).toString('base64url')}`
  const token = `courier_${randomBytes(32).toString('base64url')}`
  return { id, token, hash: hashToken(token) }
}

/** A token has 256 bits of chance, so a plain hash is enough. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** A revoked token is refused within this time plus the one look-up. */
const rememberedMilliseconds = 3_000
/** For so long a token is known that was good once, whether or not it still is. */
const knownMilliseconds = 3_600_000

/** Finds the holders of tokens by `read`, remembering them for a few seconds. undefined: unknown, expired or revoked. */
export const rememberCallers = <Caller extends { readonly expiresAt: Date | null }>(
  read: (tenant: string, hash: Buffer) => Promise<Caller | undefined>,
): FindCaller<Caller> => {
  const callers = new LRUCache<string, Caller>({ max: 10_000, ttl: rememberedMilliseconds })
  const known = new LRUCache<string, true>({ max: 20_000, ttl: knownMilliseconds })
  return async (tenant, token, onlyKnown = false) => {
    const hash = hashToken(token)
    const key = `${hash.toString('base64')} ${tenant}`
    if (onlyKnown && !known.has(key)) return undefined
    const caller = callers.get(key) ?? (await read(tenant, hash))
    if (!caller || (caller.expiresAt && caller.expiresAt.getTime() <= Date.now())) return undefined
    if (!callers.has(key)) {
      callers.set(key, caller)
      known.set(key, true)
    }
    return caller
  }
}

/** The columns of a service's table `tokens` that both services have. */
export interface LiveToken {
  readonly token_id: string
  readonly staff_name: string | null
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
}

/** The token of that hash, if it is neither revoked nor expired. Marks it as used, once a minute. */
export const findLiveToken = async <Row extends LiveToken>(
  tx: AnyTransaction,
  tenant: string,
  hash: Buffer,
): Promise<Row | undefined> => {
  const token = (await tx
    .selectFrom('tokens')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`coalesce(expires_at > now(), true)`)
    .executeTakeFirst()) as Row | undefined
  const minuteAgo = Date.now() - 60_000
  if (token && (token.last_used_at?.getTime() ?? 0) < minuteAgo)
    await tx
      .updateTable('tokens')
      .set({ last_used_at: new Date() })
      .where('tenant_id', '=', tenant)
      .where('token_id', '=', token.token_id)
      .execute()
  return token
}
