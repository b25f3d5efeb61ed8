import { setTimeout as delay } from 'node:timers/promises'
import type { OrderEvent } from '@courier/shared/contract/order-events.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { waitUntil } from '../../test/receiver.ts'
import { startRelayFixture } from '../../test/relay-fixture.ts'
import { batch, order, snapshot } from '../../test/tenant.ts'
import type { Tx } from '../database/tables.ts'
import { readOldest } from './queries.ts'

const groupStatuses = (events: Iterable<OrderEvent>): Record<string, string[]> => {
  const groups = Map.groupBy(events, ({ order }) => order.waybill_number)
  return Object.fromEntries([...groups].map(([waybill, of]) => [waybill, of.map(({ order }) => order.status_key)]))
}

t.test('a booked batch is delivered at once, with every field that a template may name', async t => {
  const { relay, receiver, bulk, countWaiting } = await startRelayFixture(t, { publicUrl: 'https://track.example/' })
  relay.start()
  await waitUntil('an idle relay', () => delay(200, true))
  const started = performance.now()
  const body = batch([order({ order_no: 'LS-1', description: 'Shoes', initial_status_key: 'key_2' })])
  const [waybill] = (await bulk(body)).body.data
  await waitUntil('the event is delivered', () => receiver.events.size === 1)
  t.ok(performance.now() - started < 5_000)
  const [event] = [...receiver.events.values()]
  t.match(event, { id: new RegExp(`^[0-9a-f-]{36}/${waybill}$`), type: 'order.created' })
  t.ok(Math.abs(Date.parse(event?.happened_at ?? '') - Date.now()) < 60_000)
  t.match(event?.order.tracking_code, /^[\w-]{11}$/)
  t.strictSame(event?.order, {
    ...snapshot,
    waybill_number: waybill,
    order_no: 'LS-1',
    description: 'Shoes',
    status_key: 'key_2',
    status_name: 'CONFIRMED',
    note: null,
    tracking_code: event?.order.tracking_code,
    tracking_url: `https://track.example/t/demo/${waybill}/${event?.order.tracking_code}`,
  })
  await waitUntil('the outbox is empty', async () => (await countWaiting()) === 0)
})

t.test('a paid invoice is delivered with the phone number that its merchant has now', async t => {
  const { relay, receiver, rows, countWaiting } = await startRelayFixture(t)
  await rows(`update merchants set phone = '0112345678' where email = 'shop@example.com'`)
  const details = {
    invoice_no: 'CFX-1',
    invoice_ref_no: 'MI-1',
    total: '1100.00',
    currency: 'LKR',
    paid_on: '2026-02-20',
  }
  await rows(
    `insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, is_relayed, details)
      select tenant_id, merchant_id, 'invoice.deposited', '{""}', '{""}', 'staff', false, $1
      from merchants where email in ('shop@example.com', 'books@example.com') order by email desc`,
    [details],
  )
  t.equal(await countWaiting(), 0, 'processes of 0.2.0 do not see events of invoices')
  relay.start()
  await waitUntil('both events are delivered', () => receiver.events.size === 2)
  t.match(
    [...receiver.events.values()],
    ['0112345678', null].map(merchant_phone => ({
      type: 'invoice.deposited',
      invoice: { ...details, merchant_phone, time_zone: 'Asia/Colombo' },
    })),
  )
  await waitUntil('nothing waits', async () => (await rows('select from log where not is_relayed')).length === 0)
})

t.test('events of a waybill are delivered in order, each once, with their own status and note', async t => {
  const { relay, receiver, book, move, countWaiting } = await startRelayFixture(t)
  const waybills = [...(await book(3)), ...(await book(2))]
  await move(waybills, 'key_2')
  await move(waybills.slice(0, 2), 'key_3', 'asked by phone')
  relay.start()
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  t.equal(receiver.posts.length, 1, 'small entries share a request')
  const all = receiver.posts.flatMap(({ events }) => events)
  t.equal(all.length, receiver.events.size)
  t.strictSame(
    groupStatuses(all),
    Object.fromEntries(
      waybills.map((waybill, index) => [waybill, ['key_1', 'key_2', ...(index < 2 ? ['key_3'] : [])]]),
    ),
  )
  t.strictSame(
    all.filter(({ order }) => order.note).map(({ type, order }) => [type, order.status_name, order.note]),
    waybills.slice(0, 2).map(() => ['order.status_changed', 'CANCELLED', 'asked by phone']),
  )
})

