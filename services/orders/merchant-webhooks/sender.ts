import { randomUUID } from 'node:crypto'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { type Clock, createClock } from '@courier/shared/postgres/clock.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Dispatcher } from 'undici'
import type { Tx } from '../database/tables.ts'
import { DeliveryLoop } from '../delivery/loop.ts'
import { createAgent, createResolve, type Resolve } from './addresses.ts'
import { type EndpointKey, findTenants, findWaiting } from './delivery-queries.ts'
import { type DrainOptions, defaultLeaseSeconds, drainEndpoint } from './drain-endpoint.ts'
import { countAttempts, watchWebhooks } from './metrics.ts'

interface SenderOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly keyring: Keyring
  readonly dispatcher: Dispatcher
  readonly allowsPrivate: boolean
  readonly clock: Clock
  readonly leaseSeconds?: number
  readonly onAttempt?: DrainOptions['onAttempt']
}

/** Endpoints at once; those that take longer than a second have slots of their own. */
const concurrency = 8
const slow = { milliseconds: 1_000, concurrency: 64 }
/** Of requests in flight when the process stops. */
const stopMilliseconds = 3_000

/** Sends merchants' events to their endpoints. Any number of processes may run one. */
export class WebhookSender {
  readonly #loop: DeliveryLoop<EndpointKey>
  readonly #aborted = new AbortController()
  /** With enabled endpoints, as of the last poll. */
  #tenants = new Set<string>()

  constructor(options: SenderOptions) {
    const { pool, logger } = options
    const drainOptions: DrainOptions = {
      leaseSeconds: defaultLeaseSeconds,
      onAttempt: () => {},
      ...options,
      holder: randomUUID(),
      isStopping: () => this.#loop.isStopping,
      aborted: this.#aborted.signal,
    }
    this.#loop = new DeliveryLoop({
      logger,
      name: 'webhook',
      findWaiting: () =>
        inAllTenants(pool, async (tx: Tx) => {
          const [tenants, waiting] = await Promise.all([findTenants(tx), findWaiting(tx, drainOptions.holder)])
          this.#tenants = new Set(tenants)
          return waiting
        }),
      drain: key => drainEndpoint(drainOptions, key),
      idOf: ({ tenant, endpointId }) => `${tenant} ${endpointId}`,
      describe: ({ tenant, endpointId }) => ({ tenant, endpoint_id: endpointId }),
      concurrency,
      slow,
      wakeMilliseconds: 20,
      pollShare: 0.2,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /**
   * Sends soon, if the tenant has endpoints: there are new changes. An endpoint that another process added is found
   * within a second.
   */
  wake(tenant: string): void {
    if (this.#tenants.has(tenant)) this.#loop.wake()
  }

  /** Sends soon: the tenant has an endpoint, or something is to be sent to one. */
  changed(tenant: string): void {
    this.#tenants.add(tenant)
    this.#loop.wake()
  }

  /** Requests that take longer than some seconds more are sent again by another process. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#aborted.abort(), stopMilliseconds)
    await this.#loop.stop()
    clearTimeout(timer)
  }
}

export interface SendingOptions {
  /** Without it nothing is sent. */
  readonly keyring: Keyring | undefined
  /** For development: http, and private networks. */
  readonly allowsPrivate: boolean
  /** Instead of the name servers. */
  readonly resolve?: Resolve
}

/** The sender, with its metrics, and what its connections are made with. */
export const createSending = (pool: pg.Pool, logger: Logger, options: SendingOptions, registry: Registry) => {
  const { keyring, allowsPrivate } = options
  const resolve = allowsPrivate ? undefined : (options.resolve ?? createResolve())
  const dispatcher = createAgent(resolve)
  watchWebhooks(pool, registry)
  const onAttempt = countAttempts(registry)
  const clock = createClock(pool)
  const sender = keyring && new WebhookSender({ pool, logger, keyring, dispatcher, allowsPrivate, clock, onAttempt })
  return { keyring, dispatcher, resolve, clock, sender }
}
