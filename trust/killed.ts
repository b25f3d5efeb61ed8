import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { startOwnPostgres } from '../dev/own-postgres.ts'
import { chanceOf } from '../test/chance.ts'
import { eventually, request } from '../test/courier.ts'
import { type Courier, countByStatus, queueMessages, readArrivals, startCourier } from './courier.ts'
import { checkChanges, followChanges } from './follow-changes.ts'
import { type BulkRequest, book, keepBooking, type Load, type Merchant } from './order-requests.ts'
import { endWaits, giveUpSends } from './pass-time.ts'
import type { Broken, TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const maxRecoverySeconds = 5

/** Cancels every third acknowledged batch, again with its key until that is acknowledged. Returns the waybills. */
const keepCancelling = ({ orders, staffToken }: Courier, load: Load) => {
  const cancelled: string[] = []
  const finish = new AbortController()
  const cancel = async (waybill_numbers: readonly string[]): Promise<void> => {
    const body = { waybill_numbers, status_key: 'key_3' }
    const options = { token: staffToken, key: `cancel ${waybill_numbers[0]}`, body }
    const move = () => request(`${orders.url}/api/staff/order/status`, options).catch(() => undefined)
    await eventually('a move is acknowledged', move, response => response?.status === 200)
    cancelled.push(...waybill_numbers)
  }
  const work = async (): Promise<void> => {
    for (let n = 0; !finish.signal.aborted || n < load.log.length; ) {
      const booked = load.log[n]
      if (booked === undefined) await delay(20)
      else if (n++ % 3 === 0 && booked.ending === 'ok') await cancel(booked.waybills)
    }
  }
  const working = work()
  return async (): Promise<string[]> => {
    finish.abort()
    await working
    return cancelled
  }
}

/** Ids of the messages that were queued, and a function that queues as many again once half of them have left. */
const keepQueueing = async (courier: Courier, count: number) => {
  const ids = await queueMessages(courier, count)
  const fill = async (): Promise<void> => {
    const { queued = 0 } = await countByStatus(courier)
    if (queued > count / 2) return
    await courier.notifier.ready()
    ids.push(...(await queueMessages(courier, count)))
  }
  return { ids, fill }
}

/** Each kill finds messages queued. */
const killServices = async (
  { orders, notifier }: Courier,
  kills: number,
  chance: () => number,
  fill: () => Promise<void>,
): Promise<void> => {
  for (let round = 0; round < kills; round++) {
    await delay(chance() * 700)
    await fill()
    const victim = chance() < 0.5 ? orders : notifier
    await victim.stop('SIGKILL')
    victim.start()
    // Some die again before they are ready.
    if (chance() < 0.8) await victim.ready()
  }
  await Promise.all([orders.ready(), notifier.ready()])
}

/** Seconds until a batch is created again. These requests are in the log too. */
const recover = async (merchant: Merchant, name: string, log: BulkRequest[]): Promise<number> => {
  const started = performance.now()
  for (let tries = 0; performance.now() - started < 60_000; tries++) {
    const request = await book(merchant, `${name}-${tries}`, 3)
    log.push(request)
    if (request.ending === 'ok') return (performance.now() - started) / 1000
    await delay(50)
  }
  return Number.POSITIVE_INFINITY
}

type OwnPostgres = Awaited<ReturnType<typeof startOwnPostgres>>

/** Returns the longest recovery in seconds, and the requests that tried it. */
const killPostgres = async (merchant: Merchant, postgres: OwnPostgres, kills: number, chance: () => number) => {
  const log: BulkRequest[] = []
  let slowest = 0
  for (let round = 0; round < kills; round++) {
    await delay(300 + chance() * 700)
    await postgres.kill()
    await delay(chance() * 1000)
    await postgres.start()
    slowest = Math.max(slowest, await recover(merchant, `p${round}`, log))
  }
  return { slowest, log }
}

/**
 * Waits until every event is delivered and every message has left. Each order made a message when it was created and one for
 * each move; these and those that were `queued` arrived once or are in doubt.
 */
export const checkMessages = async (
  courier: Courier,
  { cancelled = [], queued = [] }: { cancelled?: readonly string[]; queued?: readonly string[] },
  broken: Broken,
) => {
  const started = performance.now()
  const outbox = () => courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row?.depth === 0, 120)
  const deliveredSeconds = rounded((performance.now() - started) / 1000, 1)
  const isOver = ({ queued = 0, sending = 0 }: Record<string, number>) => queued + sending === 0
  await eventually('every message left', () => countByStatus(courier), isOver, 600)
  const orders = await courier.rows('orders', 'select waybill_number from orders')
  const expected = [
    ...orders.map(row => `${row.waybill_number} order_created`),
    ...cancelled.map(waybill => `${waybill} order_cancelled`),
    ...queued,
  ]
  const messages = await courier.rows(
    'notifier',
    `select coalesce(waybill_number || ' ' || (template ->> 'name'), message_id) as about, status, message_id from messages`,
  )
  const about = messages.map(row => String(row.about))
  const isSame = about.toSorted().join() === expected.toSorted().join()
  broken.require(isSame, `${expected.length} messages were due, ${about.length} made, about ${new Set(about).size}`)
  const arrived = (await readArrivals(courier.control)) as { biz_opaque_callback_data: string }[]
  const arrivals = Map.groupBy(arrived, message => message.biz_opaque_callback_data)
  for (const { message_id, status } of messages) {
    const count = arrivals.get(String(message_id))?.length ?? 0
    broken.require(count <= 1, `a message arrived ${count} times`)
    broken.require(count === 1 || status === 'unknown', `a message is ${status} and never arrived`)
  }
  const unknown = messages.filter(({ status }) => status === 'unknown').length
  return { messages: messages.length, unknown, 'delivered after s': deliveredSeconds }
}

