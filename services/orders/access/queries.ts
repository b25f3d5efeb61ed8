import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

const merchantColumns = ['merchant_id', 'name', 'email', 'password_hash', 'is_active'] as const
type MerchantRow = Selectable<Pick<Tables['merchants'], (typeof merchantColumns)[number]>>

export const selectMerchants = (tx: Tx, tenant: string) =>
  tx.selectFrom('merchants').select(merchantColumns).where('tenant_id', '=', tenant)

export const selectMerchant = (tx: Tx, tenant: string, email: string) =>
  selectMerchants(tx, tenant).where('email', '=', email.trim().toLowerCase())

export const personRoles = ['owner', 'clerk'] as const
export type PersonRole = (typeof personRoles)[number]

/** Who logs in for a merchant, besides its account. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: PersonRole
}

/** The account of a merchant, or a person of it; `name` is the merchant's. */
export type MerchantLogin = MerchantRow & { readonly person: Person | null }

/** Finds the account or the active person with an e-mail address: no two have the same. `isShared` keeps the row as it is. */
export const findMerchantLogin = async (
  tx: Tx,
  tenant: string,
  email: string,
  isShared: boolean,
): Promise<MerchantLogin | undefined> => {
  const [account, person] = [selectMerchant(tx, tenant, email), selectPerson(tx, tenant, email)]
  const [merchant, found] = await Promise.all([
    (isShared ? account.forShare() : account).executeTakeFirst(),
    (isShared ? person.forShare() : person).executeTakeFirst(),
  ])
  if (!found) return merchant && { ...merchant, person: null }
  const { id, person_name: name, role, ...row } = found
  return { ...row, person: { id, name, email: row.email, role } }
}

const selectPerson = (tx: Tx, tenant: string, email: string) =>
  tx
    .selectFrom('merchant_people as person')
    .innerJoin('merchants as merchant', join =>
      join
        .onRef('merchant.tenant_id', '=', 'person.tenant_id')
        .onRef('merchant.merchant_id', '=', 'person.merchant_id'),
    )
    .select(['merchant.merchant_id', 'merchant.name', 'merchant.is_active', 'person.email', 'person.password_hash'])
    .select(['person.person_id as id', 'person.name as person_name', 'person.role'])
    .where('person.tenant_id', '=', tenant)
    .where('person.email', '=', email.trim().toLowerCase())
    .where('person.is_active', '=', sql.lit(true))

/** Names who acts for a merchant in the audit: by its id, and by the person unless it is the account. */
export const nameActor = (merchantId: string, person: Person | null): string =>
  person ? `${merchantId} ${person.name}` : merchantId

/** Splits a name as timelines show it. */
export const splitName = (name: string): { first_name: string; last_name: string } => {
  const [first_name = '', ...others] = name.trim().split(/\s+/)
  return { first_name, last_name: others.join(' ') }
}

export const staffColumns = ['staff_id', 'name', 'email', 'role', 'roles', 'password_hash', 'is_active'] as const
export type StaffRow = Selectable<Pick<Tables['staff'], (typeof staffColumns)[number]>>

/** Finds the account of staff with an e-mail address. `isShared` keeps the row as it is. */
export const findStaffLogin = (tx: Tx, tenant: string, email: string, isShared: boolean) => {
  const account = tx
    .selectFrom('staff')
    .select(staffColumns)
    .where('tenant_id', '=', tenant)
    .where('email', '=', email.trim().toLowerCase())
  return (isShared ? account.forShare() : account).executeTakeFirst()
}

/** Reads the roles of a person. Rows from before a person could have several have `role` alone. */
export const readRoles = ({ role, roles }: Pick<StaffRow, 'role' | 'roles'>): readonly StaffRole[] => roles ?? [role]

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
