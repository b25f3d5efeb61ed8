import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import type { AnyTransaction } from './database.ts'

const secretBytes = 32

/**
 * Creates a token: 256 random bits and their CRC-32, in base64url, behind a prefix that leak scanners recognise. Only its
 * hash is stored.
 */
export const newToken = () => {
  const id = `tok_${randomBytes(9).toString('base64url')}`
  const bytes = randomBytes(secretBytes + 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, secretBytes)), secretBytes)
  const token = `courier_${bytes.toString('base64url')}`
  return { id, token, hash: hashToken(token) }
}

const form = /^courier_([\w-]{48})$/

/** Returns true if `newToken` can have made it: separates garbage from tokens without a look-up. */
export const mayBeToken = (token: string): boolean => {
  const encoded = form.exec(token)?.[1]
  if (encoded === undefined) return false
  const bytes = Buffer.from(encoded, 'base64url')
  return crc32(bytes.subarray(0, secretBytes)) === bytes.readUInt32BE(secretBytes)
}

/** Hashes without a salt: a token has 256 bits of entropy. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** The columns of `tokens` that both services have. */
export interface LiveToken {
  readonly token_id: string
  readonly hash: Buffer
  readonly staff_name: string | null
  readonly expires_at: Date | null
  /** The time until it expires, by the clock of Postgres. */
  readonly milliseconds_left: number | null
  /** True if its last use is not stored, or is longer ago than a minute. */
  readonly is_stale: boolean
}

/**
 * Finds the tokens with these hashes that are neither revoked nor expired, and meet `condition`. Updates `last_used_at` at
 * most once a minute.
 */
export const findLiveTokens = async <Row extends LiveToken>(
  tx: AnyTransaction,
  tenant: string,
  hashes: readonly Buffer[],
  condition: RawBuilder<boolean> = sql`true`,
): Promise<Row[]> => {
  const tokens = (await tx
    .selectFrom('tokens')
    .selectAll()
    .select([
      sql`(extract(epoch from expires_at - now()) * 1000)::float8`.as('milliseconds_left'),
      sql`coalesce(last_used_at < now() - interval '1 minute', true)`.as('is_stale'),
    ])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`hash = any(${hashes}::bytea[])`)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`coalesce(expires_at > now(), true)`)
    .where(condition)
    .execute()) as Row[]
  const stale = tokens.filter(token => token.is_stale)
  if (stale.length > 0) await markUsed(tx, tenant, stale)
  return tokens
}

/** Returns false when the tenant has no such token. Revoking again keeps the time of the first. */
export const revokeToken = async (tx: AnyTransaction, tenant: string, tokenId: string): Promise<boolean> => {
  const rows = await tx
    .updateTable('tokens')
    .set({ revoked_at: sql<Date>`least(revoked_at, now())` })
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .returning('token_id')
    .execute()
  return rows.length > 0
}

/** Skips rows that another transaction holds: look-ups never wait for each other. */
const markUsed = (tx: AnyTransaction, tenant: string, tokens: readonly LiveToken[]) => {
  const free = tx
    .selectFrom('tokens')
    .select('token_id')
    .where('tenant_id', '=', tenant)
    .where(
      'token_id',
      'in',
      tokens.map(({ token_id }) => token_id),
    )
    .forNoKeyUpdate()
    .skipLocked()
  return tx
    .updateTable('tokens')
    .set({ last_used_at: sql`now()` })
    .where('tenant_id', '=', tenant)
    .where('token_id', 'in', free)
    .execute()
}
