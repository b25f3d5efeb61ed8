import { inTenant } from '@courier/shared/database.ts'
import { findLiveToken, type LiveToken, newToken, rememberCallers } from '@courier/shared/tokens.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { insertToken } from './token-queries.ts'

export type Holder = { merchantId: string } | { staffName: string }

export const createToken = async (tx: Tx, tenant: string, holder: Holder, expiresAt: Date | null) => {
  const { id, token, hash } = newToken()
  await insertToken(tx, {
    tenant_id: tenant,
    token_id: id,
    hash,
    merchant_id: 'merchantId' in holder ? holder.merchantId : null,
    staff_name: 'staffName' in holder ? holder.staffName : null,
    expires_at: expiresAt,
  })
  return { id, token }
}

/** Whom a token speaks for. */
export interface Caller {
  readonly tokenId: string
  readonly merchantId: string | null
  readonly staffName: string | null
  readonly expiresAt: Date | null
}

/** Finds the holders of tokens, remembering them for a few seconds. undefined: unknown, expired or revoked. */
export const createTokenReader = (pool: pg.Pool) =>
  rememberCallers<Caller>((tenant, hash) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const row = await findLiveToken<LiveToken & { merchant_id: string | null }>(tx, tenant, hash)
      if (!row) return undefined
      const { token_id: tokenId, merchant_id: merchantId, staff_name: staffName, expires_at: expiresAt } = row
      return { tokenId, merchantId, staffName, expiresAt }
    }),
  )
