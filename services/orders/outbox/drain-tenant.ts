import { maxEventBytesPerRequest, maxEventsPerRequest, type OrderEvent } from '@courier/shared/contract/order-events.ts'
import { type ServiceClient, serviceRequestMilliseconds } from '@courier/shared/http/service-client.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { findOrders } from '../orders/order-snapshot.ts'
import { findStatuses } from '../orders/status-queries.ts'
import { eventsOf, type OutboxRow, partsOf, type Slice, slicesOf } from './events.ts'
import { acquireLease, deleteRows, readOldest, releaseLease } from './queries.ts'

export interface DrainOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly notifier: ServiceClient
  /** Identifies this process. */
  readonly holder: string
  /** When a dead process's lease expires; more than twice the timeout of a request to the notifier. */
  readonly leaseSeconds: number
  /** Called for each request that the notifier acknowledged. */
  readonly onDelivered: (tenant: string, events: number) => void
  /** True ends the drain after the request in flight. */
  readonly isStopping: () => boolean
}

export const defaultLeaseSeconds = (4 * serviceRequestMilliseconds) / 1000

export type DrainResult =
  /** All rows that were read are delivered, or the process is stopping. */
  | { readonly kind: 'done' }
  /** Another process delivers this tenant's events. */
  | { readonly kind: 'leased_elsewhere' }
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The notifier's response was no acknowledgement. */
  | { readonly kind: 'refused'; readonly status: number }

/**
 * Delivers the tenant's oldest events in order and deletes those that the notifier acknowledged. No other process delivers
 * them meanwhile: a request starts only while the lease outlasts its timeout. No lock is held during a request. Rejects
 * when the database is unavailable.
 */
export const drainTenant = async (options: DrainOptions, tenant: string): Promise<DrainResult> => {
  const { pool, holder } = options
  const lease = createLease(options, tenant)
  const rows = await inTenant(pool, tenant, async (tx: Tx) =>
    // The rows are read under the lease: its last holder has deleted what it delivered.
    (await lease.acquire(tx)) ? readOldest(tx, tenant, maxEventsPerRequest) : undefined,
  )
  if (!rows) return { kind: 'leased_elsewhere' }
  try {
    return await deliverRows(options, tenant, lease, rows)
  } finally {
    await inTenant(pool, tenant, (tx: Tx) => releaseLease(tx, tenant, holder))
  }
}

interface Lease {
  readonly acquire: (tx: Tx) => Promise<boolean>
  /** Renews the lease when less than half is left; false when it is lost. */
  readonly renew: () => Promise<boolean>
}

/** Expiry counts from before the request, on this machine's clock: never later than in the database. */
const createLease = ({ pool, holder, leaseSeconds }: DrainOptions, tenant: string): Lease => {
  let expiresAt = 0
  const acquire = async (tx: Tx): Promise<boolean> => {
    const requestedAt = performance.now()
    const isAcquired = await acquireLease(tx, tenant, holder, leaseSeconds)
    expiresAt = isAcquired ? requestedAt + leaseSeconds * 1000 : 0
    return isAcquired
  }
  const isFresh = (): boolean => expiresAt - performance.now() > leaseSeconds * 500
  return { acquire, renew: async () => isFresh() || ((await inTenant(pool, tenant, acquire)) && isFresh()) }
}

const deliverRows = async (
  options: DrainOptions,
  tenant: string,
  lease: Lease,
  rows: readonly OutboxRow[],
): Promise<DrainResult> => {
  const { pool, logger } = options
  for (const { updates, finishedRowIds } of slicesOf(rows, maxEventsPerRequest)) {
    if (options.isStopping()) break
    const events = await readEvents(pool, tenant, updates)
    const missing = updates.length - events.length
    if (missing > 0) logger.error({ tenant, orders: missing }, 'outbox.orders_missing')
    const failure = await deliverEvents(options, tenant, lease, events)
    if (failure) return failure
    if (finishedRowIds.length > 0) await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, finishedRowIds))
  }
  return { kind: 'done' }
}

const readEvents = (pool: pg.Pool, tenant: string, updates: Slice['updates']): Promise<OrderEvent[]> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const waybills = updates.map(({ waybill }) => waybill)
    const [orders, statuses] = await Promise.all([findOrders(tx, tenant, waybills), findStatuses(tx, tenant)])
    return eventsOf(updates, orders, statuses)
  })

const deliverEvents = async (
  options: DrainOptions,
  tenant: string,
  lease: Lease,
  events: readonly OrderEvent[],
): Promise<DrainResult | undefined> => {
  for (const part of partsOf(events, maxEventBytesPerRequest)) {
    if (!(await lease.renew())) return { kind: 'leased_elsewhere' }
    const failure = part.length > 0 ? await postEvents(options, tenant, part) : undefined
    if (failure) return failure
  }
  return undefined
}

/** A server that responds 200 to everything is not the notifier. */
const Acknowledgement = Type.Object({ data: Type.Object({ taken: Type.Integer(), repeated: Type.Integer() }) })

const postEvents = async (
  { notifier, onDelivered }: DrainOptions,
  tenant: string,
  events: readonly OrderEvent[],
): Promise<DrainResult | undefined> => {
  const response = await notifier.post('/internal/events', { tenant, events })
  if (response.kind === 'unreachable') return response
  const { status, body } = response
  if (status !== 200 || !Value.Check(Acknowledgement, body)) return { kind: 'refused', status }
  onDelivered(tenant, events.length)
  return undefined
}
