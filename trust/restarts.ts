import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import type { ServiceProcess } from '../dev/service-process.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { nowhere, startAnother, startCourier } from './courier.ts'
import { keepBooking } from './order-requests.ts'
import type { Broken, TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const maxStopSeconds = 10

const timedStop = async (orders: ServiceProcess, broken: Broken): Promise<number> => {
  const started = performance.now()
  const status = await orders.stop('SIGTERM')
  const seconds = (performance.now() - started) / 1000
  broken.require(status === 0, `SIGTERM ended the process with ${status}`)
  broken.require(seconds < maxStopSeconds, `SIGTERM took ${seconds} s`)
  return seconds
}

/** Two processes are restarted in turn, behind a load balancer that gives a refused connection to the other one. */
const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const courier = await startCourier(t, { orders: { NOTIFIER_URL: nowhere, LOG_LEVEL: 'warn' } })
  const both = [courier.orders, await startAnother(t, courier, 'orders')]
  const balancer = await startProxy(...both.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })))
  t.teardown(balancer.close)
  const merchant = { ...courier.merchant, url: `http://127.0.0.1:${balancer.port}` }
  const load = keepBooking(merchant, { workers: 8, seed: t.seed })
  let longest = 0
  for (let round = 0; round < (t.short ? 3 : 40); round++) {
    const orders = both[round % 2] as ServiceProcess
    await delay(500)
    longest = Math.max(longest, await timedStop(orders, broken))
    orders.start()
    await orders.ready()
  }
  await delay(500)
  await load.stop()
  const failures = load.log.filter(({ ending }) => ending !== 'ok')
  for (const { ending, status, error } of failures)
    broken.add(`a request failed while the processes were restarted: ${ending}, status ${status}, ${error}`)
  const { lost } = await checkStored(text => courier.rows('orders', text), load.log, broken)
  return { requests: load.log.length, failed: failures.length, lost, 'longest stop s': rounded(longest, 2) }
}

export const promise: TrustPromise = {
  promise: 'SIGTERM under load breaks no request, and a rolling restart of two processes fails none',
  limit: 'x40: 0 failed requests, exit within 10 s',
  run,
}
