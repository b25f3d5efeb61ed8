import { createHmac } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { PhoneNumber } from '../accounts/account.ts'
import type { Behaviour } from '../basics/behaviour.ts'
import type { Clock } from '../basics/clock.ts'
import { createRing } from '../basics/ring.ts'
import { type Update, writeEnvelope } from './payloads.ts'

/** Limits first posts in flight per number; the real API has several (docs/contributors/messaging-api.md#delivery). */
const mostAtOnce = 4
const mostInPost = 100
const timeoutMs = 10_000
/** Lists the seconds before each further attempt at delay factor 1; the real API goes on for 7 days. */
const retrySeconds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
/** Limits the delay factor for retries: with 0, all attempts would fail before a callback has restarted. */
const leastRetryFactor = 0.1

interface CallbackOptions {
  behaviour: Behaviour
  clock: Clock
  logger: FastifyBaseLogger
  findNumber: (phoneNumberId: string) => PhoneNumber | undefined
}

interface Queue {
  waiting: Update[]
  underWay: number
}

/** Describes an update that was given up, with the status of the last response or why there was none. */
interface GivenUp {
  at: string
  status: number | string
  update: Update
}

const nothing = { under_way: 0, to_retry: 0, delivered: 0, lost: 0 }

/** Sends signed webhooks until their receivers respond with 200 (docs/contributors/messaging-api.md#webhooks). */
export const createCallback = ({ behaviour, clock, logger, findNumber }: CallbackOptions) => {
  let cut = new AbortController()
  let queues = new Map<string, Queue>()
  let counts = { ...nothing }
  const givenUp = createRing<GivenUp>(5_000)

  const attempt = async (phone_number_id: string, updates: Update[], tries: number): Promise<void> => {
    const number = findNumber(phone_number_id)
    if (!number) return
    const before = counts
    counts.under_way += updates.length
    const status = await post(behaviour.webhook_url ?? '', number, updates, cut.signal)
    if (before !== counts) return
    counts.under_way -= updates.length
    logger.debug({ phone_number_id, updates: updates.length, tries, status }, 'webhook.posted')
    if (status === 200) counts.delivered += updates.length
    else planRetry(phone_number_id, updates, tries, status)
  }

  const planRetry = (phone_number_id: string, updates: Update[], tries: number, status: GivenUp['status']): void => {
    const seconds = retrySeconds[tries - 1]
    if (seconds === undefined) {
      counts.lost += updates.length
      for (const update of updates) givenUp.push({ at: new Date().toISOString(), status, update })
      logger.warn({ phone_number_id, updates: updates.length }, 'webhook.given_up')
      return
    }
    counts.to_retry += updates.length
    clock.after(seconds * 1000 * Math.max(behaviour.delay_factor, leastRetryFactor), () => {
      counts.to_retry -= updates.length
      void attempt(phone_number_id, updates, tries + 1)
    })
  }

  const flush = (phoneNumberId: string, queue: Queue): void => {
    while (queue.waiting.length > 0 && queue.underWay < mostAtOnce) {
      queue.underWay += 1
      void attempt(phoneNumberId, queue.waiting.splice(0, mostInPost), 1).finally(() => {
        queue.underWay -= 1
        flush(phoneNumberId, queue)
      })
    }
  }

  return {
    /**
     * Queues an update, unless the app is not subscribed to the number's account or to the field. Updates that wait
     * together are posted together, up to a hundred.
     */
    send(phoneNumberId: string, update: Update): void {
      const field = 'field' in update ? update.field : 'messages'
      if (!behaviour.webhook_url || !findNumber(phoneNumberId)?.subscribed) return
      if (!behaviour.webhook_fields.includes(field)) return
      const queue = queues.get(phoneNumberId) ?? { waiting: [], underWay: 0 }
      queues.set(phoneNumberId, queue)
      if (queue.waiting.push(update) === 1) setImmediate(flush, phoneNumberId, queue)
    },
    /** Counts updates: `waiting` are not yet posted. */
    counts: () => ({ waiting: queues.values().reduce((sum, queue) => sum + queue.waiting.length, 0), ...counts }),
    givenUp,
    /** Aborts posts in flight and forgets every update. */
    reset(): void {
      for (const queue of queues.values()) queue.waiting = []
      queues = new Map()
      counts = { ...nothing }
      cut.abort()
      cut = new AbortController()
    },
  }
}

const signed = 'x-hub-signature-256'

/** Returns the status of the callback's response, or why there was none. */
const post = async (url: string, number: PhoneNumber, updates: Update[], signal: AbortSignal) => {
  try {
    const body = serialize(writeEnvelope(number, updates))
    const signature = `sha256=${createHmac('sha256', number.app_secret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'user-agent': 'facebookexternalua', [signed]: signature }
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const response = await fetch(url, { method: 'POST', headers, body, signal: within, redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  } catch (error) {
    return ((error as Error).cause as NodeJS.ErrnoException)?.code ?? (error as Error).message
  }
}

/** Serializes a webhook as the real API signs it: JSON that escapes everything beyond ASCII, in lower-case hex. */
const serialize = (payload: unknown): Buffer<ArrayBuffer> => {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return Buffer.from(JSON.stringify(payload).replace(/[\u0080-\uffff]/g, toEscape), 'latin1')
}