t.test('an entry of 5,000 orders is delivered in requests of 500, in order, each event once', async t => {
  const { relay, receiver, rows, book, countWaiting } = await startRelayFixture(t)
  const waybills: string[] = []
  for (let round = 0; round < 5; round++) waybills.push(...(await book(1000)))
  const [before] = await book(1)
  await rows('update log set is_relayed = true where cardinality(waybill_numbers) > 1')
  await rows(
    `insert into log (tenant_id, type, waybill_numbers, status_keys)
      values ('demo', 'order.status_changed', $1, $2)`,
    [waybills, waybills.map(() => 'key_2')],
  )
  const [after] = await book(1)
  relay.start()
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  const all = receiver.posts.flatMap(({ events }) => events.map(({ order }) => order.waybill_number))
  t.strictSame(all, [before, ...waybills, after])
  t.ok(receiver.posts.every(({ events }) => events.length <= 500))
})

t.test('a tenant with a large backlog does not delay others', async t => {
  const { relay, receiver, book, addTenant, repeatEntries, countWaiting } = await startRelayFixture(t)
  const large = await Promise.all(['la', 'lb', 'lc', 'ld', 'le'].map(addTenant))
  for (const options of large) await book(1000, options)
  await repeatEntries(5)
  await book(1, await addTenant('small'))
  receiver.milliseconds = 50
  relay.start()
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0, 60)
  const smallIndex = receiver.posts.findIndex(({ tenant }) => tenant === 'small')
  t.ok(smallIndex >= 0 && smallIndex < receiver.posts.length / 3, `request ${smallIndex} of ${receiver.posts.length}`)
  t.equal(receiver.overlaps, 0)
})

t.test('tenants with large backlogs are drained in rotation, also by another process', async t => {
  const { receiver, book, addTenant, addRelay, repeatEntries, countWaiting } = await startRelayFixture(t)
  const tenants = await Promise.all(['ra', 'rb', 'rc', 'rd'].map(addTenant))
  const earlier = addRelay({ concurrency: 1 })
  earlier.start()
  for (const options of [{}, ...tenants]) await book(1, options)
  await waitUntil('all tenants were drained', async () => (await countWaiting()) === 0)
  await earlier.stop()
  const before = receiver.posts.length
  for (const options of tenants) await book(500, options)
  await repeatEntries(2)
  addRelay({ concurrency: 1 }).start()
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  const drained = receiver.posts.slice(before).map(({ tenant }) => tenant)
  t.equal(drained.length, 12)
  for (const start of [0, 4, 8]) t.equal(new Set(drained.slice(start, start + 4)).size, 4, drained.join(' '))
})

t.test('a backlog of 100,000 entries is read as fast as a short one', async t => {
  const { pool, rows, addTenant } = await startRelayFixture(t)
  await addTenant('short')
  for (const [tenant, entries] of [
    ['demo', 100_000],
    ['short', 1_000],
  ] as const)
    await rows(
      `insert into log (tenant_id, type, waybill_numbers, status_keys)
        select $1, 'order.status_changed', array['DM00000001'], array['key_2'] from generate_series(1, $2::int)`,
      [tenant, entries],
    )
  const planned = await inTenant(pool, 'short', async (tx: Tx) => {
    await readOldest(tx, 'short', 1)
    return tx.rows(
      `select setting from pg_settings where name in ('enable_sort', 'enable_bitmapscan', 'enable_seqscan')`,
    )
  })
  t.same(planned, Array(3).fill({ setting: 'on' }), 'statements after it are planned as usual')
  const measure = async (tenant: string): Promise<number> => {
    const started = performance.now()
    t.equal((await inTenant(pool, tenant, (tx: Tx) => readOldest(tx, tenant, 500))).length, 500)
    return performance.now() - started
  }
  const ratios: number[] = []
  for (let round = 0; round < 9; round++) ratios.push((await measure('demo')) / (await measure('short')))
  const [median = 0] = ratios.toSorted((a, b) => a - b).slice(4)
  t.ok(median < 5, `${median} times as long`)
})
