import type pg from 'pg'
import type { Logger } from 'pino'
import { backoffAfter } from './backoff.ts'

/** Describes a key with something to deliver, such as a tenant. */
export interface Waiting<Key> {
  readonly key: Key
  /** Another process delivers for this key. */
  readonly isLeasedElsewhere: boolean
}

/** Holds the options of a drain, whatever it delivers to. */
export interface DrainOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  /** Identifies this process. */
  readonly holder: string
  /** Sets when a dead process's lease expires: more than twice the time limit of a request. */
  readonly leaseSeconds?: number
  /** Returns true once no more requests may start. */
  readonly isStopping: () => boolean
}

export type Drained = 'done' | 'leased_elsewhere' | { readonly failure: string; readonly cause: object }

interface LoopOptions<Key> {
  readonly logger: Logger
  /** Begins the messages in the log, as in `webhook.failed`. */
  readonly name: string
  readonly findWaiting: () => Promise<readonly Waiting<Key>[]>
  /** Delivers for one key, until everything is delivered or `isStopping` returns true. */
  readonly drain: (key: Key) => Promise<Drained>
  /** Names the key in the log. */
  readonly describe: (key: Key) => object
  readonly identify: (key: Key) => string
  /** Limits the keys drained at once. */
  readonly concurrency: number
  /**
   * Gives slow drains slots of their own: a drain that lasts longer frees its slot for others, and its key uses a slow
   * slot the next time.
   */
  readonly slow?: { readonly milliseconds: number; readonly concurrency: number }
  /** Entries written within this time share a poll. */
  readonly wakeMilliseconds?: number
  /**
   * Limits the share of time that the loop spends on polls. It rests a second at most, even after a long poll.
   */
  readonly pollShare?: number
}

const pollMilliseconds = 1_000
/** Limits the time between polls while the database is unavailable. */
const longestPollMilliseconds = 5_000
/** Limits the keys that are remembered. The keys idle longest are forgotten first. */
const maxRemembered = 10_000

interface Backoff {
  readonly failures: number
  /** Is a time of `performance.now()`. */
  readonly retryAt: number
}

interface Drain {
  readonly finished: Promise<void>
  readonly startedAt: number
  /** The drain started in a slot for slow ones. */
  readonly isSlow: boolean
}

/**
 * Polls for keys with something to deliver and drains several at once, the least recently drained first. Back-off is
 * per key. Any number of processes may run a loop.
 */
