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
 * Deletes up to 10,000 tokens of the tenant that ended a week ago or earlier; returns how many. Until then the list of
 * tokens shows them.
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
