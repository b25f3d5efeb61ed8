import { setTimeout as delay } from 'node:timers/promises'
import { checkSql, listFindings } from '../services/orders/money/check-ledger.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { createChance } from '../test/chance.ts'
import { request, waitUntil } from '../test/courier.ts'
import { type Courier, countByStatus, readArrivals, startCourier, startServer, waitForOutbox } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** Lists the statuses from booking to delivery. */
const way = ['key_9', 'key_10', 'key_11', 'key_12', 'key_13']

/** Books, cancels and delivers, with or without the services. `given` lists the waybills of each batch. */
const keepBusy = ({ orders, tokens }: Courier, seed: number, pauseMs: number) => {
  const given: string[][] = []
  let isOver = false
  const post = (path: string, token: string, body: object) =>
    request(`${orders.url}${path}`, { token, body, signal: AbortSignal.timeout(20_000) }).catch(() => undefined)
  const book = async (worker: number): Promise<void> => {
    const chance = createChance(seed + worker)
    while (!isOver) {
      const size = chance() < 0.1 ? 120 : 1 + Math.floor(chance() * 12)
      const body = batch(Array.from({ length: size }, () => order({ initial_status_key: 'key_2' })))
      const booked = await post('/api/public/merchant/order/bulk', tokens.merchant, body)
      if (booked?.status === 200) given.push(booked.body.data)
      await delay(pauseMs + chance() * 40)
    }
  }
  /** Moves two parcels of each batch through these statuses. */
  const move = async (first: number, statusKeys: readonly string[]): Promise<void> => {
    for (let n = 0; !isOver; ) {
      const waybill_numbers = given[n]?.slice(first, first + 2) ?? []
      if (given[n]) n++
      else await delay(20)
      if (waybill_numbers.length > 0)
        for (const status_key of statusKeys)
          await post('/api/staff/order/status', tokens.staff, { waybill_numbers, status_key })
    }
  }
  const working = Promise.all([book(0), book(1), book(2), move(0, ['key_3']), move(2, way)])
  const stop = async (): Promise<void> => {
    isOver = true
    await working
  }
  return { given, stop }
}
type Load = ReturnType<typeof keepBusy>

interface Printed {
  tenants: { requeued: unknown[]; lost: { waybill_number: string; status_key: string }[] }[]
}

/** Waits until events have reached the notifier. */
const processMore = async (courier: Courier): Promise<void> => {
  const { size } = await readEvents(courier, 'notifier', 'events')
  const poll = () => readEvents(courier, 'notifier', 'events')
  await waitUntil('events reach the notifier', poll, events => events.size > size + 50)
}

type Service = 'orders' | 'notifier'

/**
 * Restores these databases, the first one to an earlier time, while the other services run on. Then runs the commands
 * of docs/operators/backup.md. `expected` lists the events that the notifier alone knew before.
 */
const restore = async (courier: Courier, servers: Servers, services: readonly Service[], ...words: string[]) => {
  const { admin, notifier } = courier
  const since = new Date().toISOString()
  const restores: (() => Promise<void>)[] = []
  for (const service of services) {
    restores.push(await servers[service].backUp())
    await processMore(courier)
  }
  await Promise.all(services.map(service => courier[service].stop('SIGKILL')))
  const lostAt = new Date().toISOString()
  await Promise.all(restores.map(restoreOne => restoreOne()))
  const stored = await readEvents(courier, 'orders', 'order_events')
  const expected = [...(await readEvents(courier, 'notifier', 'events'))].filter(event => !stored.has(event))
  await admin('notifier', 'restored', '--until', lostAt)
  notifier.start()
  await notifier.ready()
  const { tenants } = (await admin('orders', 'restored', '--since', since, ...words)) as Printed
  const { requeued = [], lost = [] } = tenants[0] ?? {}
  const lostEvents = lost.map(({ waybill_number, status_key }) => `${waybill_number} ${status_key}`)
  return { requeued: requeued.length, lost: lostEvents, expected }
}

const restoreBoth = async (courier: Courier, servers: Servers, broken: Broken) => {
  const { requeued, lost, expected } = await restore(courier, servers, ['orders', 'notifier'])
  broken.require(expected.length > 0, 'orders lost nothing')
  broken.require(
    lost.toSorted().join() === expected.toSorted().join(),
    `${expected.length} events are known to the notifier alone, ${lost.length} were listed`,
  )
  courier.orders.start()
  await courier.orders.ready()
  return { requeued, lost }
}

/** Restores the notifier's database while orders runs on. */
const restoreNotifier = async (courier: Courier, servers: Servers, lostBefore: readonly string[], broken: Broken) => {
  const { requeued, lost } = await restore(courier, servers, ['notifier'], '--skip', '0')
  const more = lost.filter(event => !lostBefore.includes(event)).length
  broken.require(more === 0, `${more} events were listed as lost although the database of orders was not restored`)
  broken.require(requeued > 0, 'no event was missing')
  return requeued
}

