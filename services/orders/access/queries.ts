import type { Tx } from '../database/tables.ts'

export const findMerchants = (tx: Tx, tenant: string) =>
  tx.selectFrom('merchants').select(['merchant_id', 'rate_card']).where('tenant_id', '=', tenant).execute()

export const findMerchantByEmail = (tx: Tx, tenant: string, email: string) =>
  tx
    .selectFrom('merchants')
    .select('merchant_id')
    .where('tenant_id', '=', tenant)
    .where('email', '=', email.trim().toLowerCase())
    .executeTakeFirst()

/** The active businesses of all merchants of a tenant. */
export const findBusinesses = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('businesses')
    .select(['business_id', 'merchant_id'])
    .where('tenant_id', '=', tenant)
    .where('is_active', '=', true)
    .execute()
