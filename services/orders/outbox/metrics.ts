import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'
import { maxCountedRows, measureOutbox, type OutboxSize } from './queries.ts'

/** Adds the outbox's size and age, measured when they are asked for. Without the database they are left out. */
export const watchOutbox = (pool: pg.Pool, registry: Registry): void => {
  const measure = shared(() => withinASecond(inTenant(pool, '*', (tx: Tx) => measureOutbox(tx))))
  const gauge = (name: string, help: string, read: (size: OutboxSize) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const size = await measure()
        if (size) this.set(read(size))
        else this.remove()
      },
    })
  gauge(
    'outbox_depth',
    `Rows of the outbox, of all processes and tenants; ${maxCountedRows} means that or more.`,
    size => size.rows,
  )
  gauge('outbox_age_seconds', 'Age of the oldest row of the outbox; 0 when it is empty.', size => size.ageSeconds)
}

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

/** Who asks while an answer is under way gets the same. */
const shared = <Value>(ask: () => Promise<Value>): (() => Promise<Value>) => {
  let current: Promise<Value> | undefined
  return () => {
    current ??= ask().finally(() => {
      current = undefined
    })
    return current
  }
}

const withinASecond = <Value>(value: Promise<Value>): Promise<Value | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, 1_000, undefined)
  })
  return Promise.race([value.catch(() => undefined), late]).finally(() => clearTimeout(timer))
}
