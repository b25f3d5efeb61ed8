import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

export interface TokenRequest {
  tenant: string
  staff: string
  /** ISO 8601. */
  expires?: string
}

/** Creates a token. Throws UsageError for an unknown tenant, a blank name and an invalid time. */
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
    await tx
      .insertInto('tokens')
      .values({ tenant_id: tenant, token_id: id, hash, staff_name: staff, expires_at })
      .execute()
    await audit(tx, tenant, by, 'token.created', id)
  })
  return { id, token }
}

/** Lists the tokens of one tenant, or of all tenants, without their hashes. */
export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listOf(pool, tenant, (tx: Tx, id) => findTokens(tx, id))

const findTokens = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('tokens')
    .select(['token_id', 'tenant_id', 'staff_name', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'])
    .where('tenant_id', '=', tenant)
    .orderBy('created_at')
    .execute()

/** Revokes a token; returns its tenant. */
export const revokeTokenById = (pool: pg.Pool, tokenId: string, by: Actor = operator()): Promise<string> =>
  commands.revokeTokenById(pool, tokenId, 'notifier', by)
