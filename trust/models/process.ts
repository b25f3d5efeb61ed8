import { setImmediate as turn } from 'node:timers/promises'
import { createPool } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { pino } from 'pino'
import type { Teardown } from '../../dev/test-database.ts'
import { DeliveryLoop, type Drained, type Waiting } from '../../services/orders/delivery/loop.ts'
import { ordersFixture } from '../../services/orders/test/orders-fixture.ts'
import { batch, order } from '../../services/orders/test/tenant.ts'
import { setUpClock } from '../postgres-clock.ts'
import { expectSame, pick } from './history.ts'
import { isFinal, moves } from './order.ts'

export const processNames = ['A', 'B'] as const
export type ProcessName = (typeof processNames)[number]
/** Where a process can stop with the lease in its hands: before it reads what to send, sends it, or stores what came of it. */
export const stops = ['read', 'send', 'store'] as const
export type Stop = (typeof stops)[number]

export interface Order {
  waybill: string
  status: string
}

/** Orders with clocks that move when a step says so, and with luck that is always the same. */
export const stoppedOrders = async (t: Teardown) => {
  const real = { now: performance.now, random: Math.random, timeout: AbortSignal.timeout }
  t.teardown(() => {
    Object.assign(performance, { now: real.now })
    Object.assign(Math, { random: real.random })
    Object.assign(AbortSignal, { timeout: real.timeout })
  })
  let setClock = async (_: number): Promise<void> => {}
  const fixture = await ordersFixture(t, {
    poolOf: async url => {
      const superuserUrl = Object.assign(new URL(process.env.TEST_POSTGRES_URL ?? ''), {
        pathname: new URL(url).pathname,
      }).href
      setClock = (await setUpClock({ url, ownerUrl: '', superuserUrl }, { isStopped: true })).set
      return poolOf(t, url)
    },
  })
  const made = performance.now()
  const base = Date.now()
  /** So many seconds after the start of the model. */
  const setTime = async (seconds: number): Promise<void> => {
    performance.now = () => made + seconds * 1000
    AbortSignal.timeout = () => new AbortController().signal
    await setClock(base + seconds * 1000)
  }
  const book = async (orders: number): Promise<Order[]> => {
    const response = await fixture.bulk(batch(Array.from({ length: orders }, () => order())))
    expectSame('status of the booking', response.status, 200)
    return response.body.data.map((waybill: string) => ({ waybill, status: 'key_1' }))
  }
  /** The next status of an order, if it has one. */
  const next = ({ status }: Order, which: number): string | undefined =>
    isFinal(status) ? undefined : pick(moves.get(status) ?? [], which)
  return { ...fixture, base, setTime, book, next, poolOf: () => poolOf(t, fixture.database.url) }
}

const poolOf = (t: Teardown, url: string): pg.Pool => {
  const pool = createPool({ url, name: 'model', connections: 5 })
  t.teardown(() => pool.end())
  return pool
}

export interface ProcessOptions<Key> {
  readonly pool: pg.Pool
  readonly findWaiting: () => Promise<readonly Waiting<Key>[]>
  readonly drain: (key: Key) => Promise<Drained>
  readonly idOf: (key: Key) => string
}

/** A process that delivers when a step says so, until there is nothing more to do, or until it stops. */
export const createProcess = <Key>({ pool, findWaiting, drain, idOf }: ProcessOptions<Key>, gate: Gate) => {
  let draining = 0
  let quiet = Promise.withResolvers<void>()
  quiet.resolve()
  const loop = new DeliveryLoop<Key>({
    logger: pino({ level: 'silent' }),
    name: 'model',
    findWaiting: async () => {
      const found = await findWaiting()
      // By then it has begun to drain what it chose.
      setImmediate(() => draining === 0 && quiet.resolve())
      return found
    },
    drain: async key => {
      draining++
      gate.begin()
      return drain(key).finally(() => {
        draining--
        gate.end()
      })
    },
    ...{ idOf, describe: () => ({}), concurrency: 4, wakeMilliseconds: 1 },
  })
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  Object.assign(pool, { connect: async () => gate.pass('transaction').then(connect) })
  const end = async (): Promise<void> => {
    await quiet.promise
    await loop.stop()
  }
  return {
    /** Returns whether it stopped. */
    run: async (stop?: Stop): Promise<boolean> => {
      quiet = Promise.withResolvers<void>()
      gate.close(stop)
      loop.start()
      const isStopped = await Promise.race([gate.stopped.then(() => true), quiet.promise.then(() => false)])
      // What is under way in it ends.
      for (let turns = 0; isStopped && turns < 5; turns++) await turn()
      if (!isStopped) await end()
      return isStopped
    },
    /** It goes on, if it stopped. */
    wake: async (): Promise<void> => {
      gate.open()
      await end()
    },
  }
}

/** Stops all that a process does at one point, until it is opened. */
export class Gate {
  #stop: Stop | undefined
  #opened: PromiseWithResolvers<void> | undefined
  #reached = Promise.withResolvers<void>()
  #transactions = Number.NaN
  /** Of the drain; those that were let through. */
  requests = 0

  get stopped(): Promise<void> {
    return this.#reached.promise
  }

  close(stop: Stop | undefined): void {
    this.#stop = stop
    this.#reached = Promise.withResolvers<void>()
  }

  open(): void {
    this.#stop = undefined
    this.#opened?.resolve()
    this.#opened = undefined
  }

  /** A drain begins. */
  begin(): void {
    this.#transactions = 0
    this.requests = 0
  }

  /** What follows is not of a drain. */
  end(): void {
    this.#transactions = Number.NaN
    this.requests = 0
  }

  async pass(what: 'transaction' | 'request'): Promise<void> {
    if (what === 'transaction') this.#transactions++
    const isThere = {
      read: what === 'transaction' && this.#transactions === 2,
      send: what === 'request',
      store: what === 'transaction' && this.requests > 0,
    }
    if (this.#stop && !this.#opened && isThere[this.#stop]) {
      this.#opened = Promise.withResolvers<void>()
      this.#reached.resolve()
    }
    const isHeld = this.#opened && (this.#stop !== 'store' || what === 'transaction')
    if (isHeld) await this.#opened?.promise
    if (what === 'request') this.requests++
  }
}

export type Runner<Key> = ReturnType<typeof createProcess<Key>>
