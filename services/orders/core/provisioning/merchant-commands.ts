import type { Applied } from '@courier/shared/cli/changes.ts'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { applyTenant } from './apply.ts'
import { checkFile } from './check-file.ts'
import type { MerchantsFile } from './tenant-file.ts'

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
  const businesses = business.map((text, index) => {
    const [, id, of] = /^(\d{1,10}):(.+)$/.exec(text) ?? []
    if (!id) throw new UsageError(`--business must be ID:NAME such as 7290:Lanka Shoes Online, not ${text}`)
    return { id: Number(id), name: of, default: index === 0 }
  })
  const entry = { name, email, password, businesses, ...(rateCard && { rate_card: rateCard }) }
  return apply(pool, tenant, async tx => {
    if (await findMerchant(tx, request)) throw new UsageError(`there is a merchant ${email} already`)
    return entry
  })
}

/** Gives a merchant another password, which ends its logins. Throws UsageError for an unknown tenant or merchant. */
export const changePassword = (pool: pg.Pool, request: MerchantRequest, password: string) =>
  change(pool, request, { password })

/** Refuses a merchant's tokens and logins; its orders stay. Throws UsageError for an unknown tenant or merchant. */
export const deactivateMerchant = (pool: pg.Pool, request: MerchantRequest) => change(pool, request, { active: false })

const change = (pool: pg.Pool, request: MerchantRequest, fields: object): Promise<Applied> =>
  apply(pool, request.tenant, async tx => {
    const current = await findMerchant(tx, request)
    if (!current) throw new UsageError(`the tenant ${request.tenant} has no merchant ${request.email}`)
    return { ...current, ...fields }
  })

/**
 * Reads the merchant again once no other operator can change it, which keeps another operator's changes. Applies the
 * fields of the core, which keeps those of capabilities.
 */
const apply = async (pool: pg.Pool, tenant: string, read: (tx: Tx) => Promise<object>): Promise<Applied> => {
  await requireTenant(pool, tenant)
  const readFile = async (tx: Tx) => ({ tenant: { id: tenant }, merchants: [await read(tx)] }) as MerchantsFile
  const checked = checkFile(await inTenant(pool, tenant, readFile))
  return checked.kind === 'refused' ? checked : applyTenant(pool, checked.file, false, { reread: readFile })
}

const findMerchant = async (tx: Tx, { tenant, email }: MerchantRequest): Promise<object | undefined> => {
  const values = [tenant, email.trim().toLowerCase()]
  return (await tx.rows<{ entry: object }>(entrySql, values))[0]?.entry
}

const entrySql = `
  select json_strip_nulls(json_build_object('name', name, 'email', email, 'rate_card', rate_card,
    'businesses', (
      select coalesce(json_agg(json_build_object('id', business_id, 'name', name, 'default', is_default)), '[]')
      from businesses where tenant_id = $1 and merchant_id = merchants.merchant_id and is_active
    ))) as entry
  from merchants where tenant_id = $1 and email = $2`
