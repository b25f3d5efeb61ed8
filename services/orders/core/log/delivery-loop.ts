import { setTimeout as delay } from 'node:timers/promises'
import { pollWorker } from '@courier/shared/poll-worker.ts'
import type pg from 'pg'
import type { Logger } from 'pino'

/** Describes a key with something to deliver, such as a tenant. */
export interface Waiting<Key> {
  readonly key: Key
  /** The last drain failed, in any process, and the next one is not due yet. */
  readonly isBackingOff?: boolean
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

interface LoopOptions<Key> {
  readonly logger: Logger
  /** Begins the messages in the log, as in `webhook.failed`. */
  readonly name: string
  /** Finds the keys with something to deliver that no other process holds, the least recently drained first. */
  readonly findWaiting: () => Promise<readonly Waiting<Key>[]>
  /** Delivers for one key, until everything is delivered or `isStopping` returns true. */
  readonly drain: (key: Key) => Promise<unknown>
  /** Names the key in the log. */
  readonly describe: (key: Key) => object
  readonly identify: (key: Key) => string
  /** Limits the keys drained at once. */
  readonly concurrency: number
  /**
   * Keeps slow keys from holding up quick ones. A drain that exceeds `milliseconds` no longer counts toward
   * `concurrency` of the loop but toward this one, and so does the next drain of its key from its start.
   */
  readonly slow?: { readonly milliseconds: number; readonly concurrency: number }
  /** Limits the share of time that the loop spends on polls. It rests a second at most, even after a long poll. */
  readonly pollShare?: number
}

/** Entries written within this time share a poll. */
const wakeMilliseconds = 10
/** Limits the slow keys that are remembered; a forgotten one holds a quick slot once more. */
const maxSlow = 10_000
/** Sets how long a key rests after a drain that failed. */
const restMilliseconds = 1_000

interface Drain {
  readonly finished: Promise<void>
  readonly startedAt: number
  /** The drain started in a slot for slow ones. */
  readonly isSlow: boolean
}

/**
 * Polls for keys with something to deliver and drains several at once. Leases, back-off and the order of the keys are
 * in the database, so any number of processes may run a loop.
 */
export class DeliveryLoop<Key> {
  readonly #options: LoopOptions<Key>
  readonly #worker: ReturnType<typeof pollWorker>
  readonly #draining = new Map<string, Drain>()
  /** Holds keys whose last drain was slow. */
  readonly #slow = new Set<string>()
  /** Holds keys that backed off at the last poll. */
  #backingOff: ReadonlySet<string> = new Set()
  /** Maps keys whose last drain failed to when they may drain again: a failure that lasts is no busy loop. */
  readonly #resting = new Map<string, number>()
  #isStopping = false

  constructor(options: LoopOptions<Key>) {
    const { logger, name } = options
    this.#options = options
    const run = (stopping: AbortSignal) => this.#poll(stopping)
    this.#worker = pollWorker({ name: `${name}.poll`, everySeconds: 1, wakeMilliseconds, logger, run })
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  start(): void {
    this.#isStopping = false
    this.#worker.start()
  }

  /** Polls soon, because the key has something new. While the key drains or backs off, a later poll finds it anyway. */
  wake(id?: string): void {
    if (id === undefined || !(this.#draining.has(id) || this.#backingOff.has(id))) this.#worker.wake()
  }

  /** Finishes the requests in flight and releases the leases. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#worker.stop()
    await Promise.all([...this.#draining.values()].map(({ finished }) => finished))
  }

  async #poll(stopping: AbortSignal): Promise<void> {
    const { findWaiting, identify, pollShare = 1 } = this.#options
    if (this.#countFree(false) <= 0 && this.#countFree(true) <= 0) return
    const startedAt = performance.now()
    const waiting = (await findWaiting()).map(each => ({ ...each, id: identify(each.key) }))
    if (stopping.aborted) return
    const isResting = (id: string) => (this.#resting.get(id) ?? 0) > performance.now()
    const ready = waiting.filter(({ id, isBackingOff }) => !isBackingOff && !this.#draining.has(id) && !isResting(id))
    for (const isSlow of [false, true]) {
      const chosen = ready.filter(({ id }) => this.#slow.has(id) === isSlow)
      for (const { key, id } of chosen.slice(0, Math.max(0, this.#countFree(isSlow)))) this.#start(key, id, isSlow)
    }
    this.#backingOff = new Set(waiting.flatMap(({ id, isBackingOff }) => (isBackingOff ? id : [])))
    if (pollShare === 1) return
    const rest = Math.min(1_000, (performance.now() - startedAt) * (1 / pollShare - 1))
    await delay(rest, undefined, { signal: stopping }).catch(() => {})
  }

  #countFree(isSlow: boolean): number {
    const { concurrency, slow } = this.#options
    const occupied = [...this.#draining.values()].filter(drain => this.#isSlow(drain) === isSlow).length
    return (isSlow ? (slow?.concurrency ?? 0) : concurrency) - occupied
  }

  #isSlow({ isSlow, startedAt }: Pick<Drain, 'isSlow' | 'startedAt'>): boolean {
    const { slow } = this.#options
    return isSlow || (slow !== undefined && performance.now() - startedAt > slow.milliseconds)
  }

  #start(key: Key, id: string, isSlow: boolean): void {
    const startedAt = performance.now()
    const finished = this.#drain(key).then(isDrained => {
      if (this.#resting.size >= maxSlow) this.#resting.clear()
      if (isDrained) this.#resting.delete(id)
      else this.#resting.set(id, performance.now() + restMilliseconds)
      if (this.#slow.size >= maxSlow) this.#slow.clear()
      this.#slow[this.#isSlow({ isSlow: false, startedAt }) ? 'add' : 'delete'](id)
      this.#draining.delete(id)
      this.#worker.wake()
    })
    this.#draining.set(id, { startedAt, isSlow, finished })
  }

  /** Returns false if the drain failed. */
  async #drain(key: Key): Promise<boolean> {
    const { logger, name, drain, describe } = this.#options
    try {
      await drain(key)
      return true
    } catch (err) {
      logger.warn({ err, ...describe(key) }, `${name}.failed`)
      return false
    }
  }
}
