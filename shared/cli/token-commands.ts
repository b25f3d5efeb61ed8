import type pg from 'pg'
import { type Actor, audit, operator } from '../postgres/audit.ts'
import { type AnyTransaction, findTenantIds, inTenant, type TenantTransaction } from '../postgres/database.ts'
import { isFuture, revokeToken } from '../postgres/tokens.ts'
import { readTime, UsageError } from './command-line.ts'

export interface TokenRequest {
  tenant: string
  /** ISO 8601. */
  expires?: string
}

interface Created {
  id: string
  token: string
}

/** Creates a token with `insert`. Throws UsageError for an unknown tenant or an invalid time. */
export const createTokenBy = async <Tables>(
  pool: pg.Pool,
  { tenant, expires }: TokenRequest,
  by: Actor,
  insert: (tx: TenantTransaction<Tables>, expiresAt: Date | null) => Promise<Created>,
): Promise<Created> => {
  const expiresAt = expires === undefined ? null : readTime(expires)
  const refuse = () => new UsageError(`--expires must be a future time such as 2027-01-31T00:00:00Z, not ${expires}`)
  if (expiresAt === undefined) throw refuse()
  await requireTenant(pool, tenant)
  return inTenant(pool, tenant, async (tx: TenantTransaction<Tables>) => {
    if (expiresAt && !(await isFuture(tx, expiresAt))) throw refuse()
    const { id, token } = await insert(tx, expiresAt)
    await audit(tx, tenant, by, 'token.created', id)
    return { id, token }
  })
}

/** Lists the rows of one tenant, or of all; `find` reads the rows of one tenant, without secrets. */
export const listHolders = async <Tables, Row>(
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

/** Ends a token, and returns its tenant. */
export const revokeTokenById = async (pool: pg.Pool, tokenId: string, by = operator()): Promise<string> => {
  for (const tenant of await findTenantIds(pool)) {
    const isRevoked = await inTenant(pool, tenant, async (tx: AnyTransaction) => {
      const isRevoked = await revokeToken(tx, tenant, tokenId)
      if (isRevoked) await audit(tx, tenant, by, 'token.revoked', tokenId)
      return isRevoked
    })
    if (isRevoked) return tenant
  }
  throw new UsageError(`there is no token ${tokenId}; token list shows them`)
}
