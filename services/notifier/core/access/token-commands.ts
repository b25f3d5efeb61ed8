import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

export interface TokenRequest extends commands.TokenRequest {
  staff?: string
}

/** Creates a token. Throws UsageError for an unknown tenant, a blank name or an invalid time. */
export const createTokenFor = async (pool: pg.Pool, request: TokenRequest, by = operator()) => {
  const { tenant, staff } = request
  if (!staff?.trim()) throw new UsageError('name the holder: --staff NAME')
  return commands.createTokenBy(pool, request, by, async (tx: Tx, expiresAt) => {
    const { id, token, hash } = newToken()
    await sql`
      insert into tokens (tenant_id, token_id, hash, staff_name, expires_at)
      values (${tenant}, ${id}, ${hash}, ${staff}, ${expiresAt})`.execute(tx)
    return { id, token }
  })
}

/** Lists the tokens of one tenant, or of all tenants, without their hashes. */
export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listHolders(pool, tenant, async (tx: Tx, id) => {
    const rows = await query<{ token_id: string; staff_name: string; revoked_at: Date | null }>(tx)`
      select token_id, tenant_id, staff_name, created_at, expires_at, revoked_at, last_used_at from tokens
      where tenant_id = ${id} order by created_at`
    return rows
  })
