import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import type { TenantTransaction } from '@courier/shared/postgres/database.ts'
import type { ColumnType, Generated } from 'kysely'

/** Is read as text, and written as a number or text. */
type Bigint = ColumnType<string, number | string, number | string>

export const changeActors = ['merchant', 'staff', 'customer'] as const
export type ChangeActor = (typeof changeActors)[number]

/** Lists the statuses of the customers' requests that staff decide on. */
export const requestStatuses = ['open', 'accepted', 'declined'] as const
export type RequestStatus = (typeof requestStatuses)[number]

/** Declares the tables and columns of queries that Kysely builds; migrations/ creates them all. */
export interface Tables {
  zones: { tenant_id: string; rate_card: string; zone: string; is_elsewhere: boolean; zone_id: number }
  merchants: {
    tenant_id: string
    merchant_id: Generated<string>
    email: string
    name: string
    password_hash: string
    rate_card: string | null
    is_active: Generated<boolean>
    payable_when: Generated<string | null>
    payable_after_days: Generated<number | null>
    charges_apart: Generated<boolean>
    phone: Generated<string | null>
  }
  merchant_people: {
    tenant_id: string
    person_id: Generated<string>
    merchant_id: Bigint
    email: string
    name: string
    role: 'owner' | 'clerk'
    password_hash: string
    is_active: Generated<boolean>
    created_at: Generated<Date>
  }
  staff: {
    tenant_id: string
    staff_id: Generated<string>
    email: string
    name: string
    role: StaffRole
    roles: StaffRole[] | null
    password_hash: string
    is_active: Generated<boolean>
    created_at: Generated<Date>
  }
  tokens: {
    tenant_id: string
    token_id: string
    hash: Buffer
    merchant_id: Bigint | null
    staff_name: string | null
    /** Identifies the member of staff who logged in. */
    staff_id: ColumnType<string | null, string | null | undefined, never>
    /** Identifies the person of the merchant who logged in. */
    person_id: Bigint | null
    from_login: Generated<boolean>
    name: string | null
    /** Lists the operations that the token may use; null: all that its holder may use. */
    operations: Generated<string[] | null>
    created_at: Generated<Date>
    expires_at: Date | null
    revoked_at: Date | null
    last_used_at: Date | null
  }
}

/** A query with this parameter must run inside a transaction of its tenant. */
export type Tx = TenantTransaction<Tables>
