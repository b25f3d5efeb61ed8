import { randomUUID } from 'node:crypto'
import type { ServiceClient } from '@courier/shared/http/service-client.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { backoffAfter } from './backoff.ts'
import { type DrainOptions, type DrainResult, defaultLeaseSeconds, drainTenant } from './drain-tenant.ts'
import { findWaiting, type WaitingTenant } from './queries.ts'

export interface RelayOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly notifier: ServiceClient
  readonly tracer?: Tracer | undefined
  /** How many tenants are drained at once. */
  readonly concurrency?: number
  readonly leaseSeconds?: number
  readonly onDelivered?: (events: number) => void
  readonly onFailed?: (kind: 'unreachable' | 'refused') => void
}

const pollMilliseconds = 1_000
/** Between polls while the database is unavailable. */
const longestPollMilliseconds = 5_000
/** What is written within this time shares a poll. */
const wakeMilliseconds = 10

interface Backoff {
  readonly failures: number
  /** On the clock of `performance.now()`. */
  readonly retryAt: number
}

/**
 * Delivers the outbox to the notifier: polls for tenants with events and drains several at once, the one that waited
 * longest first. Back-off is per tenant. Any number of processes may run a relay.
 */
export class Relay {
  readonly #options: RelayOptions
  readonly #drainOptions: DrainOptions
  readonly #draining = new Map<string, Promise<void>>()
  readonly #backoffs = new Map<string, Backoff>()
  /** Tenants by their last drain, the latest last. */
  readonly #drained = new Set<string>()
  #isRunning = false
  #isWoken = false
  #polling: Promise<void> | undefined
  #pollFailures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: RelayOptions) {
    this.#options = options
    this.#drainOptions = {
      pool: options.pool,
      logger: options.logger,
      notifier: options.notifier,
      tracer: options.tracer,
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
    this.#pollAfter(0)
  }

  /** Polls soon: that tenant has new events. The end of its drain or back-off finds them by itself. */
  wake(tenant?: string): void {
    if (!this.#isRunning || this.#isWoken || this.#pollFailures > 0) return
    if (tenant !== undefined && (this.#draining.has(tenant) || this.#isBackingOff(tenant))) return
    this.#isWoken = true
    if (!this.#polling) this.#pollAfter(wakeMilliseconds)
  }

  /** Finishes the requests in flight and releases the leases. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await this.#polling
    await Promise.all(this.#draining.values())
  }

  #pollAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    if (!this.#isRunning) return
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll().finally(() => {
        this.#polling = undefined
        this.#pollAfter(this.#isWoken ? wakeMilliseconds : this.#pollInterval())
      })
    }, milliseconds)
  }

  #pollInterval(): number {
    if (this.#pollFailures === 0) return pollMilliseconds
    return Math.max(pollMilliseconds, Math.min(longestPollMilliseconds, backoffAfter(this.#pollFailures, Math.random)))
  }

  async #poll(): Promise<void> {
    const { pool, logger, concurrency = 4 } = this.#options
    this.#isWoken = false
    if (this.#draining.size >= concurrency) return
    try {
      const waiting = await inAllTenants(pool, (tx: Tx) => findWaiting(tx, this.#drainOptions.holder))
      this.#pollFailures = 0
      this.#forgetBackoffs(waiting)
      const ready = this.#readyOf(waiting).slice(0, concurrency - this.#draining.size)
      if (this.#isRunning) for (const tenant of ready) this.#draining.set(tenant, this.#drain(tenant))
    } catch (err) {
      this.#pollFailures++
      logger.warn({ err }, 'outbox.poll_failed')
    }
  }

  /** Of tenants with an empty outbox. */
  #forgetBackoffs(waiting: readonly WaitingTenant[]): void {
    const tenants = new Set(waiting.map(({ tenant }) => tenant))
    for (const tenant of this.#backoffs.keys()) if (!tenants.has(tenant)) this.#backoffs.delete(tenant)
  }

  /** The tenants that may be drained now, least recently drained first. */
  #readyOf(waiting: readonly WaitingTenant[]): string[] {
    const isReady = ({ tenant, isLeasedElsewhere }: WaitingTenant): boolean =>
      !isLeasedElsewhere && !this.#draining.has(tenant) && !this.#isBackingOff(tenant)
    const ready = new Set(waiting.filter(isReady).map(({ tenant }) => tenant))
    // Not by intersection(): it may keep the other set's order.
    return [...ready.difference(this.#drained), ...[...this.#drained].filter(tenant => ready.has(tenant))]
  }

  #isBackingOff(tenant: string): boolean {
    return (this.#backoffs.get(tenant)?.retryAt ?? 0) > performance.now()
  }

  async #drain(tenant: string): Promise<void> {
    this.#drained.delete(tenant)
    this.#drained.add(tenant)
    try {
      this.#finish(tenant, await drainTenant(this.#drainOptions, tenant))
    } catch (err) {
      this.#options.logger.warn({ err, tenant, retry_ms: this.#backOff(tenant) }, 'outbox.failed')
    }
    this.#draining.delete(tenant)
    this.wake()
  }

  #finish(tenant: string, result: DrainResult): void {
    const { logger, onFailed } = this.#options
    if (result.kind === 'leased_elsewhere') return
    if (result.kind === 'done' || result.kind === 'unknown_tenant') return void this.#backoffs.delete(tenant)
    const { kind, ...cause } = result
    onFailed?.(kind)
    logger.warn({ tenant, ...cause, retry_ms: this.#backOff(tenant) }, `outbox.${kind}`)
  }

  /** Returns the milliseconds until the next attempt. */
  #backOff(tenant: string): number {
    const failures = (this.#backoffs.get(tenant)?.failures ?? 0) + 1
    const milliseconds = backoffAfter(failures, Math.random)
    this.#backoffs.set(tenant, { failures, retryAt: performance.now() + milliseconds })
    return Math.round(milliseconds)
  }
}
