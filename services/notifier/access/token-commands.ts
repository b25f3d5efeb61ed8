import { type Actor, audit, operator } from '@courier/shared/audit.ts'
import { UsageError } from '@courier/shared/command-line.ts'
import { inTenant } from '@courier/shared/database.ts'
import * as commands from '@courier/shared/token-commands.ts'
import { newToken } from '@courier/shared/tokens.ts'
import type { Insertable } from 'kysely'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'

export interface TokenRequest {
  tenant: string
  staff: string
  /** ISO 8601. */
  expires?: string
}

/** Throws UsageError for an unknown tenant, a blank name and a wrong time. */
export const createTokenFor = async (
  pool: pg.Pool,
  request: TokenRequest,
  by: Actor = operator(),
): Promise<{ id: string; token: string }> => {
  const { tenant, staff, expires } = request
  if (!staff.trim()) throw new UsageError('name the holder: --staff NAME')
  const expires_at = commands.readExpiry(expires)
  await commands.requireTenant(pool, tenant)
  const { id, token, hash } = newToken()
  await inTenant(pool, tenant, async (tx: Tx) => {
    await insertToken(tx, { tenant_id: tenant, token_id: id, hash, staff_name: staff, expires_at })
    await audit(tx, tenant, by, 'token.created', id)
  })
  return { id, token }
}

const insertToken = (tx: Tx, token: Insertable<Tables['tokens']>) => tx.insertInto('tokens').values(token).execute()

/** The tokens of one tenant, or of all, without their hashes. */
export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listTokens(pool, tenant, (tx: Tx, id) => findTokens(tx, id))

const findTokens = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('tokens')
    .select(['token_id', 'tenant_id', 'staff_name', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'])
    .where('tenant_id', '=', tenant)
    .orderBy('created_at')
    .execute()

/** Returns the tenant whose token it was. */
export const revokeTokenById = (pool: pg.Pool, tokenId: string, by: Actor = operator()): Promise<string> =>
  commands.revokeTokenById(pool, tokenId, 'notifier', by)
