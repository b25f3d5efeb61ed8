import { userInfo } from 'node:os'
import type pg from 'pg'
import { type AnyTransaction, inTenant, query } from './database.ts'

/**
 * Names who acts. `name` is the user of the machine, the name of the member of staff, the id of the merchant (and its
 * person), or what a customer's or the platform's action came from, such as `button` or `error 131026`.
 */
export interface Actor {
  readonly kind: 'operator' | 'staff' | 'merchant' | 'customer' | 'platform'
  readonly name: string
  readonly tokenId?: string | undefined
  readonly requestId?: string | undefined
}

/** Returns the user who runs the operator's command. */
export const operator = (): Actor => ({ kind: 'operator', name: findUserName() })

const findUserName = (): string => {
  try {
    return userInfo().username
  } catch {
    // A container's user need not have a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Lists the audited actions: the verbs of each noun. */
const verbs = {
  tenant: ['applied'],
  token: ['created', 'revoked'],
  keys: ['rotated'],
  tracking_key: ['rotated', 'revoked'],
  database: ['restored'],
  merchant: ['logged_in', 'logged_out'],
  staff: [
    'added',
    'role_changed',
    'password_changed',
    'deactivated',
    'logged_in',
    'logged_out',
    'reactivated',
    'invited',
    'sign_in_reset',
  ],
  second_factor: ['set_up', 'confirmed', 'recovered'],
  order: ['status_changed', 'edited', 'taken_back', 'instructed'],
  person: ['added', 'changed', 'invited', 'sign_in_reset'],
  recipient: ['read'],
  request: ['accepted', 'declined'],
  message: ['accepted', 'cancelled', 'resent'],
  channel: ['created', 'changed', 'registration_tried', 'registered', 'checked', 'resumed', 'subscribed'],
  conversation: ['opted_out', 'opted_in'],
  templates: ['synced'],
  shop: ['connected', 'changed', 'secret_changed', 'keys_changed', 'removed'],
  webhook: ['created', 'changed', 'deleted', 'rotated', 'replayed'],
  parcel: ['compensated', 'assigned', 'unassigned', 'taken', 'handed_back'],
  act: ['refused', 'decided', 'dropped'],
  sign_in: ['offered', 'used', 'ended'],
  correction: ['made', 'approved', 'rejected'],
  bank_entry: ['made', 'approved', 'rejected'],
  bank_account: ['changed', 'read', 'confirmed', 'objected'],
  payout: ['made', 'released', 'cancelled', 'failed', 'settled', 'seen', 'read'],
  cash: ['handed_over', 'transferred', 'settled', 'deposited'],
  invoice: [
    'made',
    'submitted',
    'approved',
    'rejected',
    'cancelled',
    'deposited',
    'charges_paid',
    'disputed',
    'dispute_settled',
  ],
  pickup: ['address_added', 'address_deleted', 'requested', 'withdrawn', 'assigned', 'done', 'missed'],
  ticket: ['created', 'replied', 'closed'],
  archive: ['written'],
} as const
type Noun = keyof typeof verbs
export const auditNouns = Object.keys(verbs) as Noun[]
/** Names an audited action, as noun.verb. */
export type Action = { [Each in Noun]: `${Each}.${(typeof verbs)[Each][number]}` }[Noun]

/** Describes the table `audit` of both services. */
export interface AuditTable {
  tenant_id: string
  happened_at: Date
  actor_kind: Actor['kind']
  actor: string
  token_id: string | null
  action: Action
  object_id: string | null
  request_id: string | null
}

/**
 * Records an action on objects, one row each, in the same transaction. A row holds only ids: no secrets and no personal
 * data of recipients. `details`, which orders alone keeps, lists settings that changed.
 */
export const audit = async (
  tx: AnyTransaction,
  tenant: string,
  actor: Actor,
  action: Action,
  objectIds: string | readonly string[],
  details: readonly string[] = [],
): Promise<void> => {
  const { kind, name, tokenId = null, requestId = null } = actor
  const values = [tenant, kind, name, tokenId, action, requestId, [objectIds].flat()]
  if (details.length === 0) await tx.client.query({ name: 'audit', text: insertSql(''), values })
  else await tx.client.query(insertSql(', details'), [...values, JSON.stringify(details)])
}

const insertSql = (details: string) => `
  insert into audit (tenant_id, actor_kind, actor, token_id, action, request_id, object_id${details})
  select $1, $2, $3, $4, $5, $6, object_id${details && ', $8::jsonb'} from unnest($7::text[]) as object_id
  returning tenant_id`

interface AuditFilter {
  readonly tenant: string
  readonly since: Date | null
  readonly limit: number
}

/** Lists the tenant's newest entries, newest first. The notifier's have no details. */
export const listAudit = (pool: pg.Pool, { tenant, since, limit }: AuditFilter) =>
  inTenant(
    pool,
    tenant,
    (tx: AnyTransaction) => query<
      Omit<AuditTable, 'tenant_id' | 'happened_at'> & { at: Date; details: string[] | null }
    >(tx)`
      select happened_at as at, actor_kind, actor, token_id, action, object_id, request_id,
        to_jsonb(audit) -> 'details' as details from audit
      where tenant_id = ${tenant} and happened_at >= coalesce(${since}::timestamptz, '-infinity')
      order by happened_at desc, audit_id desc limit ${limit}`,
  )
