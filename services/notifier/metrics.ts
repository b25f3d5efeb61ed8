import { createGauges } from '@courier/shared/edge/metrics.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import { silentMinutes, silentSinceSql } from './core/channels/silent.ts'
import type { Tx } from './core/database/tables.ts'
import { maxCounted, selectCount } from './core/messages/summary.ts'

export const createCounters = (registry: Registry) => {
  /** Creates a counter with one label; returns the function that increments it. */
  const create = (name: string, label: string, help: string) => {
    const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
    return (value: string, count = 1): void => counter.inc({ [label]: value }, count)
  }
  return {
    countSend: create('sends_total', 'status', sendsHelp),
    countActions: create('customer_actions_total', 'outcome', actionsHelp),
    countEvents: create('events_total', 'outcome', 'Events from orders, by outcome.'),
    countFacts: create('webhook_facts_total', 'kind', 'Facts that webhooks reported, by kind.'),
    countIgnored: create('webhook_fields_ignored_total', 'field', 'Changes in webhooks that are not read, by field.'),
    countFailure: create('worker_failures_total', 'worker', 'Failed runs of the workers beside the queue.'),
  }
}
const sendsHelp = 'Messages that this process sent, by status; queued: to be retried.'
const actionsHelp = 'Actions of customers by outcome; expired: orders did not respond for three days.'
export type Counters = ReturnType<typeof createCounters>

const capped = `of all processes and tenants; ${maxCounted} means that or more.`

const inStatus = (status: string): string => selectCount(`messages where status = '${status}'`)
/** Returns SQL for the age in seconds of the oldest `time` of `rows`; 0 without any. */
const oldest = (time: string, rows: string): string =>
  `(select coalesce(greatest(0, extract(epoch from now() - min(${time}))), 0)::float8 from ${rows})`
const firstDue = `channels c cross join lateral (
  select m.due_at from messages m
  where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id and m.status = 'queued'
  order by m.due_at
  limit 1) first_due`
const retried = `(select failing_since from messages where status = 'queued' and due_at = retry_at
  order by failing_since limit 1) retried`
const countProblems = (...kinds: string[]): string => `(select count(*)::integer from account_notices
  where is_problem and kind in ('${kinds.join("','")}') and happened_at > now() - interval '7 days')`
const waitingActions = 'customer_actions where outcome is null'

const gauges = {
  messages_queued: [`Messages that are to be sent, now or later, ${capped}`, inStatus('queued')],
  messages_held: [`Messages that wait for the customer to write, ${capped}`, inStatus('held')],
  messages_unknown: [`Messages that may or may not have been sent, ${capped}`, inStatus('unknown')],
  messages_late_seconds: [
    'Seconds since the oldest due message was first due, or its sends began to fail.',
    `greatest(${oldest('due_at', firstDue)}, ${oldest('failing_since', retried)})`,
  ],
  budgets_nearly_used_up: [
    "Tenants whose spending this month has reached their budget's share for a warning, or all of it.",
    '(select count(warned_at)::integer from budgets)',
  ],
  budgets_used_up: [
    'Tenants whose marketing messages wait, because the budget of the month is used up.',
    '(select count(paused_at)::integer from budgets)',
  ],
  channels_paused: [
    'Channels that send nothing until they are resumed.',
    "(select count(*)::integer from channels where state = 'paused')",
  ],
  channels_without_statuses: [
    `Channels whose accepted messages have had no status for ${silentMinutes} minutes.`,
    `(select count(*)::integer from channels c where (${silentSinceSql}) is not null)`,
  ],
  portfolio_limit_used_share: [
    'The largest share of a messaging limit that is used, 0 to 1, of all portfolios.',
    'coalesce((select max(least(1, used::float8 / max_people)) from portfolios where max_people > 0), 0)',
  ],
  portfolio_messages_waiting: [
    `Messages that wait for room in the messaging limit of their portfolio, ${capped}`,
    selectCount('portfolio_waiting'),
  ],
  account_problems: [
    'Problems of accounts that the platform reported within a week: restrictions, violations.',
    countProblems('account'),
  ],
  number_quality_problems: [
    'Numbers whose quality the platform called low within a week, or whose limit it lowered.',
    countProblems('quality', 'throughput'),
  ],
  template_quality_problems: [
    'Templates whose quality the platform called low within a week.',
    countProblems('template'),
  ],
  customer_actions_waiting: [
    `Actions of customers to which orders has not responded, ${capped}`,
    selectCount(waitingActions),
  ],
  customer_actions_age_seconds: [
    'Age of the oldest such action; 0 if there is none.',
    oldest('created_at', `(select created_at from ${waitingActions} limit ${maxCounted}) waiting`),
  ],
} as const
type GaugeName = keyof typeof gauges

/** Registers the gauges, across processes and tenants; a read of the metrics measures them. */
export const registerGauges = (pool: pg.Pool, registry: Registry): void => {
  const helps = Object.entries(gauges).map(([name, [help]]) => [name, help])
  createGauges<GaugeName>(registry, () => inAllTenants(pool, measure), Object.fromEntries(helps))
}

const measure = async (tx: Tx): Promise<Record<GaugeName, number>> => {
  // Until a grown table is analyzed, Postgres would read all of it rather than an index.
  await tx.client.query(`set local statement_timeout = '1s'; set local enable_seqscan = off`)
  const columns = Object.entries(gauges).map(([name, [, sql]]) => `${sql} as ${name}`)
  return (await tx.client.query(`select ${columns.join(', ')}`)).rows[0]
}
