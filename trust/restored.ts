import { checkSql, listFindings } from '../services/orders/capabilities/money/ledger/check-ledger.ts'
import { waitUntil } from '../test/courier.ts'
import { type Bed, startBed } from './chaos/bed.ts'
import { startClients } from './chaos/clients.ts'
import type { Call } from './chaos/history.ts'
import { createRecorder } from './chaos/record.ts'
import { type Courier, countByStatus, readArrivals, waitForOutbox } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

interface Printed {
  tenants: { requeued: unknown[]; lost: { waybill_number: string; status_key: string }[] }[]
}

/**
 * Is enough for several back-offs of half a minute, in which the relay delivers nothing, and for the redelivery of all
 * events since the backup, which comes before any new one.
 */
const mostSeconds = 300

/** Waits until more events have reached the notifier and are marked in the outbox: the relay redelivers the others. */
const processMore = async (courier: Courier): Promise<void> => {
  const before = await readEvents(courier, 'notifier')
  const countNew = async () => {
    const arrived = (await readEvents(courier, 'notifier')).difference(before)
    return arrived.difference(await readEvents(courier, 'outbox')).size
  }
  await waitUntil('events reach the notifier', countNew, events => events > 50, mostSeconds)
}

type Service = 'orders' | 'notifier'

/**
 * Restores these databases, the first to an earlier time than the second, while the other services run on. Then runs
 * the commands of docs/operators/backup.md. `expected` lists the events that only the notifier knew before that.
 */
const restore = async ({ courier, servers }: Bed, services: readonly Service[], ...words: string[]) => {
  const { admin, notifier } = courier
  const since = new Date().toISOString()
  const restores: (() => Promise<void>)[] = []
  for (const service of services) {
    const server = servers[`Postgres-of-${service}`]
    if (server) restores.push(await server.backUp())
    await processMore(courier)
  }
  await Promise.all(services.map(service => courier[service].stop('SIGKILL')))
  const lostAt = new Date().toISOString()
  await Promise.all(restores.map(restoreOne => restoreOne()))
  const stored = await readEvents(courier, 'orders')
  const expected = [...(await readEvents(courier, 'notifier'))].filter(event => !stored.has(event))
  await admin('notifier', 'restored', '--until', lostAt)
  notifier.start()
  await notifier.ready()
  const { tenants } = (await admin('orders', 'restored', '--since', since, ...words)) as Printed
  const { requeued = [], lost = [] } = tenants[0] ?? {}
  const lostEvents = lost.map(({ waybill_number, status_key }) => `${waybill_number} ${status_key}`)
  return { requeued: requeued.length, lost: lostEvents, expected }
}

const restoreBoth = async (bed: Bed, broken: Broken) => {
  const { requeued, lost, expected } = await restore(bed, ['orders', 'notifier'])
  broken.require(expected.length > 0, 'orders lost nothing')
  broken.require(
    lost.toSorted().join() === expected.toSorted().join(),
    `${expected.length} events are known only to the notifier, ${lost.length} were listed`,
  )
  bed.courier.orders.start()
  await bed.courier.orders.ready()
  return { requeued, lost }
}

/** Restores the notifier's database while orders runs on. */
const restoreNotifier = async (bed: Bed, lostBefore: readonly string[], broken: Broken) => {
  const { requeued, lost } = await restore(bed, ['notifier'], '--skip', '0')
  const more = lost.filter(event => !lostBefore.includes(event)).length
  broken.require(more === 0, `${more} events were listed as lost although the database of orders was not restored`)
  broken.require(requeued > 0, 'no event was missing')
  return requeued
}

const eventTables = {
  orders: 'order_events',
  notifier: `events where type <> 'order.edited'`,
  outbox: 'log, unnest(waybill_numbers, status_keys) as event (waybill_number, status_key) where not is_relayed',
}

/** Returns each status that an order reached, as `waybill status`. */
const readEvents = async ({ rows }: Courier, from: keyof typeof eventTables): Promise<Set<string>> => {
  const service = from === 'notifier' ? from : 'orders'
  const found = await rows(service, `select waybill_number || ' ' || status_key as event from ${eventTables[from]}`)
  return new Set(found.map(({ event }) => String(event)))
}

