import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { spawnReady } from '../../../../dev/service-process.ts'
import { serviceToken } from '../../test/build.ts'
import { waitUntil } from '../../test/receiver.ts'
import { startRelayFixture } from '../../test/relay-fixture.ts'

/** Starts a process with a relay, and waits until it is ready. The end of the test kills it. */
const spawnRelay = (t: Test, databaseUrl: string, notifierUrl: string, leaseSeconds: number) =>
  spawnReady(t, 'services/orders/test/relay-process.ts', {
    DATABASE_URL: databaseUrl,
    NOTIFIER_URL: notifierUrl,
    SERVICE_TOKEN: serviceToken,
    LEASE_SECONDS: String(leaseSeconds),
  })

t.test('several processes share the work: one of them delivers each event, once and in order', async t => {
  const { receiver, database, book, move, addTenant, addRelay, countWaiting } = await startRelayFixture(t)
  const tenants = await Promise.all(['pa', 'pb', 'pc'].map(addTenant))
  const process = () => spawnRelay(t, database.url, receiver.url, 4)
  const [, first, second] = await Promise.all([addRelay({ leaseSeconds: 4 }).start(), process(), process()])
  receiver.milliseconds = 15
  const rounds = 12
  for (let round = 0; round < rounds; round++) {
    await Promise.all(tenants.map(options => book(20, options)))
    await move(await book(10), 'key_2')
  }
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0, 60)
  await Promise.all([first.stop(), second.stop()])
  const all = receiver.posts.flatMap(({ events }) => events)
  t.equal(receiver.overlaps, 0)
  t.equal(receiver.events.size, rounds * (3 * 20 + 2 * 10))
  t.equal(all.length, receiver.events.size)
  const ofWaybill = Map.groupBy(all, ({ order }) => order.waybill_number)
  const histories = [...ofWaybill.values()].map(events => events.map(({ order }) => order.status_key).join(' '))
  t.equal(histories.filter(history => history === 'key_1').length, rounds * 60)
  t.equal(histories.filter(history => history === 'key_1 key_2').length, rounds * 10)
})

t.test('the events of a killed process are delivered by another one when the lease expires', async t => {
  const { receiver, database, rows, book, addRelay, countWaiting } = await startRelayFixture(t)
  const killed = await spawnRelay(t, database.url, receiver.url, 3)
  receiver.react = () => 'hang'
  await book(3)
  await waitUntil('a request', () => receiver.requests > 0)
  await killed.kill()
  const [lease] = await rows('select held_until > now() as is_held from outbox_leases')
  t.strictSame(lease, { is_held: true })
  receiver.react = () => 'acknowledge'
  receiver.requests = 0
  addRelay({ leaseSeconds: 3 }).start()
  await delay(500)
  t.equal(receiver.requests, 0, 'the other process waits for the lease to expire')
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  t.equal(receiver.events.size, 3)
})

t.test('a stopped process finishes its request and releases its leases', async t => {
  const { receiver, database, rows, book, countWaiting } = await startRelayFixture(t)
  const { stop } = await spawnRelay(t, database.url, receiver.url, 20)
  receiver.milliseconds = 500
  await book(1000)
  await waitUntil('a lease', async () => (await rows('select from outbox_leases')).length > 0)
  await stop()
  t.equal(receiver.overlaps, 0)
  t.equal(await countWaiting(), receiver.posts.length === 2 ? 0 : 1)
  t.strictSame(await rows('select from outbox_leases where held_until > now()'), [])
})

t.test('a process stops using a lease that another process acquired', async t => {
  const { receiver, rows, book, move, addRelay, countWaiting } = await startRelayFixture(t)
  const waybills = [...(await book(1000)), ...(await book(1000)), ...(await book(1000))]
  await rows('update log set is_relayed = true')
  await move(waybills, 'key_2')
  receiver.milliseconds = 500
  addRelay({ leaseSeconds: 2 }).start()
  await waitUntil('the first request', () => receiver.requests > 0)
  await rows("update outbox_leases set holder = gen_random_uuid(), held_until = now() + interval '1 minute'")
  // Half of the lease is over after the second or third of six requests: the relay renews it then.
  await delay(4_000)
  t.ok(receiver.posts.length < 6)
  t.equal(await countWaiting(), 1)
})
