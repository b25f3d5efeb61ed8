import { createGauges } from '@courier/shared/edge/measured-gauges.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../database/tables.ts'

/** Counting stops here, so that measuring a backlog of any size costs the same. */
const maxCounted = 100_000

const metricsSql = `
  select (select count(*)::int from (select 1 from webhook_deliveries where state = 'pending' limit ${maxCounted}) counted) as pending,
    (select count(*)::int from webhook_endpoints where state = 'disabled') as disabled,
    coalesce(extract(epoch from clock_timestamp() - (
      select min(oldest.next_attempt_at) from webhook_endpoints e cross join lateral (
        select next_attempt_at from webhook_deliveries d
        where d.tenant_id = e.tenant_id and d.endpoint_id = e.endpoint_id and d.state = 'pending' and d.next_attempt_at is not null
        order by next_attempt_at limit 1
      ) oldest where e.state = 'enabled' and e.failures = 0
    )), 0)::float8 as overdue`

/** Adds metrics of the events that wait, measured when they are scraped. */
export const watchWebhooks = (pool: pg.Pool, registry: Registry): void =>
  createGauges(
    registry,
    () =>
      inAllTenants(pool, async (tx: Tx) => {
        await tx.client.query(`set local statement_timeout = '1s'`)
        const { rows } = await tx.client.query(metricsSql)
        return rows[0] as { pending: number; disabled: number; overdue: number }
      }),
    [
      {
        name: 'webhook_events_pending',
        help: `Events waiting for an endpoint, across all processes and tenants; ${maxCounted} means that many or more.`,
        read: ({ pending }) => pending,
      },
      {
        name: 'webhook_overdue_seconds',
        help: 'How long the most overdue event for a working endpoint has been due; 0 if there is none.',
        read: ({ overdue }) => Math.max(0, overdue),
      },
      { name: 'webhook_endpoints_disabled', help: 'Disabled endpoints.', read: ({ disabled }) => disabled },
    ],
  )

/** Counts this process's requests to endpoints. */
export const countAttempts = (registry: Registry) => {
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Requests to endpoints: delivered, refused (another status than 2xx), or unreachable (no response).',
    labelNames: ['result'],
    registers: [registry],
  })
  return (result: 'delivered' | 'refused' | 'unreachable') => attempts.inc({ result })
}
