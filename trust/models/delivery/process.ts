import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { pino } from 'pino'
import type { Tx } from '../../../services/orders/core/database/tables.ts'
import { DeliveryLoop, type Waiting } from '../../../services/orders/core/log/delivery-loop.ts'
import type { Stage } from './model.ts'

interface ProcessOptions<Key> {
  readonly findWaiting: (tx: Tx, holder: string) => Promise<readonly Waiting<Key>[]>
  readonly drain: (key: Key, options: typeof own & { pool: pg.Pool; holder: string }) => Promise<void>
  readonly identify: (key: Key) => string
}

const own = { logger: pino({ level: 'silent' }), isStopping: () => false }

/** Runs a process that delivers on a step's command, until there is no more work, or until it stops at a stage. */
export class Runner<Key = never> {
  readonly #createLoop: () => DeliveryLoop<Key>
  #loop: DeliveryLoop<Key> | undefined
  #stop: Stage | undefined
  #reached = Promise.withResolvers<void>()
  /** Holds the promise for which everything waits while the process is stopped. */
  #opened: PromiseWithResolvers<void> | undefined
  #quiet = Promise.withResolvers<void>()
  /** Counts what the running drain has begun. */
  #drain: { transactions: number; requests: number } | undefined
  #onEnd: (() => void) | undefined

  constructor(pool: pg.Pool, { findWaiting, drain, identify }: ProcessOptions<Key>) {
    const holder = randomUUID()
    this.#quiet.resolve()
    const loopOptions = {
      logger: own.logger,
      name: 'model',
      findWaiting: async () => {
        const found = await inAllTenants(pool, (tx: Tx) => findWaiting(tx, holder))
        // When this runs, the loop has begun to drain the chosen tenant or endpoint.
        setImmediate(() => {
          if (!this.#drain) this.#quiet.resolve()
        })
        return found
      },
      drain: async (key: Key) => {
        this.#drain = { transactions: 0, requests: 0 }
        return drain(key, { ...own, pool, holder }).finally(() => {
          this.#drain = undefined
        })
      },
      identify,
      describe: () => ({}),
      concurrency: 4,
    }
    this.#createLoop = () => new DeliveryLoop<Key>(loopOptions)
    const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
    const connectAtGate = async (): Promise<pg.PoolClient> => {
      const ended = this.#onEnd
      this.#onEnd = undefined
      await this.pass('transaction')
      const client = await connect()
      const { release } = client
      return Object.assign(client, { release: (error?: Error) => [release(error), ended?.()] })
    }
    Object.assign(pool, { connect: connectAtGate })
  }

  /** Runs the process; returns true if it stopped. */
  async run(stop?: Stage): Promise<boolean> {
    this.#quiet = Promise.withResolvers<void>()
    this.#reached = Promise.withResolvers<void>()
    this.#stop = stop
    this.#loop = this.#createLoop()
    this.#loop.start()
    const isStopped = await Promise.race([
      this.#reached.promise.then(() => true),
      this.#quiet.promise.then(() => false),
    ])
    // Lets the process finish the work in progress.
    for (let turns = 0; isStopped && turns < 5; turns++) await turn()
    if (!isStopped) await this.#end()
    return isStopped
  }

  /** Resumes the process if it stopped. */
  async wake(): Promise<void> {
    this.#stop = undefined
    this.#opened?.resolve()
    this.#opened = undefined
    await this.#end()
  }

  async #end(): Promise<void> {
    await this.#quiet.promise
    await this.#loop?.stop()
  }

  /** Calls back at the end of the transaction that begins next. */
  afterNextTransaction(call: () => void): void {
    this.#onEnd = call
  }

  /** Lets a transaction or a request begin, unless the process stops before it or has stopped. */
  async pass(what: 'transaction' | 'request'): Promise<void> {
    const { transactions = 0, requests = 0 } = this.#drain ?? {}
    if (this.#drain && what === 'transaction') this.#drain.transactions++
    const isThere = {
      read: what === 'transaction' && transactions === 1,
      send: what === 'request',
      store: what === 'transaction' && requests > 0,
    }
    if (this.#stop && !this.#opened && isThere[this.#stop]) {
      this.#opened = Promise.withResolvers<void>()
      this.#reached.resolve()
    }
    const isHeld = this.#stop !== 'store' || what === 'transaction'
    if (isHeld && this.#opened) await this.#opened.promise
    if (this.#drain && what === 'request') this.#drain.requests++
  }
}
