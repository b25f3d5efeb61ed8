import { createGauges } from '@courier/shared/edge/measured-gauges.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'

/** Counting stops here, so that measuring a backlog of any size costs the same. */
const maxCounted = 100_000

/** Adds metrics of the actions that orders has not responded to, measured when they are scraped. */
export const watchActions = (pool: pg.Pool, registry: Registry): void =>
  createGauges(registry, () => inAllTenants(pool, (tx: Tx) => measure(tx)), [
    {
      name: 'customer_actions_waiting',
      help: `Actions of customers without a response of orders, of all processes and tenants; ${maxCounted} means that or more.`,
      read: size => size.waiting,
    },
    {
      name: 'customer_actions_age_seconds',
      help: 'Age of the oldest of them; 0 when there is none.',
      read: size => size.age,
    },
  ])

const measure = async (tx: Tx): Promise<{ readonly waiting: number; readonly age: number }> => {
  const { rows } = await tx.client.query(`
    select count(*)::int as waiting, coalesce(greatest(0, extract(epoch from now() - min(created_at))), 0)::float8 as age
    from (select created_at from customer_actions where outcome is null limit ${maxCounted}) waiting`)
  return rows[0]
}

/** Counts this process's actions by outcome. */
export const countActions = (registry: Registry) => {
  const actions = new Counter({
    name: 'customer_actions_total',
    help: 'Actions of customers by outcome: done, refused, asked, requested, or expired when orders did not respond for three days.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return (outcome: string, count: number): void => actions.inc({ outcome }, count)
}
