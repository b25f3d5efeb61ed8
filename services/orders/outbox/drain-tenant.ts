import { maxEventBytesPerRequest, maxEventsPerRequest, type OrderEvent } from '@courier/shared/contract/order-events.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { serviceRequestMilliseconds } from '@courier/shared/service-client.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { createLease, type Lease } from '../delivery/lease.ts'
import type { ReadSnapshots } from '../tracking/order-snapshot.ts'
import { eventsOf, partsOf, type Slice, slicesOf } from './events.ts'
import { type AcquiredLease, acquireLease, releaseLease, suspend } from './leases.ts'
import { type PostFailure, type PostOptions, postEvents } from './post-events.ts'
import { deleteRows, readOldest } from './queries.ts'

export interface DrainOptions extends PostOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly readSnapshots: ReadSnapshots
  /** Identifies this process. */
  readonly holder: string
  /** When a dead process's lease expires; more than twice the timeout of a request to the notifier. */
  readonly leaseSeconds: number
  /** True ends the drain after the request in flight. */
  readonly isStopping: () => boolean
}

export const defaultLeaseSeconds = (4 * serviceRequestMilliseconds) / 1000

export type DrainResult =
  /** All rows that were read are delivered, or the process is stopping. */
  | { readonly kind: 'done' }
  /** Another process delivers this tenant's events. */
  | { readonly kind: 'leased_elsewhere' }
  | PostFailure

/**
 * Delivers the tenant's oldest events in order and deletes those that the notifier acknowledged. No other process delivers
 * them meanwhile: a request starts only while the lease outlasts its timeout. No lock is held during a request. Rejects
 * when the database is unavailable.
 */
export const drainTenant = async (options: DrainOptions, tenant: string): Promise<DrainResult> => {
  const { pool, holder, leaseSeconds: seconds } = options
  const lease = createLease({ pool, tenant, seconds, acquireRow: tx => acquireLease(tx, tenant, holder, seconds) })
  // The rows are read under the lease: its last holder has deleted what it delivered.
  const slices = await inTenant(pool, tenant, async (tx: Tx) => {
    const acquired = await lease.acquire(tx)
    return acquired && readSlices(tx, tenant, acquired)
  })
  if (!slices) return { kind: 'leased_elsewhere' }
  let result: DrainResult | undefined
  try {
    result = await deliverSlices(options, tenant, lease, slices)
    if (result.kind === 'unknown_tenant') await waitForTenant(options, tenant)
    return result
  } finally {
    await inTenant(pool, tenant, (tx: Tx) => releaseLease(tx, tenant, holder, result?.kind === 'done'))
  }
}

/** Of a tenant that the notifier did not know one event alone: it costs little and shows whether that has changed. */
const readSlices = async (tx: Tx, tenant: string, { isUnknown }: AcquiredLease): Promise<Slice[]> => {
  const events = isUnknown ? 1 : maxEventsPerRequest
  const slices = slicesOf(await readOldest(tx, tenant, events), events)
  return isUnknown ? slices.slice(0, 1) : slices
}

const waitForTenant = async ({ pool, logger, holder }: DrainOptions, tenant: string): Promise<void> => {
  const since = await inTenant(pool, tenant, (tx: Tx) => suspend(tx, tenant, holder, Math.random))
  if (since) logger.warn({ tenant, since }, 'outbox.tenant_unknown')
}

const deliverSlices = async (
  options: DrainOptions,
  tenant: string,
  lease: Lease<AcquiredLease>,
  slices: readonly Slice[],
): Promise<DrainResult> => {
  const { pool, logger, readSnapshots } = options
  for (const { updates, finishedRowIds } of slices) {
    if (options.isStopping()) break
    const waybills = updates.map(({ waybill }) => waybill)
    const events = eventsOf(updates, await readSnapshots(tenant, waybills))
    const missing = updates.length - events.length
    if (missing > 0) logger.error({ tenant, orders: missing }, 'outbox.orders_missing')
    const failure = await deliverEvents(options, tenant, lease, events)
    if (failure) return failure
    if (finishedRowIds.length > 0) await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, finishedRowIds))
  }
  return { kind: 'done' }
}

const deliverEvents = async (
  options: DrainOptions,
  tenant: string,
  lease: Lease<AcquiredLease>,
  events: readonly OrderEvent[],
): Promise<DrainResult | undefined> => {
  for (const part of partsOf(events, maxEventBytesPerRequest)) {
    if (!(await lease.renew())) return { kind: 'leased_elsewhere' }
    const failure = part.length > 0 ? await postEvents(options, tenant, part) : undefined
    if (failure) return failure
  }
  return undefined
}
