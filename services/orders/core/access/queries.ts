import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

const merchantColumns = ['merchant_id', 'name', 'email', 'password_hash', 'is_active'] as const
type MerchantRow = Selectable<Pick<Tables['merchants'], (typeof merchantColumns)[number]>> & {
  readonly business_id: string | null
}

/**
 * Selects the business of a merchant that has one active business. Citus locks rows only where each table has the
 * tenant.
 */
const onlyBusiness = (tenant: string) => sql<string | null>`(select case when count(*) = 1 then min(business_id) end
  from businesses where businesses.tenant_id = ${tenant} and businesses.merchant_id = merchants.merchant_id
    and businesses.is_active)`

export const selectMerchants = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('merchants')
    .select([...merchantColumns, onlyBusiness(tenant).as('business_id')])
    .where('tenant_id', '=', tenant)

export const selectMerchant = (tx: Tx, tenant: string, email: string) =>
  selectMerchants(tx, tenant).where('email', '=', email.trim().toLowerCase())

export const personRoles = ['owner', 'clerk'] as const
export type PersonRole = (typeof personRoles)[number]

/** Describes a person who logs in for a merchant, besides its account. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: PersonRole
}

/** Describes the account of a merchant, or one of its people; `name` is the merchant's. */
export type MerchantLogin = MerchantRow & { readonly person: Person | null }

/**
 * Finds the account or the active person with an e-mail address; no two of them share one. `isShared` keeps the row
 * from changing until the transaction ends.
 */
export const findMerchantLogin = async (tx: Tx, tenant: string, email: string, isShared: boolean) => {
  const account = selectMerchant(tx, tenant, email)
  const [merchant, [found]] = await Promise.all([
    (isShared ? account.forShare() : account).executeTakeFirst(),
    query<MerchantLogin>(tx)`
      select merchants.merchant_id, merchants.name, merchants.is_active, person.email, person.password_hash,
        ${onlyBusiness(tenant)} as business_id,
        json_build_object('id', person_id::text, 'name', person.name, 'email', person.email, 'role', role) as person
      from merchant_people person join merchants
        on merchants.tenant_id = person.tenant_id and merchants.merchant_id = person.merchant_id
      where person.tenant_id = ${tenant} and person.email = ${email.trim().toLowerCase()} and person.is_active
      ${isShared ? sql`for share` : sql``}`,
  ])
  return found ?? (merchant && { ...merchant, person: null })
}

/** Finds the active people who log in with these addresses. The core admits them even if `people` is left out later. */
export const findPeople = (tx: Tx, tenant: string, emails: readonly string[]) =>
  query<{ person_id: string; merchant_id: string; email: string }>(tx)`
    select person_id, merchant_id, email from merchant_people
    where tenant_id = ${tenant} and email = any(${emails}::text[]) and is_active`

/**
 * Names who acts for a merchant in the audit: returns the merchant's id, and the name of the person if a person logged
 * in.
 */
export const nameActor = (merchantId: string, person: Pick<Person, 'name'> | null | undefined): string =>
  person ? `${merchantId} ${person.name}` : merchantId

/** Splits a name as timelines show it. */
export const splitName = (name: string): { first_name: string; last_name: string } => {
  const [first_name = '', ...others] = name.trim().split(/\s+/)
  return { first_name, last_name: others.join(' ') }
}

export type StaffRow = Selectable<Tables['staff']>

/**
 * Finds the staff account with an e-mail address. `isShared` keeps the row from changing until the transaction ends.
 */
export const findStaffLogin = async (tx: Tx, tenant: string, email: string, isShared: boolean) =>
  (
    await query<StaffRow>(tx)`
    select * from staff where tenant_id = ${tenant} and email = ${email.trim().toLowerCase()}
    ${isShared ? sql`for share` : sql``}`
  )[0]

/** Finds the active member of staff with exactly this name. */
export const findStaffName = async (tx: Tx, tenant: string, name: string) => {
  const text = 'select staff_id::text as id, name from staff where tenant_id = $1 and name = $2 and is_active'
  const [found] = await tx.rows<StaffName>({ name: 'find_staff_name', text, values: [tenant, name] })
  return found
}

interface StaffName {
  /** null: somebody with only a token of the operator. */
  readonly id: string | null
  readonly name: string
}

/**
 * Lists the active members of staff, and the names of the live tokens that the operator made; these have no id.
 * `isFormerToo` adds members who left and tokens that ended; `role` leaves out who lacks it.
 */
export const listStaffNames = (tx: Tx, tenant: string, isFormerToo = false, role?: StaffRole) => {
  const query = { name: 'list_staff_names', text: staffNamesSql, values: [tenant, isFormerToo, role ?? null] }
  return tx.rows<StaffName>(query)
}

const staffNamesSql = `
  select staff_id::text as id, name from staff where tenant_id = $1 and (is_active or $2::boolean)
    and ($3::text is null or $3 = any(coalesce(roles, array[role])))
  union
  select null, staff_name from tokens where tenant_id = $1 and staff_name is not null and staff_id is null
    and $3 is null
    and ($2 or revoked_at is null and (expires_at is null or expires_at > now()))
    and staff_name not in (select name from staff where tenant_id = $1 and (is_active or $2))
  order by name`

/** Reads the roles of a member of staff. Rows from before a person could have several roles have only `role`. */
export const readRoles = ({ role, roles }: Pick<StaffRow, 'role' | 'roles'>): readonly StaffRole[] => roles ?? [role]

export const findActiveBusinesses = (tx: Tx, tenant: string, merchantId: string) =>
  query<{ business_id: number; name: string; is_default: boolean; is_active: boolean }>(tx)`
    select business_id, name, is_default, is_active from businesses
    where tenant_id = ${tenant} and merchant_id = ${merchantId} and is_active order by business_id`
