import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

export interface TokenRequest extends commands.TokenRequest {
  staff?: string
}

/** Creates a token. Throws UsageError for an unknown tenant, a blank name and an invalid time. */
export const createTokenFor = async (pool: pg.Pool, request: TokenRequest, by = operator()) => {
  const { tenant, staff } = request
  if (!staff?.trim()) throw new UsageError('name the holder: --staff NAME')
  return commands.createTokenBy(pool, request, by, async (tx: Tx, expires_at) => {
    const { id, token, hash } = newToken()
    await tx
      .insertInto('tokens')
      .values({ tenant_id: tenant, token_id: id, hash, staff_name: staff, expires_at })
      .execute()
    return { id, token }
  })
}

/** Lists the tokens of one tenant, or of all tenants, without their hashes. */
export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listHolders(pool, tenant, (tx: Tx, id) => findTokens(tx, id))

const findTokens = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('tokens')
    .select(['token_id', 'tenant_id', 'staff_name', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'])
    .where('tenant_id', '=', tenant)
    .orderBy('created_at')
    .execute()
