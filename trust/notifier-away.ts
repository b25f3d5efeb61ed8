import { setTimeout as delay } from 'node:timers/promises'
import { percentile, rounded } from '../bench/figures.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { eventually } from '../test/courier.ts'
import { stageCourier } from './courier-stage.ts'
import { type BulkCall, book, type Merchant } from './order-calls.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const callsPerSecond = 20
const ordersPerCall = 2
const maxRatio = 1.1
/** In the short form a p99 is one of a hundred calls, on a machine that runs other tests. */
const maxShortRatio = 3
/** A p99 so little above is the machine. */
const slackMs = 10

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
  const restored = performance.now()

  const outbox = () => courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row?.depth === 0, 120)
  const toldSeconds = (performance.now() - restored) / 1000
  const booked = await courier.rows('orders', 'select waybill_number from orders')
  const left = () => courier.rows('notifier', `select 1 from messages where status in ('queued', 'sending')`)
  await eventually('every message left', left, rows => rows.length === 0, 120)
  const messages = await courier.rows('notifier', 'select waybill_number from messages')
  const accepted = await courier.countAccepted()
  const distinct = new Set(messages.map(row => row.waybill_number)).size
  broken.require(distinct === booked.length, `${booked.length} orders, messages about ${distinct}`)
  broken.require(messages.length === booked.length, `${booked.length} orders, ${messages.length} messages`)
  broken.require(accepted === booked.length, `${booked.length} orders, ${accepted} messages arrived`)
  const failed = [...calm, ...cut].filter(({ ending }) => ending !== 'ok').length
  broken.require(failed === 0, `${failed} calls failed`)
  const ratio = p99(cut) / p99(calm)
  const isClose = ratio <= (t.short ? maxShortRatio : maxRatio) || p99(cut) - p99(calm) <= slackMs
  broken.require(isClose, `p99 of a call was ${p99(cut)} ms with the notifier away, ${p99(calm)} ms before`)
  const measured = {
    'cut s': away,
    orders: booked.length,
    'p99 before ms': rounded(p99(calm), 1),
    'p99 cut ms': rounded(p99(cut), 1),
    ratio: rounded(ratio, 2),
    'told after s': rounded(toldSeconds, 1),
    'messages arrived': accepted,
  }
  return { measured, broken: broken.sentences }
}

export const notifierAway: TrustPromise = {
  name: 'notifier-away',
  promise: 'While the notifier is cut off booking is as fast as before, and afterwards every message leaves once',
  limit: 'cut for 5 min: p99 of a booking at most +10 % (or 10 ms), then one message for each order',
  run,
}
