import type { Applied } from '@courier/shared/cli/changes.ts'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { applyTenant } from './apply.ts'
import { checkFile } from './check-file.ts'

export interface MerchantRequest {
  tenant: string
  email: string
}

export interface NewMerchant extends MerchantRequest {
  name: string
  rateCard?: string
  /** Matches `7290:Lanka Shoes Online`; the first business is the default. */
  business: string[]
}

/** Creates a merchant with its businesses. Throws UsageError for an unknown tenant, or an existing merchant. */
export const addMerchant = async (pool: pg.Pool, request: NewMerchant, password: string): Promise<Applied> => {
  const { tenant, email, name, rateCard, business } = request
  await requireTenant(pool, tenant)
  if (await findMerchant(pool, request)) throw new UsageError(`there is a merchant ${email} already`)
  const businesses = business.map((text, index) => {
    const [, id, of] = /^(\d{1,10}):(.+)$/.exec(text) ?? []
    if (!id) throw new UsageError(`--business must be ID:NAME such as 7290:Lanka Shoes Online, not ${text}`)
    return { id: Number(id), name: of, default: index === 0 }
  })
  return apply(pool, tenant, { name, email, password, businesses, ...(rateCard && { rate_card: rateCard }) })
}

/** Gives a merchant another password, which ends its logins. Throws UsageError for an unknown tenant or merchant. */
export const changePassword = (pool: pg.Pool, request: MerchantRequest, password: string): Promise<Applied> =>
  change(pool, request, { password })

/** Refuses a merchant's tokens and logins; its orders stay. Throws UsageError for an unknown tenant or merchant. */
export const deactivateMerchant = (pool: pg.Pool, request: MerchantRequest): Promise<Applied> =>
  change(pool, request, { active: false })

const change = async (pool: pg.Pool, request: MerchantRequest, fields: object): Promise<Applied> => {
  await requireTenant(pool, request.tenant)
  const current = await findMerchant(pool, request)
  if (!current) throw new UsageError(`the tenant ${request.tenant} has no merchant ${request.email}`)
  return apply(pool, request.tenant, { ...current, ...fields })
}

const apply = async (pool: pg.Pool, tenant: string, merchant: object): Promise<Applied> => {
  const checked = checkFile({ tenant: { id: tenant }, merchants: [merchant] })
  return checked.kind === 'refused' ? checked : applyTenant(pool, checked.file, false)
}

/** Formats the merchant as a file has it. */
const findMerchant = (pool: pg.Pool, { tenant, email }: MerchantRequest) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const row = await tx
      .selectFrom('merchants')
      .select(['merchant_id', 'name', 'email', 'rate_card'])
      .select(['payable_when', 'payable_after_days', 'charges_apart', 'phone'])
      .where('tenant_id', '=', tenant)
      .where('email', '=', email.trim().toLowerCase())
      .executeTakeFirst()
    if (!row) return undefined
    const businesses = await tx
      .selectFrom('businesses')
      .select(['business_id as id', 'name', 'is_default as default'])
      .where('tenant_id', '=', tenant)
      .where('merchant_id', '=', row.merchant_id)
      .where('is_active', '=', true)
      .execute()
    const { merchant_id, ...entry } = row
    return { ...Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)), businesses }
  })
