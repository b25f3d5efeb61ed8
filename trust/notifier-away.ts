import { setTimeout as delay } from 'node:timers/promises'
import { percentile, rounded } from '../bench/figures.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { startCourier } from './courier.ts'
import { checkMessages } from './killed.ts'
import { type BulkRequest, book, type Merchant } from './order-requests.ts'
import type { TrustPromise } from './promise.ts'

const requestsPerSecond = 20
const ordersPerRequest = 2
const maxRatio = 1.1
/** A p99 so little above is the machine. In the short form it is one of a hundred requests beside other tests. */
const slackMs = { full: 10, short: 500 }

/** Books at a fixed rate, however long the responses take. */
const keepRate = async (merchant: Merchant, name: string, seconds: number): Promise<BulkRequest[]> => {
  const requests: Promise<BulkRequest>[] = []
  const started = performance.now()
  for (let n = 0; n < seconds * requestsPerSecond; n++) {
    await delay(Math.max(0, started + (n * 1000) / requestsPerSecond - performance.now()))
    requests.push(book(merchant, `${name}${n}`, ordersPerRequest))
  }
  return Promise.all(requests)
}

const p99 = (requests: readonly BulkRequest[]): number =>
  percentile(
    requests.map(({ milliseconds }) => milliseconds),
    0.99,
  )

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const target = { host: '127.0.0.1', port: 0 }
  const proxy = await startProxy(target)
  t.teardown(proxy.close)
  const courier = await startCourier(t, { orders: { NOTIFIER_URL: `http://127.0.0.1:${proxy.port}` } })
  target.port = Number(new URL(courier.notifier.url).port)
  const { merchant } = courier
  const [before, away] = t.short ? [3, 5] : [60, 300]
  await keepRate(merchant, 'warm-up', 1)
  const calm = await keepRate(merchant, 'calm', before)
  await proxy.cut()
  t.report(`the notifier is cut off for ${away} s`)
  const cut = await keepRate(merchant, 'cut', away)
  await proxy.restore()
  const failed = [...calm, ...cut].filter(({ ending }) => ending !== 'ok').length
  broken.require(failed === 0, `${failed} requests failed`)
  const messages = await checkMessages(courier, {}, broken)
  broken.require(messages.unknown === 0, `${messages.unknown} messages are unknown although no send was disturbed`)
  const [calmMs, cutMs] = [p99(calm), p99(cut)]
  const isClose = cutMs <= calmMs * maxRatio || cutMs - calmMs <= slackMs[t.short ? 'short' : 'full']
  broken.require(isClose, `p99 of a request was ${cutMs} ms with the notifier away, ${calmMs} ms before`)
  return { 'cut s': away, 'p99 before ms': rounded(calmMs, 1), 'p99 cut ms': rounded(cutMs, 1), ...messages }
}

export const promise: TrustPromise = {
  promise:
    'While the notifier is cut off creating orders is as fast as before, and afterwards every message leaves once',
  limit: 'cut for 5 min: p99 of creating orders at most +10 % (or 10 ms), then one message for each order',
  run,
}
