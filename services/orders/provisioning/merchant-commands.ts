import type { Applied } from '@courier/shared/cli/changes.ts'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { applyTenant } from './apply.ts'
import { checkFile } from './check-file.ts'

export interface MerchantRequest {
  tenant: string
  email: string
}

export interface NewMerchant extends MerchantRequest {
  name: string
  rateCard?: string
  /** Holds texts such as `7290:Lanka Shoes Online`; the first business is the default. */
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
export const changePassword = (pool: pg.Pool, request: MerchantRequest, password: string) =>
  change(pool, request, { password })

/** Refuses a merchant's tokens and logins; its orders stay. Throws UsageError for an unknown tenant or merchant. */
export const deactivateMerchant = (pool: pg.Pool, request: MerchantRequest) => change(pool, request, { active: false })

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

/** Reads the merchant as a file has it. */
const findMerchant = async (pool: pg.Pool, { tenant, email }: MerchantRequest): Promise<object | undefined> => {
  const values = [tenant, email.trim().toLowerCase()]
  const [row] = await readInTenant<{ entry: object }>(pool, tenant, { text: entrySql, values })
  return row?.entry
}

const entrySql = `
  select json_strip_nulls(json_build_object('name', name, 'email', email, 'rate_card', rate_card,
    'payable_when', payable_when, 'payable_after_days', payable_after_days, 'charges_apart', charges_apart, 'phone',
      phone,
    'businesses', (
      select coalesce(json_agg(json_build_object('id', business_id, 'name', name, 'default', is_default)), '[]')
      from businesses where tenant_id = $1 and merchant_id = merchants.merchant_id and is_active
    ))) as entry
  from merchants where tenant_id = $1 and email = $2`
