import { inTenant } from '@courier/shared/database.ts'
import type { FindCaller } from '@courier/shared/http/authenticate.ts'
import { findLiveToken, type LiveToken, rememberCallers } from '@courier/shared/tokens.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

/** Whom a token speaks for. */
export interface Caller {
  readonly tokenId: string
  readonly staffName: string
  readonly expiresAt: Date | null
}

/** Finds the holders of tokens, remembering them for a few seconds. undefined: unknown, expired or revoked. */
export const createStaffReader = (pool: pg.Pool): FindCaller<Caller> =>
  rememberCallers<Caller>((tenant, hash) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const row = await findLiveToken<LiveToken & { staff_name: string }>(tx, tenant, hash)
      return row && { tokenId: row.token_id, staffName: row.staff_name, expiresAt: row.expires_at }
    }),
  )
