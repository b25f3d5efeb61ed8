import { createGauges } from '@courier/shared/edge/measured-gauges.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'
import type { Outcome } from './outcomes.ts'

/** More messages than this are not counted: measuring costs the same however many there are. */
const maxCounted = 100_000

/** Registers the backlog and what needs a person, across processes and tenants; measured when the metrics are read. */
export const watchMessages = (pool: pg.Pool, registry: Registry): void => {
  const counted = `of all processes and tenants; ${maxCounted} means that or more.`
  createGauges(registry, () => inAllTenants(pool, (tx: Tx) => measure(tx)), [
    {
      name: 'messages_queued',
      help: `Messages that are to be sent, now or later, ${counted}`,
      read: size => size.queued,
    },
    {
      name: 'messages_held',
      help: `Messages that wait for the customer to write, ${counted}`,
      read: size => size.held,
    },
    { name: 'messages_unknown', help: `Messages whose sending is in doubt, ${counted}`, read: size => size.unknown },
    { name: 'messages_late_seconds', help: 'How long the oldest due message has waited.', read: size => size.late },
    {
      name: 'budgets_nearly_used_up',
      help: "Tenants that spent their budget's share to be warned at, or all of it, this month.",
      read: size => size.warned,
    },
    {
      name: 'budgets_used_up',
      help: 'Tenants whose marketing messages wait, because the budget of the month is used up.',
      read: size => size.usedUp,
    },
    {
      name: 'channels_paused',
      help: 'Channels that send nothing until they are resumed.',
      read: size => size.paused,
    },
  ])
}

interface Size {
  readonly queued: number
  readonly held: number
  readonly unknown: number
  /** Seconds. */
  readonly late: number
  readonly paused: number
  readonly warned: number
  readonly usedUp: number
}

const measure = async (tx: Tx): Promise<Size> => {
  // Where nothing was analyzed since the table grew, Postgres would rather read all of it than an index.
  await tx.client.query(`set local statement_timeout = '1s'; set local enable_seqscan = off`)
  const count = (status: string) =>
    `(select count(*)::int from (select from messages where status = '${status}' limit ${maxCounted}) counted)`
  const { rows } = await tx.client.query(`
    select ${count('queued')} as queued, ${count('held')} as held, ${count('unknown')} as unknown,
      (select count(*)::int from channels where state = 'paused') as paused,
      (select count(warned_at)::int from budgets) as warned, (select count(paused_at)::int from budgets) as "usedUp",
      coalesce((
        select greatest(0, extract(epoch from now() - min(oldest.due_at)))::float8
        from channels c cross join lateral (
          select m.due_at from messages m
          where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id and m.status = 'queued'
          order by m.due_at
          limit 1
        ) oldest
      ), 0) as late`)
  return rows[0]
}

/** Counts this process's sends by outcome. */
export const countSends = (registry: Registry) => {
  const sends = new Counter({
    name: 'sends_total',
    help: 'Messages that this process sent: accepted, failed, unknown, or queued to be tried again.',
    labelNames: ['status'],
    registers: [registry],
  })
  return (outcome: Outcome): Outcome => {
    sends.inc({ status: outcome.status })
    return outcome
  }
}
