import type pg from 'pg'
import { type Actor, audit } from '../postgres/audit.ts'
import { type AnyTransaction, findTenantIds, inTenant, type TenantTransaction } from '../postgres/database.ts'
import { revokeToken } from '../postgres/tokens.ts'
import { readTime, UsageError } from './command-line.ts'

/** Returns the expiry of a token: ISO 8601, null for never. Throws UsageError for anything but a future time. */
export const readExpiry = (expires: string | undefined): Date | null => {
  if (expires === undefined) return null
  const expiresAt = readTime(expires)
  if (!expiresAt || expiresAt.getTime() <= Date.now())
    throw new UsageError(`--expires must be a future time such as 2027-01-31T00:00:00Z, not ${expires}`)
  return expiresAt
}

/** Lists the rows of one tenant, or of all; `find` reads those of one, without secrets. */
export const listOf = async <Tables, Row>(
  pool: pg.Pool,
  tenant: string | undefined,
  find: (tx: TenantTransaction<Tables>, tenant: string) => Promise<Row[]>,
): Promise<Row[]> => {
  const tenants = tenant === undefined ? await findTenantIds(pool) : [tenant]
  const lists = await Promise.all(
    tenants.map(id => inTenant(pool, id, (tx: TenantTransaction<Tables>) => find(tx, id))),
  )
  return lists.flat()
}

/** Throws UsageError for an unknown tenant. */
export const requireTenant = async (pool: pg.Pool, tenant: string): Promise<void> => {
  const tenants = await findTenantIds(pool)
  if (!tenants.includes(tenant))
    throw new UsageError(`there is no tenant ${tenant}; there are: ${tenants.join(', ') || 'none'}`)
}

/** Returns the tenant that the token belongs to. `program` is the operator's command, for the error. */
export const revokeTokenById = async (pool: pg.Pool, tokenId: string, program: string, by: Actor): Promise<string> => {
  for (const tenant of await findTenantIds(pool))
    if (await inTenant(pool, tenant, (tx: AnyTransaction) => revoke(tx, tenant, tokenId, by))) return tenant
  throw new UsageError(`there is no token ${tokenId}; ${program} token list shows them`)
}

const revoke = async (tx: AnyTransaction, tenant: string, tokenId: string, by: Actor): Promise<boolean> => {
  const isRevoked = await revokeToken(tx, tenant, tokenId)
  if (isRevoked) await audit(tx, tenant, by, 'token.revoked', tokenId)
  return isRevoked
}
