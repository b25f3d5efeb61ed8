import { inTenant } from '@courier/shared/postgres/database.ts'
import { batchRequests } from '@courier/shared/postgres/request-batcher.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { Logger } from 'pino'
import type { Tx } from '../../core/database/tables.ts'
import type { DrainOptions } from '../../core/log/delivery-loop.ts'
import { createLease, type Lease } from '../../core/log/lease.ts'
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
import { deliverTo, type PostOptions, requestMilliseconds } from './post.ts'
import { isDown } from './schedule.ts'
import { openSecret } from './secrets.ts'
import { type Attempt, isSuccess, type Outcome, settle } from './settle.ts'

export interface EndpointOptions extends DrainOptions, PostOptions {
  readonly keyring: Keyring
  /** Aborts requests in flight, which are sent again later. */
  readonly aborted: AbortSignal
  readonly onAttempt: (result: 'delivered' | 'refused' | 'unreachable') => void
}

const defaultLeaseSeconds = (2.2 * requestMilliseconds) / 1000
const requestsAtOnce = 16
const eventsAtOnce = 256
/** Starts no more requests after this time, so that other endpoints get their turn. */
const startMilliseconds = 5_000
/** Sets how long an endpoint rests after an error of ours, or when too many of its events wait and none is due. */
const restSeconds = 5

/**
 * Sends an endpoint's due events and stores the outcomes. Sends several at once, but only one for each waybill. No
 * other process sends to the endpoint meanwhile, and no lock is held during a request. Rejects when the database is
 * unavailable.
 */
export const drainEndpoint = async (options: EndpointOptions, key: EndpointKey): Promise<void> => {
  const { pool, holder, leaseSeconds: seconds = defaultLeaseSeconds } = options
  const { tenant } = key
  const acquireRow = (tx: Tx, isRenewal: boolean) => holdEndpoint(tx, key, holder, seconds, isRenewal)
  const lease = createLease({ pool, tenant, seconds, acquireRow })
  const endpoint = await inTenant(pool, tenant, lease.acquire)
  if (!endpoint) return
  let rest: number | null = restSeconds
  try {
    if (endpoint.isMerchantActive) {
      const hasWork = await drainHeld(options, endpoint, lease)
      if (hasWork || !endpoint.isFull) rest = null
    } else {
      await inTenant(pool, tenant, (tx: Tx) => disable(tx, key, 'merchant_inactive'))
      logDisabled(options.logger, endpoint, 'merchant_inactive')
    }
  } finally {
    await inTenant(pool, tenant, (tx: Tx) => releaseEndpoint(tx, endpoint, rest))
  }
}

const logDisabled = (logger: Logger, { tenant, endpointId, url }: HeldEndpoint, reason: string): void =>
  logger.warn({ tenant, endpoint_id: endpointId, host: new URL(url).host, reason }, 'webhook.disabled')

/** Returns true if there was something to add or to send. */
const drainHeld = async (options: EndpointOptions, endpoint: HeldEndpoint, lease: Lease<unknown>): Promise<boolean> => {
  const isAdded = await fanOut(options.pool, endpoint)
  const limit = isDown(endpoint.failures) ? 1 : eventsAtOnce
  const due = await inTenant(options.pool, endpoint.tenant, (tx: Tx) => findDue(tx, endpoint, limit))
  if (due.length > 0) await sendAll(options, endpoint, lease, due)
  return isAdded || due.length > 0
}

/** Sends the events in `due` until time is up, the process stops, the lease is lost, or the endpoint has to rest. */
const sendAll = async (
  options: EndpointOptions,
  endpoint: HeldEndpoint,
  lease: Lease<unknown>,
  due: readonly DueDelivery[],
): Promise<void> => {
  const { tenant, endpointId, url } = endpoint
  const secrets = endpoint.secrets.map(sealed => openSecret(options.keyring, tenant, endpointId, sealed))
  const endsAt = performance.now() + startMilliseconds
  const queue = [...due]
  let isPaused = false
  const record = createRecorder(options, endpoint)
  const work = async (): Promise<void> => {
    while (!isPaused && !options.isStopping() && performance.now() < endsAt) {
      const delivery = queue.shift()
      if (!delivery || !(await lease.renew())) return
      const message = { ...delivery, tenant, endpointId, url, secrets }
      const attempt = await deliverTo(endpoint.target)(options, message, options.aborted)
      options.onAttempt(nameResult(attempt))
      // The outcome is recorded even if another one has paused the endpoint meanwhile.
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

const nameResult = ({ code }: Attempt) => {
  if (code === null) return 'unreachable'
  return isSuccess(code) ? 'delivered' : 'refused'
}

/**
 * Creates a function that stores concurrent outcomes in one transaction, and none without the lease. It resolves to
 * true if nothing more may be sent: the endpoint has to rest or is disabled, or the lease is lost.
 */
const createRecorder = ({ pool, logger }: EndpointOptions, endpoint: HeldEndpoint) =>
  batchRequests<Outcome, boolean>({
    run: async (_, outcomes) => {
      const settled = await inTenant(pool, endpoint.tenant, async (tx: Tx) => {
        const health = await lockHealth(tx, endpoint)
        if (!health) return undefined
        const settled = settle(health, outcomes, Math.random)
        await storeOutcomes(tx, endpoint, outcomes, settled)
        return settled
      })
      if (settled?.disabledReason) logDisabled(logger, endpoint, settled.disabledReason)
      const isPaused = !settled || settled.pause > 0 || settled.disabledReason !== null
      return outcomes.map(() => isPaused)
    },
    take: ({ length }) => length,
    lanes: () => 1,
  })
