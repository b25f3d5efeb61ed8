import { type Kysely, sql } from 'kysely'
import type pg from 'pg'
import { type Actor, audit } from './audit.ts'
import { readTime, UsageError } from './command-line.ts'
import { type AnyTransaction, createDatabase, inTenant, type TenantTransaction } from './database.ts'

/** When a token ends: ISO 8601, null for never. Throws UsageError for anything but a time to come. */
export const readExpiry = (expires: string | undefined): Date | null => {
  if (expires === undefined) return null
  const expiresAt = readTime(expires)
  if (!expiresAt || expiresAt.getTime() <= Date.now())
    throw new UsageError(`--expires must be a time to come, such as 2027-01-31T00:00:00Z, not ${expires}`)
  return expiresAt
}

export const findTenantIds = async (pool: pg.Pool): Promise<string[]> => {
  const db: Kysely<{ tenants: { tenant_id: string } }> = createDatabase(pool)
  const rows = await db.selectFrom('tenants').select('tenant_id').orderBy('tenant_id').execute()
  return rows.map(row => row.tenant_id)
}

/** The tokens of one tenant, or of all; `find` reads those of one, without their hashes. */
export const listTokens = async <Tables, Token>(
  pool: pg.Pool,
  tenant: string | undefined,
  find: (tx: TenantTransaction<Tables>, tenant: string) => Promise<Token[]>,
): Promise<Token[]> => {
  const tenants = tenant === undefined ? await findTenantIds(pool) : [tenant]
  const lists = await Promise.all(
    tenants.map(id => inTenant(pool, id, (tx: TenantTransaction<Tables>) => find(tx, id))),
  )
  return lists.flat()
}

/** Throws UsageError for a tenant that is not there. */
export const requireTenant = async (pool: pg.Pool, tenant: string): Promise<void> => {
  const tenants = await findTenantIds(pool)
  if (!tenants.includes(tenant))
    throw new UsageError(`there is no tenant ${tenant}; there are: ${tenants.join(', ') || 'none'}`)
}

/** Returns the tenant whose token it was. `program` is what the operator runs to see the tokens. */
export const revokeTokenById = async (pool: pg.Pool, tokenId: string, program: string, by: Actor): Promise<string> => {
  for (const tenant of await findTenantIds(pool))
    if (await inTenant(pool, tenant, (tx: AnyTransaction) => revokeToken(tx, tenant, tokenId, by))) return tenant
  throw new UsageError(`there is no token ${tokenId}; ${program} token list shows them`)
}

/** False when the tenant has no such token. Revoking twice keeps the first time. */
const revokeToken = async (tx: AnyTransaction, tenant: string, tokenId: string, by: Actor): Promise<boolean> => {
  const rows = await tx
    .updateTable('tokens')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .returning('token_id')
    .execute()
  if (rows.length > 0) await audit(tx, tenant, by, 'token.revoked', tokenId)
  return rows.length > 0
}
