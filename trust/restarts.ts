import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { chanceOf } from '../test/chance.ts'
import type { ServiceProcess } from '../test/stack.ts'
import { startBalancer } from './balancer.ts'
import { type BulkCall, keepBooking } from './order-calls.ts'
import { launchOrders, type OrdersStage, stageOrders } from './orders-stage.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const workers = 8
const maxStopSeconds = 10

const timedStop = async (orders: ServiceProcess, broken: Broken): Promise<number> => {
  const started = performance.now()
  const status = await orders.stop('SIGTERM')
  const seconds = (performance.now() - started) / 1000
  broken.require(status === 0, `SIGTERM ended the process with ${status}`)
  broken.require(seconds < maxStopSeconds, `SIGTERM took ${seconds} s`)
  return seconds
}

/** One process under load is told to stop. Whoever was let in gets an answer; others are not let in. */
const stopOne = async (t: TrustOptions, { orders, merchant }: OrdersStage, rounds: number, broken: Broken) => {
  const chance = chanceOf(t.seed)
  const log: BulkCall[] = []
  let longest = 0
  for (let round = 0; round < rounds; round++) {
    const load = keepBooking(merchant, { workers, seed: t.seed + round * workers })
    await delay(300 + chance() * 400)
    longest = Math.max(longest, await timedStop(orders, broken))
    await load.stop()
    log.push(...load.log)
    orders.start()
    await orders.ready()
  }
  return { log, longest }
}

/** Two processes behind a balancer are restarted in turn. */
const roll = async (t: TrustOptions, stage: OrdersStage, rounds: number, broken: Broken) => {
  const both = [stage.orders, await launchOrders(t, stage.database)]
  await both[1]?.ready()
  const balancer = await startBalancer(
    t,
    both.map(({ url }) => Number(new URL(url).port)),
  )
  const load = keepBooking({ ...stage.merchant, url: balancer }, { workers, seed: t.seed })
  let longest = 0
  for (let round = 0; round < rounds; round++) {
    const orders = both[round % 2] as ServiceProcess
    await delay(500)
    longest = Math.max(longest, await timedStop(orders, broken))
    orders.start()
    await orders.ready()
  }
  await delay(500)
  await load.stop()
  return { log: load.log, longest }
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const stage = await stageOrders(t)
  const stopped = await stopOne(t, stage, t.isTest ? 1 : t.short ? 3 : 20, broken)
  const unanswered = stopped.log.filter(({ ending }) => ending === 'unknown')
  const resets = unanswered.length
  for (const { status, error } of unanswered) broken.add(`a call was let in and not answered: ${status}, ${error}`)
  await stage.rows(`truncate orders cascade`)
  const rolled = await roll(t, stage, t.short ? 2 : 20, broken)
  const failures = rolled.log.filter(({ ending }) => ending !== 'ok')
  const failed = failures.length
  for (const { ending, status, error } of failures)
    broken.add(`a call failed while the processes were restarted: ${ending}, status ${status}, ${error}`)
  const stored = await checkStored(stage.rows, rolled.log, broken)
  const measured = {
    'calls around SIGTERM': stopped.log.length,
    resets,
    'calls around restarts': rolled.log.length,
    failed,
    lost: stored.lost,
    'longest stop s': rounded(Math.max(stopped.longest, rolled.longest), 2),
  }
  return { measured, broken: broken.sentences }
}

export const restarts: TrustPromise = {
  name: 'restarts',
  promise: 'SIGTERM under load breaks no call, and a rolling restart of two processes fails none',
  limit: 'x20 each: 0 resets, 0 failed calls, exit within 10 s',
  run,
}
