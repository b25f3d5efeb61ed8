import { randomUUID } from 'node:crypto'
import { createGauges } from '@courier/shared/edge/metrics.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'
import { DeliveryLoop } from '../log/delivery-loop.ts'
import { drainTenant, type TenantOptions } from './drain-tenant.ts'
import { findWaiting, maxCountedRows, measureOutbox } from './queries.ts'

export interface RelayOptions extends Omit<TenantOptions, 'holder' | 'isStopping'> {
  /** Limits the tenants drained at once. */
  readonly concurrency?: number
}

/** Delivers the log to the notifier. Back-off is per tenant, and any number of processes may run a relay. */
export const createRelay = (options: RelayOptions): DeliveryLoop<string> => {
  const { pool, logger, concurrency = 4 } = options
  const holder = randomUUID()
  const draining: TenantOptions = { ...options, holder, isStopping: () => loop.isStopping }
  const loop: DeliveryLoop<string> = new DeliveryLoop({
    logger,
    name: 'outbox',
    findWaiting: () => inAllTenants(pool, (tx: Tx) => findWaiting(tx, holder)),
    drain: tenant => drainTenant(draining, tenant),
    identify: tenant => tenant,
    describe: tenant => ({ tenant }),
    concurrency,
  })
  return loop
}

/** Adds metrics of the outbox's size and age, measured when they are scraped. */
export const watchOutbox = (pool: pg.Pool, registry: Registry): void =>
  createGauges(registry, () => inAllTenants(pool, measureOutbox), {
    outbox_depth:
      'Entries of the log waiting for the notifier, across all processes and tenants; ' +
      `${maxCountedRows} means that many or more.`,
    outbox_age_seconds: 'Age of the oldest waiting entry whose tenant the notifier knows; 0 when there is none.',
    outbox_unknown_tenants: 'Tenants whose entries wait because the notifier does not know the tenant.',
    outbox_unknown_age_seconds: 'Age of the oldest entry of a tenant unknown to the notifier; 0 when there is none.',
  })

/** Registers the metrics of this process's relay. */
export const countDeliveries = (registry: Registry) => {
  const delivered = new Counter({
    name: 'outbox_events_delivered_total',
    help: 'Events that the notifier acknowledged.',
    registers: [registry],
  })
  const failed = new Counter({
    name: 'outbox_posts_failed_total',
    help: 'Requests without a response (unreachable) or without an acknowledgement (refused) from the notifier.',
    labelNames: ['kind'],
    registers: [registry],
  })
  return {
    onDelivered: (events: number) => delivered.inc(events),
    onFailed: (kind: 'unreachable' | 'refused') => failed.inc({ kind }),
  }
}
