import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { query } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { selectMerchant } from './queries.ts'
import { readName } from './staff-commands.ts'
import { createToken, type Holder } from './tokens.ts'

export interface TokenRequest extends commands.TokenRequest {
  merchant?: string
  staff?: string
}

/** Creates a token. Throws UsageError for an unknown tenant, no single active holder, or an invalid expiry. */
export const createTokenFor = async (pool: pg.Pool, request: TokenRequest, by = operator()) => {
  const { tenant, merchant, staff } = request
  if (!merchant?.trim() === !staff?.trim()) throw new UsageError('name one holder: --merchant EMAIL or --staff NAME')
  return commands.createTokenBy(pool, request, by, async (tx: Tx, expiresAt) => {
    const holder = staff?.trim()
      ? { staff_name: readName(staff, '--staff') }
      : await findTokenHolder(tx, tenant, merchant ?? '')
    return createToken(tx, tenant, holder, expiresAt)
  })
}

const findTokenHolder = async (tx: Tx, tenant: string, email: string): Promise<Holder> => {
  const merchant = await selectMerchant(tx, tenant, email).executeTakeFirst()
  if (!merchant) throw new UsageError(`tenant ${tenant} has no merchant ${email}`)
  if (!merchant.is_active) throw new UsageError(`merchant ${email} of tenant ${tenant} is deactivated`)
  return { merchant_id: merchant.merchant_id }
}

export const listTokens = (pool: pg.Pool, tenant?: string) =>
  commands.listHolders(
    pool,
    tenant,
    (tx: Tx, id) => query<ListedToken>(tx)`
      select token_id, tenant_id, email, staff_name, tokens.name, tokens.created_at, expires_at, revoked_at,
        last_used_at
      from tokens left join merchants using (tenant_id, merchant_id)
      where tenant_id = ${id} order by tokens.created_at`,
  )

type ListedToken = Record<'token_id' | 'tenant_id', string> &
  Record<'email' | 'staff_name' | 'name', string | null> &
  Record<'created_at', Date> &
  Record<'expires_at' | 'revoked_at' | 'last_used_at', Date | null>
