import { createPool } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Teardown } from '../../../dev/test-database.ts'
import { ordersFixture } from '../../../services/orders/test/orders-fixture.ts'
import { batch, order } from '../../../services/orders/test/tenant.ts'
import { setUpClock } from '../../postgres-clock.ts'
import { expectSame } from '../history.ts'
import type { Order } from './model.ts'

/** Starts orders with clocks that move only on a step's command. The test sets Math.random(). */
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
      const superuserUrl = new URL(new URL(url).pathname, process.env.TEST_POSTGRES_URL).href
      setClock = (await setUpClock({ url, ownerUrl: '', superuserUrl }, { isStopped: true })).set
      return poolOf(t, url)
    },
  })
  const [made, base] = [performance.now(), Date.now()]
  let now = 0
  /** Returns the seconds since the first history. */
  const pass = async (seconds: number): Promise<number> => {
    now = Math.round((now + seconds) * 10) / 10
    performance.now = () => made + now * 1000
    AbortSignal.timeout = () => new AbortController().signal
    await setClock(base + now * 1000)
    return now
  }
  const book = async (orders: number): Promise<Order[]> => {
    const response = await fixture.bulk(batch(Array.from({ length: orders }, () => order())))
    expectSame('status of the booking', response.status, 200)
    return response.body.data.map((waybill: string) => ({ waybill, status: 'key_1' }))
  }
  return { ...fixture, base, pass, book, poolOf: () => poolOf(t, fixture.database.url) }
}

const poolOf = (t: Teardown, url: string): pg.Pool => {
  const pool = createPool({ url, name: 'model', connections: 5 })
  t.teardown(() => pool.end())
  return pool
}

export type StoppedOrders = Awaited<ReturnType<typeof stoppedOrders>>
