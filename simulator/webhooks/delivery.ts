import type { FastifyBaseLogger } from 'fastify'
import type { PhoneNumber } from '../accounts/account.ts'
import type { Behaviour } from '../behaviour.ts'
import type { Clock } from '../clock.ts'
import { createRing } from '../ring.ts'
import { envelope, type Update } from './payloads.ts'
import { createPoster, type Outcome } from './post.ts'
import { serialize, signatureOf } from './signature.ts'
import type { WebhookView } from './views.ts'

/** Seconds before each further attempt at delay factor 1; then the updates are lost. The real one goes on for 7 days. */
const retrySeconds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
/** A factor of 0 must not use up all attempts before a callback has restarted. */
const leastRetryFactor = 0.1

export interface DeliveryOptions {
  behaviour: Behaviour
  clock: Clock
  logger: FastifyBaseLogger
  findNumber: (phoneNumberId: string) => PhoneNumber | undefined
}

/** Brings updates to the callback of their number, again and again until it answers 200 (messaging-api 4.3). */
export interface Delivery {
  /** Settles after the first attempt; further ones follow by themselves. */
  deliver(phoneNumberId: string, updates: Update[]): Promise<void>
  /** Posts a body once. Without `signature` the right one goes with it; null is none. */
  post(number: PhoneNumber, body: Buffer, signature?: string | null): Promise<Outcome>
  /** Asks a callback with GET. */
  ask(url: string): Promise<Outcome>
  /** The address that webhooks of a number go to; undefined when they go nowhere. */
  addressOf(number: PhoneNumber): string | undefined
  counts(): typeof none
  /** The last posts, newest first. */
  posts(): WebhookView[]
  /** Cuts what is under way and forgets it. */
  reset(): void
}

/** Updates: posted and not yet answered, waiting for a further attempt, answered with 200, given up. */
const none = { under_way: 0, to_retry: 0, delivered: 0, lost: 0 }

export const createDelivery = ({ behaviour, clock, logger, findNumber }: DeliveryOptions): Delivery => {
  const poster = createPoster()
  const posts = createRing<WebhookView>(200)
  let counts = { ...none }

  const addressOf = (number: PhoneNumber): string | undefined =>
    (number.webhook_url === undefined ? behaviour.webhook_url : number.webhook_url) ?? undefined

  const post: Delivery['post'] = (number, body, signature = signatureOf(body, number.app_secret)) =>
    poster.request('POST', addressOf(number) ?? '', body, {
      'content-type': 'application/json',
      'user-agent': 'facebookexternalua',
      ...(signature !== null && { 'x-hub-signature-256': signature }),
    })

  const attempt = async (phoneNumberId: string, updates: Update[], tries: number): Promise<void> => {
    const number = findNumber(phoneNumberId)
    const url = number && addressOf(number)
    if (!number || !url) return
    const before = counts
    const startedAt = performance.now()
    counts.under_way += updates.length
    const outcome = await post(number, serialize(envelope(number, updates, clock.now())))
    if (before !== counts) return
    counts.under_way -= updates.length
    note(phoneNumberId, { url, updates: updates.length, attempt: tries, ...shown(outcome, startedAt) })
    if (outcome.status === 200) counts.delivered += updates.length
    else planRetry(phoneNumberId, updates, tries)
  }

  const planRetry = (phoneNumberId: string, updates: Update[], tries: number): void => {
    const seconds = retrySeconds[tries - 1]
    if (seconds === undefined) {
      counts.lost += updates.length
      logger.warn({ phone_number_id: phoneNumberId, updates: updates.length }, 'webhook.given_up')
      return
    }
    counts.to_retry += updates.length
    clock.after(seconds * 1000 * Math.max(behaviour.delay_factor, leastRetryFactor), () => {
      counts.to_retry -= updates.length
      void attempt(phoneNumberId, updates, tries + 1)
    })
  }

  const note = (phoneNumberId: string, facts: Omit<WebhookView, 'at' | 'phone_number_id'>): void => {
    const view = { at: new Date(clock.now()).toISOString(), phone_number_id: phoneNumberId, ...facts }
    posts.push(view)
    logger.debug(view, 'webhook.posted')
  }

  return {
    deliver: (phoneNumberId, updates) => attempt(phoneNumberId, updates, 1),
    post,
    ask: url => poster.request('GET', url),
    addressOf,
    counts: () => counts,
    posts: () => [...posts.newestFirst()],
    reset() {
      counts = { ...none }
      posts.clear()
      poster.reset()
    },
  }
}

const shown = (outcome: Outcome, startedAt: number) => ({
  status: outcome.status,
  ...(outcome.status === null && { error: outcome.error }),
  duration_ms: Math.round(performance.now() - startedAt),
})
