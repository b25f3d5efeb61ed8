import type { Clock } from '@courier/shared/postgres/clock.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { batchRequests } from '@courier/shared/postgres/request-batcher.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import type { Tx } from '../database/tables.ts'
import { createLease, type Lease } from '../log/lease.ts'
import type { Drained } from '../log/loop.ts'
import {
  type DueDelivery,
  disable,
  type EndpointKey,
  findDue,
  type HeldEndpoint,
  holdEndpoint,
  lockHealth,
  releaseEndpoint,
  storeOutcomes,
} from './delivery-queries.ts'
import { fanOut } from './fan-out.ts'
import { type Attempt, isSuccess, requestMilliseconds, sendOnce } from './post.ts'
import { isDown } from './schedule.ts'
import { openSecret } from './secrets.ts'
import { type DisabledReason, type Outcome, settle } from './settle.ts'

export interface DrainOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly keyring: Keyring
  readonly dispatcher: Dispatcher
  readonly allowsPrivate: boolean
  readonly clock: Clock
  /** Identifies this process. */
  readonly holder: string
  /** More than twice the time limit of a request. */
  readonly leaseSeconds: number
  /** True starts no more requests. */
  readonly isStopping: () => boolean
  /** Aborts those in flight: they are sent again. */
  readonly aborted: AbortSignal
  readonly onAttempt: (result: 'delivered' | 'refused' | 'unreachable') => void
}

export const defaultLeaseSeconds = (2.2 * requestMilliseconds) / 1000
/** The most requests to one endpoint at once. */
const requestsAtOnce = 16
const eventsAtOnce = 256
/** Afterwards other endpoints are sent to. */
const startMilliseconds = 5_000
/** For an endpoint with too many waiting events, none of them due. */
const restSeconds = 5

/**
 * Sends an endpoint's due events, several at once but of a waybill one, and stores what came of them. No other process
 * sends to it meanwhile, and no lock is held during a request. Rejects when the database is unavailable.
 */
export const drainEndpoint = async (options: DrainOptions, key: EndpointKey): Promise<Drained> => {
  const { pool, holder, leaseSeconds: seconds } = options
  const { tenant } = key
  const lease = createLease({
    pool,
    tenant,
    seconds,
    acquireRow: (tx, isRenewal) => holdEndpoint(tx, key, holder, seconds, isRenewal),
  })
  const endpoint = await inTenant(pool, tenant, lease.acquire)
  if (!endpoint) return 'leased_elsewhere'
  let hasWork = true
  try {
    if (!endpoint.isMerchantActive) return await disableFor(options, key, 'merchant_inactive')
    const isAdded = await fanOut(pool, key, holder, endpoint)
    const limit = isDown(endpoint.failures) ? 1 : eventsAtOnce
    const due = await inTenant(pool, tenant, (tx: Tx) => findDue(tx, key, limit))
    hasWork = isAdded || due.length > 0
    if (due.length > 0) await sendAll(options, key, endpoint, lease, due)
    return 'done'
  } finally {
    await inTenant(pool, tenant, (tx: Tx) =>
      releaseEndpoint(tx, key, holder, hasWork || !endpoint.isFull ? null : restSeconds),
    )
  }
}

const disableFor = async ({ pool, logger }: DrainOptions, key: EndpointKey, reason: DisabledReason) => {
  await inTenant(pool, key.tenant, (tx: Tx) => disable(tx, key, reason))
  logger.warn({ tenant: key.tenant, endpoint_id: key.endpointId, reason }, 'webhook.disabled')
  return 'done' as const
}

/** Sends until all is sent, the time is over, the lease is lost, or the endpoint is to get nothing for a while. */
const sendAll = async (
  options: DrainOptions,
  key: EndpointKey,
  endpoint: HeldEndpoint,
  lease: Lease<HeldEndpoint>,
  due: readonly DueDelivery[],
): Promise<void> => {
  const { tenant, endpointId } = key
  const secrets = endpoint.secrets.map(sealed => openSecret(options.keyring, tenant, endpointId, sealed))
  const endsAt = performance.now() + startMilliseconds
  const queue = [...due]
  let isPaused = false
  const record = recorder(options, key, endpoint)
  const work = async (): Promise<void> => {
    while (!isPaused && !options.isStopping() && performance.now() < endsAt) {
      const delivery = queue.shift()
      if (!delivery || !(await lease.renew())) return
      const attempt = await attemptOnce(options, endpoint.url, secrets, delivery)
      // Recorded even if another one has paused the endpoint meanwhile.
      const pauses = await record('', { ...attempt, ...delivery, attempts: delivery.attempts + 1 })
      isPaused ||= pauses
    }
  }
  const stopAll = (error: unknown) => {
    isPaused = true
    throw error
  }
  const workers = Array.from({ length: Math.min(requestsAtOnce, due.length) }, () => work().catch(stopAll))
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
  if (failed && !options.aborted.aborted) throw (failed as PromiseRejectedResult).reason
}

const attemptOnce = async (
  { dispatcher, allowsPrivate, clock, aborted, onAttempt }: DrainOptions,
  url: string,
  secrets: readonly string[],
  { messageId, body }: DueDelivery,
): Promise<Attempt> => {
  const sending = { dispatcher, allowsPrivate, clock, signal: aborted }
  const attempt = await sendOnce(sending, { url, secrets, messageId, body })
  onAttempt(isSuccess(attempt.code) ? 'delivered' : attempt.code === null ? 'unreachable' : 'refused')
  return attempt
}

/**
 * Outcomes that come together share a transaction; without the lease none is stored. Each resolves to whether the
 * endpoint is to get nothing for now.
 */
const recorder = ({ pool, logger, holder }: DrainOptions, key: EndpointKey, { url }: HeldEndpoint) =>
  batchRequests<Outcome, boolean>({
    run: async (_, outcomes) => {
      const settled = await inTenant(pool, key.tenant, async (tx: Tx) => {
        const health = await lockHealth(tx, key, holder)
        if (!health) return undefined
        const settled = settle(health, outcomes, Math.random)
        await storeOutcomes(tx, key, outcomes, settled)
        return settled
      })
      const { tenant, endpointId: endpoint_id } = key
      const reason = settled?.disabledReason
      if (reason) logger.warn({ tenant, endpoint_id, host: new URL(url).host, reason }, 'webhook.disabled')
      const isPaused = !settled || settled.pause > 0 || Boolean(reason)
      return outcomes.map(() => isPaused)
    },
    take: ({ length }) => length,
    lanes: () => 1,
  })
