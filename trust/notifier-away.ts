import { setTimeout as delay } from 'node:timers/promises'
import { percentile, rounded } from '../bench/figures.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { stageCourier } from './courier-stage.ts'
import { checkMessages } from './killed.ts'
import { type BulkCall, book, type Merchant } from './order-calls.ts'
import type { Broken, TrustPromise } from './promise.ts'

const requestsPerSecond = 20
const ordersPerCall = 2
const maxRatio = 1.1
/** A p99 so little above is the machine. */
const slackMs = 10
/**
 * In the short form a p99 is one of a hundred calls, on a machine that runs other tests: it shows that no booking waits for
 * the notifier, which takes a second to be given up.
 */
const shortSlackMs = 500

/** Books at a fixed pace, whatever the answers take. */
const keepPace = async (merchant: Merchant, name: string, seconds: number): Promise<BulkCall[]> => {
  const calls: Promise<BulkCall>[] = []
  const started = performance.now()
  for (let n = 0; n < seconds * requestsPerSecond; n++) {
    await delay(Math.max(0, started + (n * 1000) / requestsPerSecond - performance.now()))
    calls.push(book(merchant, `${name}${n}`, ordersPerCall))
  }
  return Promise.all(calls)
}

const p99 = (calls: readonly BulkCall[]): number =>
  percentile(
    calls.map(({ milliseconds }) => milliseconds),
    0.99,
  )

const comparePace = (calm: readonly BulkCall[], cut: readonly BulkCall[], slack: number, broken: Broken) => {
  const failed = [...calm, ...cut].filter(({ ending }) => ending !== 'ok').length
  broken.require(failed === 0, `${failed} requests failed`)
  const [before, away] = [p99(calm), p99(cut)]
  const ratio = away / before
  const isClose = ratio <= maxRatio || away - before <= slack
  broken.require(isClose, `p99 of a request was ${away} ms with the notifier away, ${before} ms before`)
  return { 'p99 before ms': rounded(before, 1), 'p99 cut ms': rounded(away, 1), ratio: rounded(ratio, 2) }
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const target = { host: '127.0.0.1', port: 0 }
  const way = await startProxy(target)
  t.teardown(way.close)
  const courier = await stageCourier(t, { orders: { NOTIFIER_URL: `http://127.0.0.1:${way.port}` } })
  target.port = Number(new URL(courier.notifier.url).port)
  const { merchant } = courier
  const [before, away] = t.short ? [3, 5] : [60, 300]
  await keepPace(merchant, 'warm-up', 1)
  const calm = await keepPace(merchant, 'calm', before)
  await way.cut()
  t.report(`the notifier is cut off for ${away} s`)
  const cut = await keepPace(merchant, 'cut', away)
  await way.restore()
  const messages = await checkMessages(courier, {}, broken)
  broken.require(messages.unknown === 0, `${messages.unknown} messages are unknown although no send was disturbed`)
  const pace = comparePace(calm, cut, t.short ? shortSlackMs : slackMs, broken)
  return { 'cut s': away, ...pace, ...messages }
}

export const promise: TrustPromise = {
  promise:
    'While the notifier is cut off creating orders is as fast as before, and afterwards every message leaves once',
  limit: 'cut for 5 min: p99 of creating orders at most +10 % (or 10 ms), then one message for each order',
  run,
}
