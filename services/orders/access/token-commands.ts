import { UsageError } from '@courier/shared/command-line.ts'
import { createDatabase, inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { findMerchantByEmail } from './queries.ts'
import { findTokens, revokeToken } from './token-queries.ts'
import { createToken, type Holder } from './tokens.ts'

export interface TokenRequest {
  tenant: string
  merchant?: string
  staff?: string
  /** ISO 8601. */
  expires?: string
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Throws UsageError for an unknown tenant or merchant and for a wrong time. */
export const createTokenFor = async (pool: pg.Pool, request: TokenRequest): Promise<{ id: string; token: string }> => {
  const { tenant, merchant, staff, expires } = request
  if (!merchant?.trim() === !staff?.trim()) throw new UsageError('name one holder: --merchant EMAIL or --staff NAME')
  const expiresAt = expires === undefined ? null : new Date(isoTime.test(expires) ? expires : Number.NaN)
  if (expiresAt && !(expiresAt.getTime() > Date.now()))
    throw new UsageError(`--expires must be a time to come, such as 2027-01-31T00:00:00Z, not ${expires}`)
  const tenants = await findTenantIds(pool)
  if (!tenants.includes(tenant))
    throw new UsageError(`there is no tenant ${tenant}; there are: ${tenants.join(', ') || 'none'}`)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const holder = staff === undefined ? await findHolder(tx, tenant, merchant ?? '') : { staffName: staff }
    return createToken(tx, tenant, holder, expiresAt)
  })
}

const findHolder = async (tx: Tx, tenant: string, email: string): Promise<Holder> => {
  const merchant = await findMerchantByEmail(tx, tenant, email)
  if (!merchant) throw new UsageError(`tenant ${tenant} has no merchant ${email}`)
  return { merchantId: merchant.merchant_id }
}

/** The tokens of one tenant, or of all. */
export const listTokens = async (pool: pg.Pool, tenant?: string) => {
  const tenants = tenant === undefined ? await findTenantIds(pool) : [tenant]
  const lists = await Promise.all(tenants.map(id => inTenant(pool, id, (tx: Tx) => findTokens(tx, id))))
  return lists.flat()
}

/** Returns the tenant whose token it was. */
export const revokeTokenById = async (pool: pg.Pool, tokenId: string): Promise<string> => {
  for (const tenant of await findTenantIds(pool))
    if (await inTenant(pool, tenant, (tx: Tx) => revokeToken(tx, tenant, tokenId))) return tenant
  throw new UsageError(`there is no token ${tokenId}; orders token list shows them`)
}

const findTenantIds = async (pool: pg.Pool): Promise<string[]> => {
  const rows = await createDatabase<Tables>(pool)
    .selectFrom('tenants')
    .select('tenant_id')
    .orderBy('tenant_id')
    .execute()
  return rows.map(row => row.tenant_id)
}
