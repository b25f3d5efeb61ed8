import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import { type AnyTransaction, query } from './database.ts'

const secretBytes = 32

/**
 * Creates a token: 256 random bits and their CRC-32, in base64url, behind a prefix that leak scanners recognise. Only
 * its hash is stored.
 */
export const newToken = () => {
  const id = `tok_${randomBytes(9).toString('base64url')}`
  const bytes = randomBytes(secretBytes + 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, secretBytes)), secretBytes)
  const token = `courier_${bytes.toString('base64url')}`
  return { id, token, hash: hashToken(token) }
}

/** Returns true for a time that is yet to come by the clock of Postgres, which ends tokens. */
export const isFuture = async (tx: AnyTransaction, time: Date): Promise<boolean> => {
  const [row] = await query<{ isFuture: boolean }>(tx)`select ${time}::timestamptz > clock_timestamp() as "isFuture"`
  return row?.isFuture === true
}

const form = /^courier_([\w-]{48})$/

/** Returns true if `newToken` could have made it: separates garbage from tokens without a look-up. */
export const mayBeToken = (token: string): boolean => {
  const encoded = form.exec(token)?.[1]
  if (encoded === undefined) return false
  const bytes = Buffer.from(encoded, 'base64url')
  return crc32(bytes.subarray(0, secretBytes)) === bytes.readUInt32BE(secretBytes)
}

/** Hashes without a salt: a token has 256 bits of entropy. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** Holds the fields that the callers of both services have. */
export interface LiveToken {
  readonly tokenId: string
  readonly staffName: string | null
  readonly expiresAt: Date | null
  /** Is the time until the token expires, by the clock of Postgres. */
  readonly millisecondsLeft: number | null
}

interface CallerSql {
  /** Selects what else a caller has. */
  readonly columns: RawBuilder<unknown>
  readonly joins?: RawBuilder<unknown>
  readonly condition?: RawBuilder<unknown>
}

/**
 * Finds the callers of the live tokens, neither revoked nor expired, with these hashes; the keys are hashes in base64.
 * Updates `last_used_at` at most once a minute.
 */
export const findLiveTokens = async <Caller extends LiveToken>(
  tx: AnyTransaction,
  tenant: string,
  hashes: readonly Buffer[],
  { columns, joins = sql``, condition = sql`true` }: CallerSql,
): Promise<Map<string, Caller>> => {
  const rows = await query<{ hash: Buffer; isStale: boolean; caller: never }>(tx)`
    select hash, coalesce(last_used_at < now() - interval '1 minute', true) as "isStale", token_id as "tokenId",
      staff_name as "staffName", expires_at as "expiresAt",
      (extract(epoch from expires_at - now()) * 1000)::float8 as "millisecondsLeft", ${columns}
    from tokens ${joins}
    where tokens.tenant_id = ${tenant} and hash = any(${hashes}::bytea[]) and revoked_at is null
      and coalesce(expires_at > now(), true) and ${condition}`
  const callers = rows.map(({ hash, isStale, ...caller }) => ({ hash, isStale, caller: caller as unknown as Caller }))
  const stale = callers.flatMap(({ isStale, caller }) => (isStale ? caller.tokenId : []))
  if (stale.length > 0) await markUsed(tx, tenant, stale)
  return new Map(callers.map(({ hash, caller }) => [hash.toString('base64'), caller]))
}

/** Returns false when the tenant has no such token. Revoking a token again keeps the first time. */
export const revokeToken = async (tx: AnyTransaction, tenant: string, tokenId: string): Promise<boolean> => {
  const rows = await query(tx)`
    update tokens set revoked_at = least(revoked_at, now()) where tenant_id = ${tenant} and token_id = ${tokenId}
    returning token_id`
  return rows.length > 0
}

/** Skips rows that another transaction holds: look-ups never wait for each other. */
const markUsed = (tx: AnyTransaction, tenant: string, tokenIds: readonly string[]) =>
  sql`
    update tokens set last_used_at = now() where tenant_id = ${tenant} and token_id in (
      select token_id from tokens where tenant_id = ${tenant} and token_id = any(${tokenIds}::text[])
      for no key update skip locked
    )`.execute(tx)
