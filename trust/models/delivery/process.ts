import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import { pino } from 'pino'
import type { Tx } from '../../../services/orders/database/tables.ts'
import { DeliveryLoop, type Drained, type Waiting } from '../../../services/orders/log/loop.ts'
import type { Stage } from './model.ts'

export interface ProcessOptions<Key> {
  readonly findWaiting: (tx: Tx, holder: string) => Promise<readonly Waiting<Key>[]>
  readonly drain: (key: Key, options: typeof own & { pool: pg.Pool; holder: string }) => Promise<Drained>
  readonly identify: (key: Key) => string
}

const own = { logger: pino({ level: 'silent' }), isStopping: () => false }

/** Creates a process that delivers on a step's command, until there is no more work, or until it stops. */
export const createProcess = <Key>(
  pool: pg.Pool,
  gate: Gate,
  { findWaiting, drain, identify }: ProcessOptions<Key>,
) => {
  const holder = randomUUID()
  let draining = 0
  let quiet = Promise.withResolvers<void>()
  quiet.resolve()
  const loop = new DeliveryLoop<Key>({
    logger: own.logger,
    name: 'model',
    findWaiting: async () => {
      const found = await inAllTenants(pool, (tx: Tx) => findWaiting(tx, holder))
      // By then it has begun to drain the chosen tenant or endpoint.
      setImmediate(() => draining === 0 && quiet.resolve())
      return found
    },
    drain: async key => {
      draining++
      gate.count(0)
      return drain(key, { ...own, pool, holder }).finally(() => {
        draining--
        gate.count(Number.NaN)
      })
    },
    identify,
    describe: () => ({}),
    concurrency: 4,
    wakeMilliseconds: 1,
  })
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  let onEnd: (() => void) | undefined
  const connectAtGate = async (): Promise<pg.PoolClient> => {
    const ended = onEnd
    onEnd = undefined
    await gate.pass('transaction')
    const client = await connect()
    const { release } = client
    return Object.assign(client, { release: (error?: Error) => [release(error), ended?.()] })
  }
  Object.assign(pool, { connect: connectAtGate })
  const end = async (): Promise<void> => {
    await quiet.promise
    await loop.stop()
  }
  return {
    /** Runs the process; returns true if it stopped. */
    run: async (stop?: Stage): Promise<boolean> => {
      quiet = Promise.withResolvers<void>()
      gate.close(stop)
      loop.start()
      const isStopped = await Promise.race([gate.reached.promise.then(() => true), quiet.promise.then(() => false)])
      // Ends the work that is under way in it.
      for (let turns = 0; isStopped && turns < 5; turns++) await turn()
      if (!isStopped) await end()
      return isStopped
    },
    /** Resumes the process if it stopped. */
    wake: async (): Promise<void> => {
      gate.open()
      await end()
    },
    /** Calls back at the end of the transaction that begins next. */
    afterNextTransaction: (call: () => void): void => {
      onEnd = call
    },
  }
}

/** Stops all work of a process at one point, until it is opened. */
export class Gate {
  #stop: Stage | undefined
  #opened: PromiseWithResolvers<void> | undefined
  reached = Promise.withResolvers<void>()
  #transactions = Number.NaN
  /** Requests of the drain, and those that were let through. */
  #requests = 0

  close(stop: Stage | undefined): void {
    this.#stop = stop
    this.reached = Promise.withResolvers<void>()
  }

  open(): void {
    this.#stop = undefined
    this.#opened?.resolve()
    this.#opened = undefined
  }

  /** A drain begins with 0; after it nothing counts. */
  count(transactions: number): void {
    this.#transactions = transactions
    this.#requests = 0
  }

  async pass(what: 'transaction' | 'request'): Promise<void> {
    if (what === 'transaction') this.#transactions++
    const isThere = {
      read: what === 'transaction' && this.#transactions === 2,
      send: what === 'request',
      store: what === 'transaction' && this.#requests > 0,
    }
    if (this.#stop && !this.#opened && isThere[this.#stop]) {
      this.#opened = Promise.withResolvers<void>()
      this.reached.resolve()
    }
    const isHeld = this.#opened && (this.#stop !== 'store' || what === 'transaction')
    if (isHeld) await this.#opened?.promise
    if (what === 'request') this.#requests++
  }
}

export type Runner = ReturnType<typeof createProcess>
