import type { Selectable } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

export const findMerchants = (tx: Tx, tenant: string) =>
  tx.selectFrom('merchants').select(['merchant_id', 'rate_card']).where('tenant_id', '=', tenant).execute()

const merchantColumns = ['merchant_id', 'name', 'email', 'password_hash', 'is_active'] as const
export type MerchantRow = Selectable<Pick<Tables['merchants'], (typeof merchantColumns)[number]>>

export const findMerchantByEmail = (tx: Tx, tenant: string, email: string) =>
  tx
    .selectFrom('merchants')
    .select(merchantColumns)
    .where('tenant_id', '=', tenant)
    .where('email', '=', email.trim().toLowerCase())
    .executeTakeFirst()

export const findMerchant = (tx: Tx, tenant: string, merchantId: string) =>
  tx
    .selectFrom('merchants')
    .select(merchantColumns)
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst()

/** Keeps the merchant from changing until the transaction ends. */
export const keepMerchant = (tx: Tx, tenant: string, merchantId: string) =>
  tx
    .selectFrom('merchants')
    .select(merchantColumns)
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .forShare()
    .executeTakeFirst()

/** The active businesses of one merchant. */
export const findBusinessesOf = (tx: Tx, tenant: string, merchantId: string) =>
  tx
    .selectFrom('businesses')
    .select(['business_id', 'name', 'is_default', 'is_active'])
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('is_active', '=', true)
    .orderBy('business_id')
    .execute()

/** The active businesses of all merchants of a tenant. */
export const findBusinesses = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('businesses')
    .select(['business_id', 'merchant_id'])
    .where('tenant_id', '=', tenant)
    .where('is_active', '=', true)
    .execute()
