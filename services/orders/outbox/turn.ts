import { inTenant } from '@courier/shared/database.ts'
import { maxEventsBytesPerCall, maxEventsPerCall, type OrderEvent } from '@courier/shared/order-facts.ts'
import { type ServiceClient, serviceCallMilliseconds } from '@courier/shared/service-client.ts'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../tracking/status-queries.ts'
import { eventsOf, type OutboxRow, partsOf, type Slice, slicesOf } from './events.ts'
import { findOrders } from './facts.ts'
import { deleteRows, giveBackLease, readOldest, takeLease } from './queries.ts'

export interface TurnOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly notifier: ServiceClient
  /** Names this process. */
  readonly holder: string
  /** A dead process's lease ends after this long. More than twice as long as a call to the notifier may take. */
  readonly leaseSeconds: number
  /** Told of each call that the notifier took. */
  readonly onDelivered: (tenant: string, events: number) => void
  /** True ends the turn after the call under way. */
  readonly isStopping: () => boolean
}

export const defaultLeaseSeconds = (4 * serviceCallMilliseconds) / 1000

export type TurnEnd =
  /** All that was read is told, or the process is stopping. */
  | { readonly kind: 'done' }
  /** Another process tells this tenant's events. */
  | { readonly kind: 'held_elsewhere' }
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The notifier's answer was not that it took the events. */
  | { readonly kind: 'refused'; readonly status: number }

/**
 * Tells the notifier the tenant's oldest events, in their order, and deletes what it took. Nobody else tells this tenant's
 * events meanwhile: a call is made only while the lease lasts longer than the call can. No lock is held during a call.
 * Rejects when the database is away.
 */
export const takeTurn = async (options: TurnOptions, tenant: string): Promise<TurnEnd> => {
  const { pool, holder } = options
  const lease = createLease(options, tenant)
  const rows = await inTenant(pool, tenant, async (tx: Tx) =>
    // The rows are read after the lease is taken: what its last holder told is deleted by then.
    (await lease.take(tx)) ? readOldest(tx, tenant, maxEventsPerCall) : undefined,
  )
  if (!rows) return { kind: 'held_elsewhere' }
  try {
    return await tellAll(options, tenant, lease, rows)
  } finally {
    await inTenant(pool, tenant, (tx: Tx) => giveBackLease(tx, tenant, holder))
  }
}

interface Lease {
  readonly take: (tx: Tx) => Promise<boolean>
  /** Renews it when less than half of it is left; false when it is lost. */
  readonly keep: () => Promise<boolean>
}

/** Its end is reckoned from before it was asked for, on this machine's clock: never later than in the database. */
const createLease = ({ pool, holder, leaseSeconds }: TurnOptions, tenant: string): Lease => {
  let endsAt = 0
  const take = async (tx: Tx): Promise<boolean> => {
    const askedAt = performance.now()
    const isTaken = await takeLease(tx, tenant, holder, leaseSeconds)
    endsAt = isTaken ? askedAt + leaseSeconds * 1000 : 0
    return isTaken
  }
  const isFresh = (): boolean => endsAt - performance.now() > leaseSeconds * 500
  return { take, keep: async () => isFresh() || ((await inTenant(pool, tenant, take)) && isFresh()) }
}

const tellAll = async (
  options: TurnOptions,
  tenant: string,
  lease: Lease,
  rows: readonly OutboxRow[],
): Promise<TurnEnd> => {
  const { pool, logger } = options
  for (const { happenings, endedRowIds } of slicesOf(rows, maxEventsPerCall)) {
    if (options.isStopping()) break
    const events = await readEvents(pool, tenant, happenings)
    const missing = happenings.length - events.length
    if (missing > 0) logger.error({ tenant, orders: missing }, 'outbox.orders_missing')
    const failure = await tellInParts(options, tenant, lease, events)
    if (failure) return failure
    if (endedRowIds.length > 0) await inTenant(pool, tenant, (tx: Tx) => deleteRows(tx, tenant, endedRowIds))
  }
  return { kind: 'done' }
}

const readEvents = (pool: pg.Pool, tenant: string, happenings: Slice['happenings']): Promise<OrderEvent[]> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const waybills = happenings.map(({ waybill }) => waybill)
    const [orders, statuses] = await Promise.all([findOrders(tx, tenant, waybills), findStatuses(tx, tenant)])
    return eventsOf(happenings, orders, statuses)
  })

const tellInParts = async (
  options: TurnOptions,
  tenant: string,
  lease: Lease,
  events: readonly OrderEvent[],
): Promise<TurnEnd | undefined> => {
  for (const part of partsOf(events, maxEventsBytesPerCall)) {
    if (!(await lease.keep())) return { kind: 'held_elsewhere' }
    const failure = part.length > 0 ? await tell(options, tenant, part) : undefined
    if (failure) return failure
  }
  return undefined
}

/** An address that answers 200 to everything is not the notifier. */
const Taken = Type.Object({ data: Type.Object({ taken: Type.Integer(), repeated: Type.Integer() }) })

const tell = async (
  { notifier, onDelivered }: TurnOptions,
  tenant: string,
  events: readonly OrderEvent[],
): Promise<TurnEnd | undefined> => {
  const answer = await notifier.post('/internal/events', { tenant, events })
  if (answer.kind === 'unreachable') return answer
  const { status, body } = answer
  if (status !== 200 || !Value.Check(Taken, body)) return { kind: 'refused', status }
  onDelivered(tenant, events.length)
  return undefined
}