/** Counts the events that make no message although a rule of trust/chaos/bed.ts is about them. */
const silentSql = `select count(*)::int as events from events e, lateral
    (select case type when 'order.status_changed' then status_key else type end as on) rule
  where rule.on in ('order.created', 'key_3', 'key_12', 'key_13') and not exists
    (select from messages m where m.waybill_number = e.waybill_number and m.rule_event = rule.on)`

/**
 * Checks that no number was given twice, no customer got a message twice, every event has its message, sent or unknown,
 * and the check of the ledger finds nothing.
 */
const check = async ({ courier }: Bed, history: readonly Call[], broken: Broken) => {
  const given = history.flatMap(({ what, ending, data }) => (what === 'book' && ending === 'done' ? data : []))
  const twice = given.length - new Set(given).size
  broken.require(twice === 0, `${twice} waybill numbers were given twice`)
  await waitForOutbox(courier, mostSeconds)
  const isOver = ({ queued = 0, sending = 0 }: Record<string, number>) => queued + sending === 0
  const { unknown = 0 } = await waitUntil('every message has left', () => countByStatus(courier), isOver, mostSeconds)
  const processed = await readEvents(courier, 'notifier')
  const missing = [...(await readEvents(courier, 'orders'))].filter(event => !processed.has(event)).length
  broken.require(missing === 0, `${missing} events never reached the notifier`)
  const [ledger] = await courier.rows('orders', checkSql, ['demo'])
  const found = listFindings(ledger as never)
  broken.require(found.length === 0, `the check of the ledger found ${found.join(', ')}`)
  broken.require(Number(ledger?.lines) > 0, 'no delivery was booked')
  const [silent] = await courier.rows('notifier', silentSql)
  broken.require(silent?.events === 0, `${silent?.events} events have no message`)
  const data = (await readArrivals(courier.control)) as Arrived[]
  const arrived = data.map(({ template, rendered }) => `${findWaybill(rendered)} ${template.name}`)
  const repeated = arrived.length - new Set(arrived).size
  broken.require(repeated === 0, `${repeated} messages arrived twice`)
  const ids = data.map(message => message.biz_opaque_callback_data)
  const [lost] = await courier.rows(
    'notifier',
    `select count(*)::int as messages from messages
     where status not in ('unknown', 'cancelled') and message_id <> all($1)`,
    [ids],
  )
  broken.require(lost?.messages === 0, `${lost?.messages} messages count as sent and never arrived`)
  return { orders: given.length, 'waybills twice': twice, arrived: arrived.length, 'arrived twice': repeated, unknown }
}

interface Arrived {
  template: { name: string }
  rendered: { header?: string; body: string }
  biz_opaque_callback_data: string
}

const findWaybill = ({ header, body }: Arrived['rendered']) => /DM\d{8}/.exec(`${header} ${body}`)?.[0]

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const bed = await startBed(t, {
    ownPostgres: ['orders', 'notifier'],
    // Sends are in flight when the services are killed.
    simulator: { SIMULATOR_ANSWER_LATENCY_MS: '30', SIMULATOR_DELAY_FACTOR: '0' },
  })
  const recorder = createRecorder()
  const crew = { merchants: t.short ? 2 : 6, clerks: 2, repeats: 0 }
  const clients = startClients(bed, recorder, crew, t.seed, [])
  t.teardown(() => {
    clients.stop()
    recorder.giveUpIn(0)
  })
  const counts = { restored: 0, requeued: 0 }
  const lost: string[] = []
  for (let round = 0; round < (t.short ? 1 : 5); round++) {
    await processMore(bed.courier)
    const both = await restoreBoth(bed, broken)
    lost.push(...both.lost)
    await processMore(bed.courier)
    counts.requeued += both.requeued + (await restoreNotifier(bed, lost, broken))
    counts.restored += 2
    t.report(`restored ${counts.restored} times, ${recorder.history.length} requests so far`)
  }
  await processMore(bed.courier)
  await clients.finish()
  return { ...counts, lost: lost.length, ...(await check(bed, recorder.history, broken)) }
}

export const promise: TrustPromise = {
  promise:
    'After an older backup of either database is restored, no waybill number is given twice, no message is sent twice, and no event is lost silently',
  limit:
    'physical backups under load, both services killed, x10: 0 numbers or messages twice, each event delivered or listed',
  run,
}
