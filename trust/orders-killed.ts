import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { chanceOf } from '../test/chance.ts'
import { type BulkCall, book, keepBooking, type Merchant } from './order-calls.ts'
import { type OrdersStage, stageOrders } from './orders-stage.ts'
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const workers = 4
const maxRecoverySeconds = 5

/** Seconds until a batch is booked again. Such calls are in the log too. */
const recover = async (merchant: Merchant, name: string, log: BulkCall[]): Promise<number> => {
  const started = performance.now()
  for (let tries = 0; performance.now() - started < 60_000; tries++) {
    const call = await book(merchant, `${name}-${tries}`, 3)
    log.push(call)
    if (call.ending === 'ok') return (performance.now() - started) / 1000
    await delay(50)
  }
  return Number.POSITIVE_INFINITY
}

const killOrders = async ({ orders }: OrdersStage, times: number, chance: () => number): Promise<void> => {
  for (let round = 0; round < times; round++) {
    await delay(200 + chance() * 600)
    await orders.stop('SIGKILL')
    orders.start()
    await orders.ready()
  }
}

/** Returns the longest recovery in seconds, and the calls that tried it. */
const killPostgres = async ({ merchant }: OrdersStage, postgres: OwnPostgres, times: number, chance: () => number) => {
  const log: BulkCall[] = []
  let slowest = 0
  for (let round = 0; round < times; round++) {
    await delay(300 + chance() * 700)
    await postgres.kill()
    await delay(chance() * 1000)
    await postgres.start()
    slowest = Math.max(slowest, await recover(merchant, `p${round}`, log))
  }
  return { slowest, log }
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const [orderKills, postgresKills] = t.isTest ? [2, 2] : t.short ? [4, 2] : [20, 6]
  const postgres = await startOwnPostgres(t)
  const stage = await stageOrders(t, { database: postgres.orders })
  const chance = chanceOf(t.seed)
  const load = keepBooking(stage.merchant, { workers, seed: t.seed })
  await killOrders(stage, orderKills, chance)
  t.report(`orders killed ${orderKills} times`)
  const { slowest, log } = await killPostgres(stage, postgres, postgresKills, chance)
  t.report(`Postgres killed ${postgresKills} times`)
  await load.stop()
  // Nobody started it anew.
  const live = await fetch(`${stage.orders.url}/health/live`).catch(() => undefined)
  broken.require(live?.status === 200, 'orders did not survive that Postgres was killed')
  broken.require(slowest < maxRecoverySeconds, `it took ${slowest} s until a batch was booked again`)
  const figures = await checkStored(stage.rows, [...load.log, ...log], broken)
  broken.require(figures.ok > 20, `only ${figures.ok} calls were answered: there was too little to lose`)
  const kills = `${orderKills} of orders, ${postgresKills} of Postgres`
  return { measured: { kills, ...figures, 'recovery s': rounded(slowest, 2) }, broken: broken.sentences }
}

export const ordersKilled: TrustPromise = {
  name: 'orders-killed',
  promise: 'When orders or Postgres is killed, no acknowledged order is lost and no batch is stored in part',
  limit: 'kill -9 of orders x20, of Postgres x6: 0 lost, 0 partial; booking again within 5 s of Postgres',
  run,
}
