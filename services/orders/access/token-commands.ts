import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { selectMerchant } from './queries.ts'
import { createToken, findTokens, type Holder } from './tokens.ts'

export interface TokenRequest {
  tenant: string
  merchant?: string
  staff?: string
  /** ISO 8601. */
  expires?: string
}

/** Throws UsageError for an unknown tenant or merchant, or an invalid time. */
export const createTokenFor = async (
  pool: pg.Pool,
  request: TokenRequest,
  by: Actor = operator(),
): Promise<{ id: string; token: string }> => {
  const { tenant, merchant, staff, expires } = request
  if (!merchant?.trim() === !staff?.trim()) throw new UsageError('name one holder: --merchant EMAIL or --staff NAME')
  const expiresAt = commands.readExpiry(expires)
  await commands.requireTenant(pool, tenant)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const holder = staff === undefined ? await findTokenHolder(tx, tenant, merchant ?? '') : { staffName: staff }
    const { id, token } = await createToken(tx, tenant, holder, expiresAt)
    await audit(tx, tenant, by, 'token.created', id)
    return { id, token }
  })
}

const findTokenHolder = async (tx: Tx, tenant: string, email: string): Promise<Holder> => {
  const merchant = await selectMerchant(tx, tenant, email).executeTakeFirst()
  if (!merchant) throw new UsageError(`tenant ${tenant} has no merchant ${email}`)
  if (!merchant.is_active) throw new UsageError(`merchant ${email} of tenant ${tenant} is deactivated`)
  return { merchantId: merchant.merchant_id }
}

/** Lists the tokens of one tenant, or of all. */
export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listOf(pool, tenant, (tx: Tx, id) => findTokens(tx, id))

/** Returns the tenant of the token. */
export const revokeTokenById = (pool: pg.Pool, tokenId: string, by: Actor = operator()): Promise<string> =>
  commands.revokeTokenById(pool, tokenId, 'orders', by)
