import { inTenant } from '@courier/shared/database.ts'
import { measuredGauges } from '@courier/shared/measured-gauges.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'
import { maxCountedRows, measureOutbox } from './queries.ts'

/** Adds the outbox's size and age, measured when they are asked for. */
export const watchOutbox = (pool: pg.Pool, registry: Registry): void =>
  measuredGauges(registry, () => inTenant(pool, '*', (tx: Tx) => measureOutbox(tx)), [
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

/** What the relay of this process did. */
export const countDeliveries = (registry: Registry) => {
  const delivered = new Counter({
    name: 'outbox_events_delivered_total',
    help: 'Events that the notifier took.',
    registers: [registry],
  })
  const failed = new Counter({
    name: 'outbox_posts_failed_total',
    help: 'Calls that the notifier did not answer (unreachable), or with something else than that it took the events (refused).',
    labelNames: ['kind'],
    registers: [registry],
  })
  return {
    onDelivered: (events: number) => delivered.inc(events),
    onFailed: (kind: 'unreachable' | 'refused') => failed.inc({ kind }),
  }
}
