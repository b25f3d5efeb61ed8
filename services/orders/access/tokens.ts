import { rememberCallers } from '@courier/shared/postgres/token-holders.ts'
import { findLiveTokens, type LiveToken, newToken } from '@courier/shared/postgres/tokens.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

export type Holder = { merchantId: string; fromLogin?: true } | { staffName: string }

export const createToken = async (tx: Tx, tenant: string, holder: Holder, expiresAt: Date | null) => {
  const { id, token, hash } = newToken()
  await tx
    .insertInto('tokens')
    .values({
      tenant_id: tenant,
      token_id: id,
      hash,
      merchant_id: 'merchantId' in holder ? holder.merchantId : null,
      staff_name: 'staffName' in holder ? holder.staffName : null,
      from_login: 'fromLogin' in holder,
      expires_at: expiresAt,
    })
    .execute()
  return { id, token }
}

/** The holder of a token. */
export interface Caller {
  readonly tokenId: string
  readonly merchantId: string | null
  readonly staffName: string | null
  readonly expiresAt: Date | null
}

/** Finds the holders of tokens, cached for a few seconds. undefined: unknown, expired or revoked. */
export const createTokenReader = (pool: pg.Pool) => rememberCallers<Caller>(pool, findCallers)

/** Staff, or a merchant that is active. */
const isOfActive = sql<boolean>`(merchant_id is null or exists (
  select from merchants where merchants.tenant_id = tokens.tenant_id and merchants.merchant_id = tokens.merchant_id
    and merchants.is_active))`

const findCallers = async (tx: Tx, tenant: string, hashes: readonly Buffer[]): Promise<Map<string, Caller>> => {
  const rows = await findLiveTokens<LiveToken & { merchant_id: string | null }>(tx, tenant, hashes, isOfActive)
  return new Map(
    rows.map(({ token_id: tokenId, merchant_id: merchantId, staff_name: staffName, expires_at: expiresAt, hash }) => [
      hash.toString('base64'),
      { tokenId, merchantId, staffName, expiresAt },
    ]),
  )
}

export const findTokens = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('tokens')
    .leftJoin('merchants', join =>
      join
        .onRef('merchants.tenant_id', '=', 'tokens.tenant_id')
        .onRef('merchants.merchant_id', '=', 'tokens.merchant_id'),
    )
    .select([
      'token_id',
      'tokens.tenant_id',
      'email',
      'staff_name',
      'created_at',
      'expires_at',
      'revoked_at',
      'last_used_at',
    ])
    .where('tokens.tenant_id', '=', tenant)
    .orderBy('created_at')
    .execute()

/**
 * Revokes the least recently used live tokens from logins of the merchant, so that `kept` stay. Two processes at once may
 * leave one more each; the next login revokes it.
 */
export const revokeOldestLogins = (tx: Tx, tenant: string, merchantId: string, kept: number) => {
  const tooMany = tx
    .selectFrom('tokens')
    .select('token_id')
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('from_login', '=', sql.lit(true))
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy(sql`coalesce(last_used_at, created_at)`, 'desc')
    .offset(kept)
  return tx
    .updateTable('tokens')
    .set({ revoked_at: sql`now()` })
    .where('tenant_id', '=', tenant)
    .where('token_id', 'in', tooMany)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Revokes all live tokens from logins of the merchants. */
export const revokeLoginsOf = (tx: Tx, tenant: string, merchantIds: readonly string[]) =>
  tx
    .updateTable('tokens')
    .set({ revoked_at: sql`now()` })
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`merchant_id = any(${merchantIds}::bigint[])`)
    .where('from_login', '=', sql.lit(true))
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['token_id', 'merchant_id'])
    .execute()

/**
 * Deletes up to 10,000 tokens of the tenant that expired or were revoked a week ago or earlier; returns how many. Until
 * then `token list` shows them.
 */
export const deleteOldTokens = async (tx: Tx, tenant: string): Promise<number> => {
  const ended = tx
    .selectFrom('tokens')
    .select('token_id')
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`least(expires_at, revoked_at) < now() - interval '7 days'`)
    .limit(10_000)
  const { numDeletedRows } = await tx
    .deleteFrom('tokens')
    .where('tenant_id', '=', tenant)
    .where('token_id', 'in', ended)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
