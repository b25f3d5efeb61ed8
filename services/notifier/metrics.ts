import { createCounter, createGauges, oldest } from '@courier/shared/edge/metrics.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { Registry } from 'prom-client'
import { silentMinutes, silentSinceSql } from './core/channels/silent.ts'
import type { Tx } from './core/database/tables.ts'
import { cappedHelp, selectCount } from './core/messages/summary.ts'

export const createCounters = (registry: Registry) => {
  const create = (name: string, label: string, help: string) => createCounter(registry, name, label, help)
  return {
    countSend: create('sends_total', 'status', sendsHelp),
    countEvents: create('events_total', 'outcome', 'Events from orders, by outcome.'),
    countFacts: create('webhook_facts_total', 'kind', 'Facts that webhooks reported, by kind.'),
    countIgnored: create('webhook_fields_ignored_total', 'field', 'Changes in webhooks that are not read, by field.'),
    countFailure: create('worker_failures_total', 'worker', 'Failed runs of the workers beside the queue.'),
  }
}
const sendsHelp = 'Messages that this process sent, by status; queued: to be retried.'
export type Counters = ReturnType<typeof createCounters>

const inStatus = (status: string): string => selectCount(`messages where status = '${status}'`)
const firstDue = `channels c cross join lateral (
  select m.due_at from messages m
  where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id and m.status = 'queued'
  order by m.due_at
  limit 1) first_due`
const retried = `(select failing_since from messages where status = 'queued' and due_at = retry_at
  order by failing_since limit 1) retried`

/** Lists gauges by name, each with its help and the SQL that measures it across tenants. */
export type Gauges = Readonly<Record<string, readonly [help: string, sql: string]>>

const coreGauges: Gauges = {
  messages_queued: [`Messages that are to be sent, now or later, ${cappedHelp}`, inStatus('queued')],
  messages_held: [`Messages that wait for the customer to write, ${cappedHelp}`, inStatus('held')],
  messages_unknown: [`Messages that may or may not have been sent, ${cappedHelp}`, inStatus('unknown')],
  messages_late_seconds: [
    'Seconds since the oldest due message was first due, or its sends began to fail.',
    `greatest(${oldest('due_at', firstDue)}, ${oldest('failing_since', retried)})`,
  ],
  channels_paused: [
    'Channels that send nothing until they are resumed.',
    "(select count(*)::integer from channels where state = 'paused')",
  ],
  channels_without_statuses: [
    `Channels whose accepted messages have had no status for ${silentMinutes} minutes.`,
    `(select count(*)::integer from channels c where (${silentSinceSql}) is not null)`,
  ],
}

/** Registers the gauges of the core and those `added`; a read of the metrics measures them. */
export const registerGauges = (pool: pg.Pool, registry: Registry, added: readonly (Gauges | undefined)[]): void => {
  const gauges = Object.entries(Object.assign({}, coreGauges, ...added) as Gauges)
  const measures = gauges.map(([name, [, sql]]) => `${sql} as ${name}`).join(', ')
  const measure = async (tx: Tx): Promise<Record<string, number>> => {
    // Until a grown table is analyzed, Postgres would read all of it rather than an index.
    await tx.client.query(`set local statement_timeout = '1s'; set local enable_seqscan = off`)
    return (await tx.client.query(`select ${measures}`)).rows[0]
  }
  const helps = Object.fromEntries(gauges.map(([name, [help]]) => [name, help]))
  createGauges(registry, () => inAllTenants(pool, measure), helps)
}
