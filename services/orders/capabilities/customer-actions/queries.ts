import type { ActionOutcome, CustomerAction } from '@courier/shared/contract/customer-actions.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { sql } from 'kysely'
import type { RequestStatus, Tx } from '../../core/database/tables.ts'
import { type CustomerRequest, requestColumns } from './customer-requests.ts'

export interface Outcome {
  readonly outcome: ActionOutcome
  readonly detail: string | null
}

/**
 * Keeps two deliveries of an action from running at once: the second waits, and sees in its next statement what the
 * first stored.
 */
export const lockAction = (tx: Tx, tenant: string, id: string) =>
  tx.client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`customer action ${id} of ${tenant}`])

export const findOutcome = async (tx: Tx, tenant: string, id: string): Promise<Outcome | undefined> =>
  (
    await query<Outcome>(tx)`
    select outcome, case when outcome <> 'requested' then detail end as detail
    from customer_actions where tenant_id = ${tenant} and action_id = ${id}`
  )[0]

/**
 * Stores an action; `requested` opens a request unless the waybill has the same one open. A newer address takes the
 * place of an open request for an earlier one, so that nobody decides on an outdated text. Lock its order first.
 */
export const insertAction = async (
  tx: Tx,
  tenant: string,
  { id, waybill_number, action, address, happened_at }: CustomerAction,
  { outcome, detail }: Outcome,
): Promise<void> => {
  const isNewer = address !== undefined && outcome !== 'refused'
  if (isNewer)
    await query(tx)`
      update customer_actions set status = null where tenant_id = ${tenant} and waybill_number = ${waybill_number}
        and action = ${action} and status = 'open'`
  const open = await query(tx)`
    select from customer_actions where tenant_id = ${tenant} and waybill_number = ${waybill_number}
      and action = ${action} and status = 'open'`
  const text = outcome === 'requested' ? (address ?? null) : detail
  const status = outcome === 'requested' && open.length === 0 ? 'open' : null
  await query(tx)`
    insert into customer_actions (tenant_id, action_id, waybill_number, action, outcome, detail, status, happened_at)
    values (${tenant}, ${id}, ${waybill_number}, ${action}, ${outcome}, ${text}, ${status}, ${happened_at})`
}

export const findRequest = async (tx: Tx, tenant: string, id: string, locking = sql``) =>
  (
    await query<CustomerRequest>(tx)`
    select ${requestColumns} from customer_actions
    where tenant_id = ${tenant} and request_id = ${id}::bigint and status is not null ${locking}`
  )[0]

/** Locks the request until the transaction ends. Lock its order first. */
export const lockRequest = (tx: Tx, tenant: string, id: string) => findRequest(tx, tenant, id, sql`for update`)

export interface Decision {
  readonly decision: Exclude<RequestStatus, 'open'>
  readonly note: string | null
  /** Names the member of staff. */
  readonly by: string
}

export const storeDecision = async (tx: Tx, tenant: string, id: string, { decision, note, by }: Decision) => {
  await query(tx)`
    update customer_actions set status = ${decision}, note = ${note}, decided_by = ${by}, decided_at = now()
    where tenant_id = ${tenant} and request_id = ${id}::bigint`
  return (await findRequest(tx, tenant, id)) as CustomerRequest
}

/** Writes the event of a decision, if the tenant has messaging. Lock its order first: its events stay in sequence. */
export const insertEvent = (
  tx: Tx,
  tenant: string,
  { waybill_number, request, status, note }: CustomerRequest,
  statusKey: string,
  traceparent: string | undefined,
) =>
  query(tx)`
    with clock as materialized (
      select clock_timestamp() as now
    )
    insert into log (tenant_id, type, waybill_numbers, status_keys, note, happened_at, traceparents)
    select ${tenant}, ${`${request}.${status}`}, array[${waybill_number}], array[${statusKey}], ${note}, now,
      ${traceparent === undefined ? null : [traceparent]}::text[]
    from clock, tenants where tenants.tenant_id = ${tenant} and messaging returning log.tenant_id`

const keptDays = 90

/** Deletes expired actions, but no open requests. */
export const deleteOldActions = deleteWhere(
  'customer_actions',
  `stored_at < now() - make_interval(days => ${keptDays}) and status is distinct from 'open'
    and (decided_at is null or decided_at < now() - make_interval(days => ${keptDays}))`,
)