type Servers = Record<Service, Awaited<ReturnType<typeof startServer>>>

/** Returns each order and the statuses that it reached. */
const readEvents = async (courier: Courier, service: Service, table: string): Promise<Set<string>> => {
  const rows = await courier.rows(service, `select waybill_number || ' ' || status_key as event from ${table}`)
  return new Set(rows.map(({ event }) => String(event)))
}

/** Maps statuses to the templates of the demo company's rules. */
const templates: Readonly<Record<string, string>> = {
  key_2: 'order_created',
  key_3: 'order_cancelled',
  key_12: 'order_out_for_delivery',
  key_13: 'order_delivered',
}

/**
 * Checks that no number was given twice, no customer got a message twice, every event has its message, sent or unknown,
 * and the ledger holds.
 */
const check = async (courier: Courier, load: Load, broken: Broken) => {
  const given = load.given.flat()
  const twice = given.length - new Set(given).size
  broken.require(twice === 0, `${twice} waybill numbers were given twice`)
  await waitForOutbox(courier)
  const isOver = ({ queued = 0, sending = 0 }: Record<string, number>) => queued + sending === 0
  const { unknown = 0 } = await waitUntil('every message left', () => countByStatus(courier), isOver, 120)
  const processed = await readEvents(courier, 'notifier', 'events')
  const missing = [...(await readEvents(courier, 'orders', 'order_events'))].filter(
    event => !processed.has(event),
  ).length
  broken.require(missing === 0, `${missing} events never reached the notifier`)
  const [ledger] = await courier.rows('orders', checkSql, ['demo'])
  const found = listFindings(ledger as never)
  broken.require(found.length === 0, `the check of the ledger found ${found.join(', ')}`)
  broken.require(Number(ledger?.lines) > 0, 'no delivery was booked')
  const messages = await courier.rows(
    'notifier',
    `select message_id, waybill_number || ' ' || (template ->> 'name') as about, status from messages`,
  )
  const about = new Set(messages.map(row => row.about))
  const dueNow = [...processed].flatMap(event => {
    const [waybill, statusKey = ''] = event.split(' ')
    return templates[statusKey] ? `${waybill} ${templates[statusKey]}` : []
  })
  broken.require(
    dueNow.every(due => about.has(due)),
    'an event has no message',
  )
  const data = (await readArrivals(courier.control)) as Arrived[]
  const arrived = data.map(({ template, rendered }) => `${waybillIn(rendered)} ${template.name}`)
  const repeated = arrived.length - new Set(arrived).size
  broken.require(repeated === 0, `${repeated} messages arrived twice`)
  const ids = new Set(data.map(message => message.biz_opaque_callback_data))
  const silent = messages.filter(
    ({ message_id, status }) => status !== 'unknown' && !ids.has(String(message_id)),
  ).length
  broken.require(silent === 0, `${silent} messages count as sent and never arrived`)
  return { orders: given.length, 'waybills twice': twice, arrived: arrived.length, 'arrived twice': repeated, unknown }
}

interface Arrived {
  template: { name: string }
  rendered: { header?: string; body: string }
  biz_opaque_callback_data: string
}

const waybillIn = ({ header, body }: Arrived['rendered']) => /DM\d{8}/.exec(`${header} ${body}`)?.[0]

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  // Recovery needs the WAL that is written while the files are copied.
  const settings = { wal_keep_size: '1GB' }
  const servers = {
    orders: await startServer(t, 'orders', settings),
    notifier: await startServer(t, 'notifier', settings),
  }
  const courier = await startCourier(t, {
    ordersDatabase: servers.orders.database,
    notifierDatabase: servers.notifier.database,
    // Sends are in flight when the services are killed.
    simulator: { SIMULATOR_ANSWER_LATENCY_MS: '30' },
  })
  const load = keepBusy(courier, t.seed, t.short ? 500 : 150)
  t.teardown(load.stop)
  const counts = { restored: 0, requeued: 0 }
  const lost: string[] = []
  for (let round = 0; round < (t.short ? 1 : 5); round++) {
    await processMore(courier)
    const both = await restoreBoth(courier, servers, broken)
    lost.push(...both.lost)
    await processMore(courier)
    counts.requeued += both.requeued + (await restoreNotifier(courier, servers, lost, broken))
    counts.restored += 2
    t.report(`restored ${counts.restored} times, ${load.given.length} batches so far`)
  }
  await processMore(courier)
  await load.stop()
  return { ...counts, lost: lost.length, ...(await check(courier, load, broken)) }
}

export const promise: TrustPromise = {
  promise:
    'After an older backup of either database is restored, no waybill number is given twice, no message is sent twice, and no event is lost silently',
  limit:
    'physical backups under load, both services killed, x10: 0 numbers or messages twice, each event delivered or listed',
  run,
}
