import { query } from '@courier/shared/postgres/database.ts'
import { isoTime } from '../database/iso-time.ts'
import type { Tx } from '../database/tables.ts'
import { cancelledKey, deliveredKeys, failedAttemptKeys, returnedKeys, type Status } from './statuses.ts'

export interface StoredStatus extends Status {
  /** Is a time in ISO 8601, UTC, with microseconds. */
  readonly createdAt: string
}

/** Reads the statuses of a tenant with their moves, from one snapshot. */
export const findStatuses = async (tx: Tx, tenant: string): Promise<ReadonlyMap<string, StoredStatus>> => {
  const rows = await tx.rows<StoredStatus>({ name: 'find_statuses', text: statusesSql, values: [tenant] })
  return new Map(rows.map(row => [row.key, row]))
}

/** Selects the statuses of the tenant $1 with their moves. */
export const statusesSql = `
  select status_key as key, name, description, color, books, ${isoTime('created_at')} as "createdAt", array(
    select to_key from status_moves join statuses target
      on target.tenant_id = status_moves.tenant_id and target.status_key = to_key
    where status_moves.tenant_id = statuses.tenant_id and from_key = statuses.status_key
    order by target.position
  ) as moves
  from statuses where tenant_id = $1 order by position`

const nameLock = (tenant: string): string => `statuses of ${tenant}`

/** Waits for moves and bookings in progress, and blocks further ones until the transaction ends. */
export const lockStatusSet = (tx: Tx, tenant: string) =>
  tx.client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [nameLock(tenant)])

/** Keeps the tenant's set of statuses and its time zone from changing until the transaction ends. */
export const keepStatusSet = (tx: Tx, tenant: string) =>
  tx.client.query({ name: 'keep_status_set', text: keepSql, values: [nameLock(tenant)] })

const keepSql = 'select pg_advisory_xact_lock_shared(hashtextextended($1, 0))'

/** Finds the `keys` of statuses that orders have. */
export const findUsedKeys = async (tx: Tx, tenant: string, keys: readonly string[]): Promise<string[]> => {
  const used = await query<{ key: string }>(tx)`
    select key from unnest(${[...keys]}::text[]) as key
    where exists (select from orders where tenant_id = ${tenant} and status_key = key collate "C")`
  return used.map(row => row.key)
}

// The keys are literals: with parameters a generic plan could not use the partial index of these events.
const quoteKeys = (keys: readonly string[]): string => keys.map(key => `'${key}'`).join(', ')

/** Is true of an order that is neither delivered nor returned nor cancelled. */
export const isOpenSql = `status_key not in (${quoteKeys([...deliveredKeys, ...returnedKeys, cancelledKey])})`

/** Builds a `from` clause that selects deliveries of the tenant $1 between two times. */
export const fromDeliveries = (first: string, last: string): string => `
  from order_events where tenant_id = $1 and is_counted and status_key in (${quoteKeys(deliveredKeys)})
    and happened_at >= ${first} and happened_at < ${last}`

/**
 * Builds a `from` clause with the failed deliveries that wait, and their orders. A process without `failures` moves an
 * order on and leaves its attempt open.
 */
export const fromWaiting = `
  from attempts join orders on orders.tenant_id = attempts.tenant_id and orders.waybill_number = attempts.waybill_number
    and is_open and status_key in (${quoteKeys(failedAttemptKeys)})`

/** Selects the first of consecutive failure statuses: each is one failed attempt, however many statuses it passes. */
export const fromFailedAttempts = (first: string, last: string): string => `
  from order_events failed left join lateral (
    select status_key from order_events
    where tenant_id = $1 and waybill_number = failed.waybill_number and event_id < failed.event_id
    order by event_id desc limit 1
  ) before on true
  where failed.tenant_id = $1 and failed.is_counted and failed.status_key in (${quoteKeys(failedAttemptKeys)})
    and failed.happened_at >= ${first} and failed.happened_at < ${last}
    and (before.status_key is null or before.status_key not in (${quoteKeys(failedAttemptKeys)}))`
