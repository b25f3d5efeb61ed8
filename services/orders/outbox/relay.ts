import { randomUUID } from 'node:crypto'
import { inTenant } from '@courier/shared/database.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { pauseAfter } from './pause.ts'
import { findWaiting, type WaitingTenant } from './queries.ts'
import { defaultLeaseSeconds, type TurnEnd, type TurnOptions, takeTurn } from './turn.ts'

export interface RelayOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly notifier: ServiceClient
  /** So many tenants' events are told at once. */
  readonly concurrency?: number
  readonly leaseSeconds?: number
  readonly onDelivered?: (events: number) => void
  /** Told of each call that the notifier did not answer, or refused. */
  readonly onFailed?: (kind: 'unreachable' | 'refused') => void
}

const pollMilliseconds = 1_000
const longestRestMilliseconds = 5_000
/** What is written within this time is looked for at once. */
const wakeMilliseconds = 10

interface Trouble {
  readonly failures: number
  /** On the clock of `performance.now()`. */
  readonly retryAt: number
}

/**
 * Tells the notifier what is in the outbox: several tenants at once, the one that waited longest first, each for one
 * turn. A tenant whose events are not taken is left alone for a while, longer each time; the others go on. Any number of
 * processes may run one.
 */
export class Relay {
  readonly #options: RelayOptions
  readonly #turnOptions: TurnOptions
  readonly #turns = new Map<string, Promise<void>>()
  readonly #troubles = new Map<string, Trouble>()
  /** The tenants in the order of their last turns. */
  readonly #served = new Set<string>()
  #looking: Promise<void> | undefined
  #isWoken = false
  #isRunning = false
  #timer: NodeJS.Timeout | undefined
  #lookFailures = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#turnOptions = {
      pool: options.pool,
      logger: options.logger,
      notifier: options.notifier,
      holder: randomUUID(),
      leaseSeconds: options.leaseSeconds ?? defaultLeaseSeconds,
      isStopping: () => !this.#isRunning,
      onDelivered: (tenant, events) => {
        options.logger.info({ tenant, events }, 'outbox.delivered')
        options.onDelivered?.(events)
      },
    }
  }

  start(): void {
    this.#isRunning = true
    this.#lookAfter(0)
  }

  /** There is something new in the outbox, of that tenant. While it has a turn or a pause, the end of that finds it. */
  wake(tenant?: string): void {
    if (!this.#isRunning || this.#isWoken || this.#lookFailures > 0) return
    if (tenant !== undefined && (this.#turns.has(tenant) || this.#isPaused(tenant))) return
    this.#isWoken = true
    if (!this.#looking) this.#lookAfter(wakeMilliseconds)
  }

  /** Finishes the calls under way and gives the leases back. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#turns.values())
  }

  #lookAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    if (!this.#isRunning) return
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined
        this.#lookAfter(this.#isWoken ? wakeMilliseconds : this.#restMilliseconds())
      })
    }, milliseconds)
  }

  /** A database that is away is asked less often. */
  #restMilliseconds(): number {
    if (this.#lookFailures === 0) return pollMilliseconds
    return Math.max(pollMilliseconds, Math.min(longestRestMilliseconds, pauseAfter(this.#lookFailures, Math.random)))
  }

  async #look(): Promise<void> {
    const { pool, logger, concurrency = 4 } = this.#options
    this.#isWoken = false
    if (this.#turns.size >= concurrency) return
    try {
      const waiting = await inTenant(pool, '*', (tx: Tx) => findWaiting(tx, this.#turnOptions.holder))
      this.#lookFailures = 0
      this.#forgetTroubles(waiting)
      const ready = this.#inTurn(waiting).slice(0, concurrency - this.#turns.size)
      if (this.#isRunning) for (const tenant of ready) this.#turns.set(tenant, this.#serve(tenant))
    } catch (err) {
      this.#lookFailures++
      logger.warn({ err }, 'outbox.look_failed')
    }
  }

  /** Of the tenants that may have a turn now, those first that had none for the longest time. */
  #inTurn(waiting: readonly WaitingTenant[]): string[] {
    const isReady = ({ tenant, isHeldElsewhere }: WaitingTenant): boolean =>
      !isHeldElsewhere && !this.#turns.has(tenant) && !this.#isPaused(tenant)
    const ready = new Set(waiting.filter(isReady).map(({ tenant }) => tenant))
    // Not by intersection(): it may keep the other set's order.
    return [...ready.difference(this.#served), ...[...this.#served].filter(tenant => ready.has(tenant))]
  }

  #isPaused(tenant: string): boolean {
    return (this.#troubles.get(tenant)?.retryAt ?? 0) > performance.now()
  }

  /** Those of tenants that have nothing left to tell. */
  #forgetTroubles(waiting: readonly WaitingTenant[]): void {
    const tenants = new Set(waiting.map(({ tenant }) => tenant))
    for (const tenant of this.#troubles.keys()) if (!tenants.has(tenant)) this.#troubles.delete(tenant)
  }

  async #serve(tenant: string): Promise<void> {
    this.#served.delete(tenant)
    this.#served.add(tenant)
    try {
      this.#settle(tenant, await takeTurn(this.#turnOptions, tenant))
    } catch (err) {
      this.#options.logger.warn({ err, tenant, retry_ms: this.#putOff(tenant) }, 'outbox.failed')
    }
    this.#turns.delete(tenant)
    this.wake()
  }

  #settle(tenant: string, end: TurnEnd): void {
    const { logger, onFailed } = this.#options
    if (end.kind === 'held_elsewhere') return
    if (end.kind === 'done') return void this.#troubles.delete(tenant)
    const { kind, ...why } = end
    onFailed?.(kind)
    logger.warn({ tenant, ...why, retry_ms: this.#putOff(tenant) }, `outbox.${kind}`)
  }

  /** Returns for how long, in milliseconds. */
  #putOff(tenant: string): number {
    const failures = (this.#troubles.get(tenant)?.failures ?? 0) + 1
    const pause = pauseAfter(failures, Math.random)
    this.#troubles.set(tenant, { failures, retryAt: performance.now() + pause })
    return Math.round(pause)
  }
}
