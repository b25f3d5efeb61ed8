import type { ActionOutcome } from '@courier/shared/contract/customer-actions.ts'
import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import type { AuditTable } from '@courier/shared/postgres/audit.ts'
import type { TenantTransaction } from '@courier/shared/postgres/database.ts'
import type { ColumnType, Generated } from 'kysely'

/** bigint and numeric are read as text, and written as number or text. */
type Bigint = ColumnType<string, number | string, number | string>
type Decimal = ColumnType<string, number | string, number | string>

type CheckColumn = ColumnType<'refuse' | 'warn' | 'off' | null, string | null | undefined, string | null>

/** The types of changes to an order, and the actors that may make them. */
export const changeTypes = ['order.created', 'order.status_changed', 'order.edited'] as const
export type ChangeType = (typeof changeTypes)[number]
export const changeActors = ['merchant', 'staff', 'customer'] as const
export type ChangeActor = (typeof changeActors)[number]

/** The statuses of a customer's request that staff decide. */
export const requestStatuses = ['open', 'accepted', 'declined'] as const
export type RequestStatus = (typeof requestStatuses)[number]

export interface Tables {
  audit: AuditTable
  tenants: {
    tenant_id: string
    name: string
    currency: string
    country: string
    time_zone: string
    waybill_mode: 'auto' | 'manual'
    waybill_format: string
    secondary_phone: boolean
    phone_check: CheckColumn
    duplicate_check: CheckColumn
    unusual_check: CheckColumn
    messaging: Generated<boolean>
    color: string | null
    contact: string | null
    link_key: Generated<string>
    version: ColumnType<string, number | string | undefined, number | string>
  }
  states: { tenant_id: string; state_id: number; name: string; is_active: boolean }
  cities: {
    tenant_id: string
    city_id: number
    state_id: number
    name: string
    postal_code: string | null
    is_active: boolean
  }
  city_aliases: { tenant_id: string; city_id: number; alias: string }
  rate_cards: { tenant_id: string; rate_card: string }
  zones: { tenant_id: string; rate_card: string; zone: string; is_elsewhere: boolean; zone_id: number }
  zone_cities: { tenant_id: string; rate_card: string; city_id: number; zone: string }
  rates: {
    tenant_id: string
    rate_card: string
    from_zone: string
    to_zone: string
    first_kg: Decimal
    each_extra_kg: Decimal
  }
  merchants: {
    tenant_id: string
    merchant_id: Generated<string>
    email: string
    name: string
    password_hash: string
    rate_card: string | null
    is_active: Generated<boolean>
  }
  businesses: {
    tenant_id: string
    business_id: number
    merchant_id: Bigint
    name: string
    is_default: boolean
    is_active: boolean
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
    /** The member of staff who logged in. */
    staff_id: ColumnType<string | null, string | null | undefined, never>
    from_login: Generated<boolean>
    created_at: Generated<Date>
    expires_at: Date | null
    revoked_at: Date | null
    last_used_at: Date | null
  }
  orders: {
    tenant_id: string
    waybill_number: string
    merchant_id: Bigint
    business_id: number
    order_no: string | null
    status_key: string
    customer_name: string
    customer_address: string
    customer_phone: string
    customer_secondary_phone: string | null
    customer_email: string | null
    /** The last nine digits of customer_phone. */
    phone_key: ColumnType<string, never, never>
    origin_city_id: number
    destination_city_id: number
    cod: number
    weight: number
    description: string | null
    remark: string | null
    delivery_charge: Decimal
    /** True if the order was delivered at the first attempt. */
    first_attempt: Generated<boolean | null>
    created_at: Generated<Date>
  }
  order_events: {
    tenant_id: string
    waybill_number: string
    event_id: Generated<string>
    status_key: string
    happened_at: Generated<Date>
    staff_name: string | null
    note: string | null
    actor: 'customer' | null
  }
  feeds: {
    tenant_id: string
    merchant_id: Bigint
    epoch: Generated<string>
    last_position: ColumnType<string, number | undefined, number>
    deleted_position: ColumnType<string, number | undefined, number>
  }
  order_edits: {
    tenant_id: string
    waybill_number: string
    edit_id: Generated<string>
    fields: string[]
    edited_at: Date
    staff_name: string | null
    reason: string | null
    actor: 'customer' | null
    previous: Record<string, string | number | null> | null
  }
  customer_actions: {
    tenant_id: string
    action_id: string
    request_id: Generated<string>
    waybill_number: string
    action: string
    outcome: ActionOutcome
    detail: string | null
    status: RequestStatus | null
    happened_at: Date
    stored_at: Generated<Date>
    decided_at: Date | null
    decided_by: string | null
    note: string | null
  }
  log: {
    tenant_id: string
    entry_id: Generated<string>
    entry_key: Generated<string>
    merchant_id: Bigint | null
    /** As in an OrderEvent. */
    type: string
    waybill_numbers: string[]
    status_keys: string[]
    fields: string[] | null
    actor: ChangeActor | null
    note: string | null
    happened_at: Generated<Date>
    /** One for each waybill, or one for all. */
    traceparents: string[] | null
    position: Bigint | null
    is_relayed: Generated<boolean>
  }
  outbox_leases: {
    tenant_id: string
    holder: string
    held_until: Date
    unknown_since: Date | null
    warned_at: Date | null
  }
  statuses: {
    tenant_id: string
    status_key: string
    name: string
    description: string
    color: string
    is_merchant_status: boolean
    position: number
    created_at: Generated<Date>
  }
  status_moves: { tenant_id: string; from_key: string; to_key: string }
  waybill_counters: { tenant_id: string; next_number: Bigint }
  idempotency_keys: {
    tenant_id: string
    scope: string
    idempotency_key: string
    fingerprint: Buffer
    result: string[]
    warnings: string | null
    created_at: Generated<Date>
  }
}

/** A query with this parameter must run inside a transaction of its tenant. */
export type Tx = TenantTransaction<Tables>
