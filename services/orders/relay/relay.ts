import { randomUUID } from 'node:crypto'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type { Tx } from '../database/tables.ts'
import { DeliveryLoop } from '../log/loop.ts'
import { type DrainOptions, drainTenant } from './drain-tenant.ts'
import { findWaiting } from './queries.ts'

export interface RelayOptions extends Omit<DrainOptions, 'holder' | 'isStopping'> {
  /** The number of tenants drained at once. */
  readonly concurrency?: number
}

/**
 * Delivers the log to the notifier: polls for tenants with entries that wait and drains several at once, the one that
 * waited longest first. Back-off is per tenant. Any number of processes may run a relay.
 */
export const createRelay = (options: RelayOptions): DeliveryLoop<string> => {
  const { pool, logger, concurrency = 4 } = options
  const holder = randomUUID()
  const draining: DrainOptions = { ...options, holder, isStopping: () => loop.isStopping }
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
