import {
  type CourierEvent,
  maxEventBytesPerRequest,
  maxEventsPerRequest,
} from '@courier/shared/contract/order-events.ts'
import { type ErrorCode, errorStatuses } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { inSpans, type Tracer } from '@courier/shared/traces.ts'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Tx } from '../database/tables.ts'
import type { DrainOptions } from '../log/delivery-loop.ts'
import { createLease, type Lease } from '../log/lease.ts'
import type { ReadSnapshots } from '../tracking/order-snapshot.ts'
import { type Slice, toEvents, toParts, toSlices } from './events.ts'
import { acquireLease, defaultLeaseSeconds, postpone, releaseLease } from './leases.ts'
import { markRelayed, readOldest } from './queries.ts'

export interface TenantOptions extends DrainOptions, PostOptions {
  readonly readSnapshots: ReadSnapshots
  /** Is called for each request that the notifier acknowledged. */
  readonly onDelivered?: (events: number) => void
  readonly onFailed?: (kind: 'unreachable' | 'refused') => void
}

/** Names a reason to end a drain before everything that was read is delivered. */
type EndReason =
  | PostFailure
  | { readonly kind: 'leased_elsewhere' }
  | { readonly kind: 'failed'; readonly err: unknown }

/**
 * Delivers the tenant's oldest entries in order and marks the ones that the notifier acknowledged. No other process
 * delivers them meanwhile: a request starts only while the lease outlasts its timeout. No lock is held during a
 * request. Rejects when the database is unavailable.
 */
export const drainTenant = async (options: TenantOptions, tenant: string): Promise<void> => {
  const { pool, holder, leaseSeconds: seconds = defaultLeaseSeconds } = options
  const lease = createLease({ pool, tenant, seconds, acquireRow: tx => acquireLease(tx, tenant, holder, seconds) })
  // The entries are read under the lease: its last holder has marked what it delivered.
  const slices = await inTenant(pool, tenant, async (tx: Tx) => {
    if (!(await lease.acquire(tx))) return undefined
    return toSlices(await readOldest(tx, tenant, maxEventsPerRequest), maxEventsPerRequest)
  })
  if (!slices) return
  const reason = await deliverSlices(options, tenant, lease, slices).catch(err => ({ kind: 'failed', err }) as const)
  if (reason && reason.kind !== 'leased_elsewhere') return fail(options, tenant, reason)
  // A drain that stops may not have asked the notifier.
  const isKnown = !reason && !options.isStopping()
  await inTenant(pool, tenant, (tx: Tx) => releaseLease(tx, tenant, holder, isKnown))
}

const fail = async (
  { pool, logger, holder, onFailed }: TenantOptions,
  tenant: string,
  { kind, ...cause }: Exclude<EndReason, { kind: 'leased_elsewhere' }>,
): Promise<void> => {
  if (kind === 'unreachable' || kind === 'refused') onFailed?.(kind)
  const isUnknown = kind === 'unknown_tenant'
  const postponed = await inTenant(pool, tenant, (tx: Tx) => postpone(tx, { tenant, holder, isUnknown }, Math.random))
  if (!isUnknown) logger.warn({ tenant, ...cause, retry_ms: postponed?.milliseconds }, `outbox.${kind}`)
  else if (postponed?.unknownSince) logger.warn({ tenant, since: postponed.unknownSince }, 'outbox.tenant_unknown')
}

/** Returns undefined when all updates are delivered, or the process is stopping. */
const deliverSlices = async (
  options: TenantOptions,
  tenant: string,
  lease: Lease<unknown>,
  slices: readonly Slice[],
): Promise<EndReason | undefined> => {
  for (const { updates, finishedEntryIds: ids } of slices) {
    if (options.isStopping()) break
    const reason = await deliver(options, tenant, lease, updates)
    if (reason) return reason
    if (ids.length > 0) await inTenant(options.pool, tenant, (tx: Tx) => markRelayed(tx, tenant, ids))
  }
  return undefined
}

const deliver = async (
  options: TenantOptions,
  tenant: string,
  lease: Lease<unknown>,
  updates: Slice['updates'],
): Promise<EndReason | undefined> => {
  const waybills = updates.map(({ waybill }) => waybill)
  const events = toEvents(updates, await options.readSnapshots(tenant, waybills))
  const missing = updates.length - events.length
  if (missing > 0) options.logger.error({ tenant, orders: missing }, 'outbox.orders_missing')
  for (const part of toParts(events, maxEventBytesPerRequest)) {
    if (!(await lease.renew())) return { kind: 'leased_elsewhere' }
    if (part.length === 0) continue
    const failure = await postEvents(options, tenant, part)
    if (failure) return failure
    options.logger.info({ tenant, events: part.length }, 'outbox.delivered')
    options.onDelivered?.(part.length)
  }
  return undefined
}

interface PostOptions {
  readonly notifier: ServiceClient
  readonly tracer?: Tracer | undefined
}

type PostFailure =
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The events wait until the notifier's file of the tenant is applied. */
  | { readonly kind: 'unknown_tenant' }
  /** The notifier's response is not an acknowledgement. */
  | { readonly kind: 'refused'; readonly status: number }

/** Delivers events to the notifier in one request; returns undefined when the notifier acknowledged them. */
const postEvents = (options: PostOptions, tenant: string, events: readonly CourierEvent[]) =>
  inSpans(options.tracer, 'outbox.post', 'producer', events, traced => postTraced(options.notifier, tenant, traced))

/** A server that responds with 200 to everything is not the notifier. */
const Acknowledgement = Type.Object({
  data: Type.Object({ taken: Type.Integer(), repeated: Type.Integer(), expired: Type.Integer() }),
})
const UnknownTenant = Type.Object({ code: Type.Literal('unknown_tenant' satisfies ErrorCode) })

const postTraced = async (
  notifier: ServiceClient,
  tenant: string,
  events: readonly CourierEvent[],
): Promise<PostFailure | undefined> => {
  const response = await notifier.post('/internal/events', { tenant, events }, commonTrace(events))
  if (response.kind === 'unreachable') return response
  const { status, body } = response
  if (status === errorStatuses.unknown_tenant && Value.Check(UnknownTenant, body)) return { kind: 'unknown_tenant' }
  if (status !== 200 || !Value.Check(Acknowledgement, body)) return { kind: 'refused', status }
  return undefined
}

/** Returns the trace that all events share, for the request itself. */
const commonTrace = ([first, ...others]: readonly CourierEvent[]): string | undefined =>
  others.every(({ traceparent }) => traceparent === first?.traceparent) ? first?.traceparent : undefined
