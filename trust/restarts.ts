import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import type { ServiceProcess } from '../dev/service-process.ts'
import { chanceOf } from '../test/chance.ts'
import { startBalancer } from './balancer.ts'
import { type Courier, launchOrders, nowhere, stageCourier } from './courier-stage.ts'
import { type BulkCall, keepBooking } from './order-calls.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'
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

/** One process under load is told to stop. Whoever was let in gets a response; others are not let in. */
const stopOne = async (t: TrustOptions, { orders, merchant }: Courier, rounds: number, broken: Broken) => {
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

/** Two processes behind a load balancer are restarted in turn. */
const roll = async (t: TrustOptions, stage: Courier, rounds: number, broken: Broken) => {
  const both = [stage.orders, await launchOrders(t, stage)]
  const url = await startBalancer(
    t,
    both.map(({ url }) => Number(new URL(url).port)),
  )
  const load = keepBooking({ ...stage.merchant, url }, { workers, seed: t.seed })
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

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const stage = await stageCourier(t, { orders: { NOTIFIER_URL: nowhere, LOG_LEVEL: 'warn' } })
  const stopped = await stopOne(t, stage, t.short ? 1 : 20, broken)
  const unanswered = stopped.log.filter(({ ending }) => ending === 'unknown')
  const resets = unanswered.length
  for (const { status, error } of unanswered)
    broken.add(`a request was let in and had no response: ${status}, ${error}`)
  await stage.rows('orders', 'truncate orders cascade')
  const rolled = await roll(t, stage, t.short ? 2 : 20, broken)
  const failures = rolled.log.filter(({ ending }) => ending !== 'ok')
  const failed = failures.length
  for (const { ending, status, error } of failures)
    broken.add(`a request failed while the processes were restarted: ${ending}, status ${status}, ${error}`)
  const stored = await checkStored(text => stage.rows('orders', text), rolled.log, broken)
  return {
    'requests around SIGTERM': stopped.log.length,
    resets,
    'requests around restarts': rolled.log.length,
    failed,
    lost: stored.lost,
    'longest stop s': rounded(Math.max(stopped.longest, rolled.longest), 2),
  }
}

export const promise: TrustPromise = {
  promise: 'SIGTERM under load breaks no request, and a rolling restart of two processes fails none',
  limit: 'x20 each: 0 resets, 0 failed requests, exit within 10 s',
  run,
}
