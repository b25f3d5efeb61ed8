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
