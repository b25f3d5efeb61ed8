import { setTimeout as delay } from 'node:timers/promises'
import { percentile, rounded } from '../bench/figures.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { eventually } from '../test/courier.ts'
import { type Courier, stageCourier } from './courier-stage.ts'
import { type BulkCall, book, type Merchant } from './order-calls.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const callsPerSecond = 20
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
  for (let n = 0; n < seconds * callsPerSecond; n++) {
    await delay(Math.max(0, started + (n * 1000) / callsPerSecond - performance.now()))
    calls.push(book(merchant, `${name}${n}`, ordersPerCall))
  }
  return Promise.all(calls)
}

const p99 = (calls: readonly BulkCall[]): number =>
  percentile(
    calls.map(({ milliseconds }) => milliseconds),
    0.99,
  )

/** Waits until all is told and has left. Each order must have made one message, and each of those arrived. */
const checkMessages = async (courier: Courier, broken: Broken) => {
  const started = performance.now()
  const outbox = () => courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row?.depth === 0, 120)
  const toldSeconds = (performance.now() - started) / 1000
  const left = () => courier.rows('notifier', `select 1 from messages where status in ('queued', 'sending')`)
  await eventually('every message left', left, rows => rows.length === 0, 120)
  const { length: orders } = await courier.rows('orders', 'select from orders')
  const messages = await courier.rows('notifier', 'select waybill_number from messages')
  const distinct = new Set(messages.map(row => row.waybill_number)).size
  const arrived = await courier.countAccepted()
  broken.require(distinct === orders, `${orders} orders, messages about ${distinct}`)
  broken.require(messages.length === orders, `${orders} orders, ${messages.length} messages`)
  broken.require(arrived === orders, `${orders} orders, ${arrived} messages arrived`)
  return { orders, 'messages arrived': arrived, 'told after s': rounded(toldSeconds, 1) }
}

const comparePace = (calm: readonly BulkCall[], cut: readonly BulkCall[], slack: number, broken: Broken) => {
  const failed = [...calm, ...cut].filter(({ ending }) => ending !== 'ok').length
  broken.require(failed === 0, `${failed} calls failed`)
  const [before, away] = [p99(calm), p99(cut)]
  const ratio = away / before
  const isClose = ratio <= maxRatio || away - before <= slack
  broken.require(isClose, `p99 of a call was ${away} ms with the notifier away, ${before} ms before`)
  return { 'p99 before ms': rounded(before, 1), 'p99 cut ms': rounded(away, 1), ratio: rounded(ratio, 2) }
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const target = { host: '127.0.0.1', port: 0 }
  const way = await startProxy(target)
  t.teardown(way.close)
  const courier = await stageCourier(t, { orders: { NOTIFIER_URL: `http://127.0.0.1:${way.port}` } })
  target.port = Number(new URL(courier.notifier.url).port)
  const { merchant } = courier
  const [before, away] = t.isTest ? [3, 5] : t.short ? [5, 10] : [60, 300]
  await keepPace(merchant, 'warm-up', 1)
  const calm = await keepPace(merchant, 'calm', before)
  await way.cut()
  t.report(`the notifier is cut off for ${away} s`)
  const cut = await keepPace(merchant, 'cut', away)
  await way.restore()
  const messages = await checkMessages(courier, broken)
  const pace = comparePace(calm, cut, t.short ? shortSlackMs : slackMs, broken)
  return { measured: { 'cut s': away, ...pace, ...messages }, broken: broken.sentences }
}

export const notifierAway: TrustPromise = {
  name: 'notifier-away',
  promise: 'While the notifier is cut off booking is as fast as before, and afterwards every message leaves once',
  limit: 'cut for 5 min: p99 of a booking at most +10 % (or 10 ms), then one message for each order',
  run,
}
