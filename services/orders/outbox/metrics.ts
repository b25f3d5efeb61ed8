import { createGauges } from '@courier/shared/http/measured-gauges.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'
import { maxCountedRows, measureOutbox } from './queries.ts'

/** Adds metrics of the outbox's size and age, measured when they are scraped. */
export const watchOutbox = (pool: pg.Pool, registry: Registry): void =>
  createGauges(registry, () => inAllTenants(pool, (tx: Tx) => measureOutbox(tx)), [
    {
      name: 'outbox_depth',
      help: `Rows of the outbox, of all processes and tenants; ${maxCountedRows} means that or more.`,
      read: size => size.rows,
    },
    {
      name: 'outbox_age_seconds',
      help: 'Age of the oldest row of the outbox; 0 when it is empty.',
      read: size => size.ageSeconds,
    },
  ])

/** Metrics of this process's relay. */
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