export class DeliveryLoop<Key> {
  readonly #options: LoopOptions<Key>
  readonly #draining = new Map<string, Drain>()
  readonly #backoffs = new Map<string, Backoff>()
  /** Holds keys in the order of their last drain, the latest last. */
  readonly #drained = new Set<string>()
  /** Holds keys whose last drain was slow. */
  readonly #slow = new Set<string>()
  #isRunning = false
  #isWoken = false
  #polling: Promise<void> | undefined
  #pollFailures = 0
  /** No poll begins before this time of `performance.now()`. */
  #restsUntil = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LoopOptions<Key>) {
    this.#options = options
  }

  get isStopping(): boolean {
    return !this.#isRunning
  }

  start(): void {
    this.#isRunning = true
    this.#pollAfter(0)
  }

  /** Polls soon, because the key has something new. While the key drains or backs off, a later poll finds it anyway. */
  wake(id?: string): void {
    if (!this.#isRunning || this.#isWoken || this.#pollFailures > 0) return
    if (id !== undefined && (this.#draining.has(id) || this.#isBackingOff(id))) return
    this.#isWoken = true
    if (!this.#polling) this.#pollAfter(this.#wakeMilliseconds)
  }

  /** Finishes the requests in flight and releases the leases. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await this.#polling
    await Promise.all([...this.#draining.values()].map(({ finished }) => finished))
  }

  get #wakeMilliseconds(): number {
    return this.#options.wakeMilliseconds ?? 10
  }

  #pollAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    if (!this.#isRunning) return
    this.#timer = setTimeout(
      () => {
        const startedAt = performance.now()
        this.#polling = this.#poll().finally(() => {
          this.#rest(startedAt)
          this.#polling = undefined
          this.#pollAfter(this.#isWoken ? this.#wakeMilliseconds : this.#pollInterval())
        })
      },
      Math.max(milliseconds, this.#restsUntil - performance.now()),
    )
  }

  #rest(startedAt: number): void {
    const { pollShare = 1 } = this.#options
    const now = performance.now()
    this.#restsUntil = now + Math.min(pollMilliseconds, (now - startedAt) * (1 / pollShare - 1))
  }

  #pollInterval(): number {
    if (this.#pollFailures === 0) return pollMilliseconds
    return Math.max(pollMilliseconds, Math.min(longestPollMilliseconds, backoffAfter(this.#pollFailures, Math.random)))
  }

  async #poll(): Promise<void> {
    const { logger, name, findWaiting, identify } = this.#options
    this.#isWoken = false
    if (this.#freeSlots(false) <= 0 && this.#freeSlots(true) <= 0) return
    try {
      const waiting = new Map((await findWaiting()).map(each => [identify(each.key), each]))
      this.#pollFailures = 0
      this.#forgetIdle(waiting)
      if (this.#isRunning) for (const key of this.#choose(waiting)) this.#start(key)
    } catch (err) {
      this.#pollFailures++
      logger.warn({ err }, `${name}.poll_failed`)
    }
  }

  /** Forgets back-offs of keys with nothing to deliver and, above the limit, the idle keys drained longest ago. */
  #forgetIdle(waiting: ReadonlyMap<string, unknown>): void {
    for (const id of this.#backoffs.keys()) if (!waiting.has(id)) this.#backoffs.delete(id)
    for (const id of this.#drained) {
      if (this.#drained.size <= maxRemembered || waiting.has(id) || this.#draining.has(id)) return
      this.#drained.delete(id)
      this.#slow.delete(id)
    }
  }

  /** Returns the keys that may be drained now, least recently drained first, as many as there are free slots. */
  #choose(waiting: ReadonlyMap<string, Waiting<Key>>): Key[] {
    const ready = new Map(
      [...waiting].filter(
        ([id, { isLeasedElsewhere }]) => !isLeasedElsewhere && !this.#draining.has(id) && !this.#isBackingOff(id),
      ),
    )
    const isNew = (id: string): boolean => !this.#drained.has(id)
    // Avoids intersection(), which may return the order of the other set.
    const ids = [...[...ready.keys()].filter(isNew), ...[...this.#drained].filter(id => ready.has(id))]
    const chosen = [false, true].flatMap(isSlow =>
      ids.filter(id => this.#slow.has(id) === isSlow).slice(0, Math.max(0, this.#freeSlots(isSlow))),
    )
    return chosen.flatMap(id => ready.get(id)?.key ?? [])
  }

  #freeSlots(isSlow: boolean): number {
    const { concurrency, slow } = this.#options
    const occupied = [...this.#draining.values()].filter(drain => this.#isSlow(drain) === isSlow).length
    return (isSlow ? (slow?.concurrency ?? 0) : concurrency) - occupied
  }

  #isSlow({ isSlow, startedAt }: Drain): boolean {
    const { slow } = this.#options
    return isSlow || (slow !== undefined && performance.now() - startedAt > slow.milliseconds)
  }

  #isBackingOff(id: string): boolean {
    return (this.#backoffs.get(id)?.retryAt ?? 0) > performance.now()
  }

  #start(key: Key): void {
    const id = this.#options.identify(key)
    this.#drained.delete(id)
    this.#drained.add(id)
    const drain: Drain = {
      startedAt: performance.now(),
      isSlow: this.#slow.has(id),
      finished: this.#drain(key, id).then(() => {
        if (this.#isSlow({ ...drain, isSlow: false })) this.#slow.add(id)
        else this.#slow.delete(id)
        this.#draining.delete(id)
        this.wake()
      }),
    }
    this.#draining.set(id, drain)
  }

  async #drain(key: Key, id: string): Promise<void> {
    const { logger, name, drain, describe } = this.#options
    try {
      const result = await drain(key)
      if (result === 'done') this.#backoffs.delete(id)
      if (typeof result === 'string') return
      logger.warn({ ...describe(key), ...result.cause, retry_ms: this.#backOff(id) }, `${name}.${result.failure}`)
    } catch (err) {
      logger.warn({ err, ...describe(key), retry_ms: this.#backOff(id) }, `${name}.failed`)
    }
  }

  /** Begins a back-off and returns the milliseconds until the next attempt. */
  #backOff(id: string): number {
    const failures = (this.#backoffs.get(id)?.failures ?? 0) + 1
    const milliseconds = backoffAfter(failures, Math.random)
    this.#backoffs.set(id, { failures, retryAt: performance.now() + milliseconds })
    return Math.round(milliseconds)
  }
}
