import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

const merchantColumns = ['merchant_id', 'name', 'email', 'password_hash', 'is_active'] as const
export type MerchantRow = Selectable<Pick<Tables['merchants'], (typeof merchantColumns)[number]>>

export const selectMerchants = (tx: Tx, tenant: string) =>
  tx.selectFrom('merchants').select(merchantColumns).where('tenant_id', '=', tenant)

export const selectMerchant = (tx: Tx, tenant: string, email: string) =>
  selectMerchants(tx, tenant).where('email', '=', email.trim().toLowerCase())

export const staffColumns = ['staff_id', 'name', 'email', 'role', 'roles', 'password_hash', 'is_active'] as const
export type StaffRow = Selectable<Pick<Tables['staff'], (typeof staffColumns)[number]>>

export const selectStaff = (tx: Tx, tenant: string, email: string) =>
  tx
    .selectFrom('staff')
    .select(staffColumns)
    .where('tenant_id', '=', tenant)
    .where('email', '=', email.trim().toLowerCase())

/** Reads the roles of a person. Rows from before a person could have several have `role` alone. */
export const readRoles = ({ role, roles }: Pick<StaffRow, 'role' | 'roles'>): readonly StaffRole[] => roles ?? [role]

/** Reads the roles of the active accounts, by id. */
export const findRoles = async (tx: Tx, tenant: string, staffIds: readonly string[]) => {
  const rows = await tx
    .selectFrom('staff')
    .select(['staff_id', 'role', 'roles'])
    .where('tenant_id', '=', tenant)
    .where('staff_id', 'in', staffIds)
    .where('is_active', '=', sql.lit(true))
    .execute()
  return new Map(rows.map(row => [row.staff_id, readRoles(row)]))
}

/** Reads the tenant of a token, and the e-mail address of the account behind it; null without an account. */
export const findStaffByToken = (tx: Tx, tenant: string, tokenId: string) =>
  tx
    .selectFrom('tokens')
    .innerJoin('tenants', 'tenants.tenant_id', 'tokens.tenant_id')
    .leftJoin('staff', join =>
      join.onRef('staff.tenant_id', '=', 'tokens.tenant_id').onRef('staff.staff_id', '=', 'tokens.staff_id'),
    )
    .select(['tenants.tenant_id as id', 'tenants.name', 'currency', 'country', 'time_zone', 'email'])
    .where('tokens.tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .executeTakeFirst()

/** Reads the active businesses of one merchant. */
export const findOwnBusinesses = (tx: Tx, tenant: string, merchantId: string) =>
  tx
    .selectFrom('businesses')
    .select(['business_id', 'name', 'is_default', 'is_active'])
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('is_active', '=', true)
    .orderBy('business_id')
    .execute()
