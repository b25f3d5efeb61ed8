import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'

export interface NewToken {
  tenant_id: string
  token_id: string
  hash: Buffer
  merchant_id: string | null
  staff_name: string | null
  expires_at: Date | null
}

export const insertToken = (tx: Tx, token: NewToken) => tx.insertInto('tokens').values(token).execute()

/** The token of that hash, if it is neither revoked nor expired. Marks it as used, once a minute. */
export const findLiveToken = async (tx: Tx, tenant: string, hash: Buffer) => {
  const token = await tx
    .selectFrom('tokens')
    .select(['token_id', 'merchant_id', 'staff_name', 'expires_at', 'last_used_at'])
    .where('tenant_id', '=', tenant)
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`coalesce(expires_at > now(), true)`)
    .executeTakeFirst()
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

/** False when the tenant has no such token. Revoking twice keeps the first time. */
export const revokeToken = async (tx: Tx, tenant: string, tokenId: string): Promise<boolean> => {
  const rows = await tx
    .updateTable('tokens')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .returning('token_id')
    .execute()
  return rows.length > 0
}
