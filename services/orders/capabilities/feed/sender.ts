import { randomUUID } from 'node:crypto'
import { createGauges } from '@courier/shared/edge/metrics.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { Tx } from '../../core/database/tables.ts'
import { DeliveryLoop } from '../../core/log/delivery-loop.ts'
import { createAgent, createResolve, type Resolve } from './addresses.ts'
import { type EndpointKey, findTenants, findWaiting } from './delivery-queries.ts'
import { drainEndpoint, type EndpointOptions } from './drain-endpoint.ts'

/** Stops counting here, so that measuring a backlog of any size costs the same. */
const maxCounted = 100_000

const metricsSql = `
  select (
      select count(*)::int from (select 1 from webhook_deliveries where state = 'pending' limit ${maxCounted}) counted
    ) as webhook_events_pending,
    (select count(*)::int from webhook_endpoints where state = 'disabled') as webhook_endpoints_disabled,
    greatest(0, extract(epoch from clock_timestamp() - (
      select min(oldest.next_attempt_at) from webhook_endpoints e cross join lateral (
        select next_attempt_at from webhook_deliveries d
        where d.tenant_id = e.tenant_id and d.endpoint_id = e.endpoint_id and d.state = 'pending'
          and d.next_attempt_at is not null
        order by next_attempt_at limit 1
      ) oldest where e.state = 'enabled' and e.failures = 0
    )))::float8 as webhook_overdue_seconds`

/** Adds metrics of the events that wait, measured when they are scraped. */
const watchWebhooks = (pool: pg.Pool, registry: Registry): void =>
  createGauges(registry, () => inAllTenants(pool, measureWebhooks), {
    webhook_events_pending: `Events waiting for an endpoint, across all processes and tenants; ${maxCounted} means that many or more.`,
    webhook_overdue_seconds: 'How long the most overdue event for a working endpoint has been due; 0 if there is none.',
    webhook_endpoints_disabled: 'Disabled endpoints.',
  })

const measureWebhooks = async (tx: Tx) => {
  await tx.client.query(`set local statement_timeout = '1s'`)
  return (await tx.rows(metricsSql))[0]
}

/** Limits the endpoints drained at once; those that take longer than a second have slots of their own. */
const concurrency = 8
const slow = { milliseconds: 1_000, concurrency: 64 }
/** Gives requests in flight this long to end when the process stops. */
const stopMilliseconds = 3_000

/** Creates a sender of merchants' events to their endpoints. Any number of processes may run one. */
const createWebhookSender = (options: Omit<EndpointOptions, 'holder' | 'isStopping' | 'aborted'>) => {
  const { pool, logger } = options
  const aborting = new AbortController()
  const holder = randomUUID()
  /** Holds the tenants with enabled endpoints, as of the last poll. */
  let tenants = new Set<string>()
  const draining = { ...options, holder, isStopping: () => loop.isStopping, aborted: aborting.signal }
  const loop: DeliveryLoop<EndpointKey> = new DeliveryLoop({
    logger,
    name: 'webhook',
    findWaiting: () =>
      inAllTenants(pool, async (tx: Tx) => {
        const [found, waiting] = await Promise.all([findTenants(tx), findWaiting(tx, holder)])
        tenants = new Set(found)
        return waiting
      }),
    drain: key => drainEndpoint(draining, key),
    identify: ({ tenant, endpointId }) => `${tenant} ${endpointId}`,
    describe: ({ tenant, endpointId }) => ({ tenant, endpoint_id: endpointId }),
    concurrency,
    slow,
    pollShare: 0.2,
  })
  return {
    start: () => loop.start(),
    /**
     * Sends a tenant's new changes soon, if it has endpoints. An endpoint that another process added is found within a
     * second.
     */
    wake: (tenant: string): void => {
      if (tenants.has(tenant)) loop.wake()
    },
    /** Sends soon, because the tenant has an endpoint that was added or has something to send. */
    changed: (tenant: string): void => {
      tenants.add(tenant)
      loop.wake()
    },
    /** Stops the loop. Requests that do not end within a few seconds are aborted, and another process repeats them. */
    stop: async (): Promise<void> => {
      const timer = setTimeout(() => aborting.abort(), stopMilliseconds)
      await loop.stop()
      clearTimeout(timer)
    },
  }
}

export interface SendingOptions {
  /** undefined: there is no sender. */
  readonly keyring: Keyring | undefined
  /** Allows http and private networks, for development. */
  readonly allowsPrivate: boolean
  /** Replaces the queries to the name servers. */
  readonly resolve?: Resolve
}

export type Sending = ReturnType<typeof createSending>

/**
 * Creates the sender, its metrics, and the parts that make its connections. `keyring` and `sender` are undefined if
 * WEBHOOK_KEYS is not set, `resolve` if any address is allowed.
 */
export const createSending = (pool: pg.Pool, logger: Logger, options: SendingOptions, registry: Registry) => {
  const { keyring, allowsPrivate } = options
  const resolve = allowsPrivate ? undefined : (options.resolve ?? createResolve())
  const posting = { dispatcher: createAgent(resolve), allowsPrivate, clock: createClock(pool) }
  watchWebhooks(pool, registry)
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Requests to endpoints: delivered, refused (another status than 2xx), or unreachable (no response).',
    labelNames: ['result'],
    registers: [registry],
  })
  const onAttempt: EndpointOptions['onAttempt'] = result => attempts.inc({ result })
  const sender = keyring && createWebhookSender({ ...posting, pool, logger, keyring, onAttempt })
  return { ...posting, keyring, resolve, sender }
}