/** What is queued and waits for no earlier message of its waybill. */
const ready = `
  select count(*)::int as count from messages m where status = 'queued' and not exists (
    select from messages e where e.tenant_id = m.tenant_id and e.waybill_number = m.waybill_number
      and e.status in ('sending', 'unknown') and (e.created_at, e.message_id) < (m.created_at, m.message_id))`

/** Gives up the sends of a dead process: a living one has its response within a second. */
const giveUpDeadSends = async (courier: Courier): Promise<void> => {
  await eventually(
    'what may leave has left',
    () => courier.rows('notifier', ready),
    ([row]) => row?.count === 0,
    120,
  )
  await delay(1_000)
  await giveUpSends(courier, 1)
}

/** Lets what waits only for unknown messages go. */
const endLastWaits = async (courier: Courier): Promise<void> => {
  const text = `select count(*)::int as count from messages where status = 'sending' union all ${ready}`
  const isSettled = (rows: Record<string, unknown>[]) => rows.every(({ count }) => count === 0)
  await eventually('what is left waits for unknown messages', () => courier.rows('notifier', text), isSettled, 600)
  await endWaits(courier)
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const [kills, postgresKills, count, rate] = t.short ? [6, 2, 400, 400] : [100, 6, 10_000, 40]
  const postgres = await startOwnPostgres(t, 'orders')
  const as = postgres.addressAs
  const courier = await startCourier(t, {
    ordersDatabase: { url: as('orders'), ownerUrl: as('orders_owner'), superuserUrl: as('postgres') },
    rate,
    // So slow that each kill of the notifier finds sends in flight.
    simulator: { SIMULATOR_ANSWER_LATENCY_MS: t.short ? '30' : '90' },
  })
  const { merchant } = courier
  const { ids: queued, fill } = await keepQueueing(courier, count)
  const chance = chanceOf(t.seed)
  const load = keepBooking(merchant, { workers: 4, seed: t.seed, pauseMilliseconds: t.short ? 500 : 1_000 })
  const finishCancelling = keepCancelling(courier, load)
  const finishFollowing = followChanges(merchant)
  await killServices(courier, kills, chance, fill)
  t.report(`services killed ${kills} times`)
  const { slowest, log } = await killPostgres(merchant, postgres, postgresKills, chance)
  await load.stop()
  const cancelled = await finishCancelling()
  // Nobody started it anew.
  const live = await fetch(`${courier.orders.url}/health/live`).catch(() => undefined)
  broken.require(live?.status === 200, 'orders did not survive that Postgres was killed')
  broken.require(slowest < maxRecoverySeconds, `it took ${slowest} s until a batch was created again`)
  const rows = (text: string) => courier.rows('orders', text)
  const stored = await checkStored(rows, [...load.log, ...log], broken)
  const changes = await checkChanges(rows, await finishFollowing(), broken)
  const moved = await courier.rows('orders', `select waybill_number from orders where status_key = 'key_3'`)
  const unmoved = cancelled.length - moved.length
  broken.require(unmoved === 0, `${unmoved} acknowledged moves are missing`)
  broken.require(stored.ok > 20 && stored.acknowledged > kills, 'there was too little to lose')
  // Nothing is killed any more: what is left may leave at once.
  await courier.rows('notifier', 'update channels set rate = 1000')
  if (t.short) await giveUpDeadSends(courier)
  await endLastWaits(courier)
  const messages = await checkMessages(courier, { cancelled, queued }, broken)
  const killed = `${kills} of services, ${postgresKills} of Postgres`
  return { kills: killed, ...stored, moved: moved.length, changes, ...messages, 'recovery s': rounded(slowest, 2) }
}

export const promise: TrustPromise = {
  promise:
    'When orders, the notifier or Postgres is killed at any moment, what was acknowledged is kept, no batch is stored in part, a reader of the changes gets each once, and each message is sent once or unknown',
  limit:
    'kill -9 of either service x100, of Postgres x6, under load and with 10,000 messages queued: 0 orders, moves or messages lost, 0 partial, 0 duplicated, 0 changes skipped; orders created again within 5 s after Postgres is back',
  run,
}
