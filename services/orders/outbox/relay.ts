import { randomUUID } from 'node:crypto'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { DeliveryLoop, type Drained } from '../delivery/loop.ts'
import type { ReadSnapshots } from '../tracking/order-snapshot.ts'
import { type DrainOptions, type DrainResult, defaultLeaseSeconds, drainTenant } from './drain-tenant.ts'
import { findWaiting } from './queries.ts'

export interface RelayOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly notifier: ServiceClient
  readonly tracer?: Tracer | undefined
  readonly readSnapshots: ReadSnapshots
  /** How many tenants are drained at once. */
  readonly concurrency?: number
  readonly leaseSeconds?: number
  readonly onDelivered?: (events: number) => void
  readonly onFailed?: (kind: 'unreachable' | 'refused') => void
}

/**
 * Delivers the outbox to the notifier: polls for tenants with events and drains several at once, the one that waited
 * longest first. Back-off is per tenant. Any number of processes may run a relay.
 */
export class Relay {
  readonly #loop: DeliveryLoop<string>

  constructor(options: RelayOptions) {
    const { pool, logger, notifier, tracer, readSnapshots } = options
    const holder = randomUUID()
    const drainOptions: DrainOptions = {
      ...{ pool, logger, notifier, tracer, readSnapshots, holder },
      leaseSeconds: options.leaseSeconds ?? defaultLeaseSeconds,
      isStopping: () => this.#loop.isStopping,
      onDelivered: (tenant, events) => {
        logger.info({ tenant, events }, 'outbox.delivered')
        options.onDelivered?.(events)
      },
    }
    this.#loop = new DeliveryLoop({
      logger,
      name: 'outbox',
      findWaiting: () => inAllTenants(pool, (tx: Tx) => findWaiting(tx, holder)),
      drain: async tenant => drainedBy(await drainTenant(drainOptions, tenant), options.onFailed),
      idOf: tenant => tenant,
      describe: tenant => ({ tenant }),
      concurrency: options.concurrency ?? 4,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Delivers soon: that tenant has new events. */
  wake(tenant?: string): void {
    this.#loop.wake(tenant)
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }
}

export const drainedBy = (result: DrainResult, onFailed: RelayOptions['onFailed']): Drained => {
  if (result.kind === 'leased_elsewhere') return result.kind
  if (result.kind === 'done' || result.kind === 'unknown_tenant') return 'done'
  const { kind, ...cause } = result
  onFailed?.(kind)
  return { failure: kind, cause }
}
