import { setTimeout as delay } from 'node:timers/promises'
import { maxEventsPerRequest, type OrderEvent } from '@courier/shared/contract/order-events.ts'
import t from 'tap'
import { startReceiver, waitUntil } from '../../test/receiver.ts'
import { startRelayFixture } from '../../test/relay-fixture.ts'
import { toParts, toSlices } from './events.ts'

t.test('an entry ends with the slice that has its last event', async t => {
  const makeEntry = (id: string, events: number) => ({
    id,
    key: id,
    type: 'order.created' as const,
    waybills: Array.from({ length: events }, (_, index) => `${id}${index}`),
    statusKeys: Array.from({ length: events }, () => 'key_1'),
    note: null,
    happenedAt: new Date(),
    traceparents: [],
  })
  const cut = (...sizes: number[]) =>
    toSlices(
      sizes.map((events, index) => makeEntry('abcdef'[index] ?? '', events)),
      3,
    ).map(({ updates, finishedEntryIds }) => [
      updates.map(({ waybill }) => waybill).join(' '),
      finishedEntryIds.join(''),
    ])
  t.strictSame(cut(1, 1, 2, 1), [
    ['a0 b0 c0', 'ab'],
    ['c1 d0', 'cd'],
  ])
  t.strictSame(cut(3, 7), [
    ['a0 a1 a2', 'a'],
    ['b0 b1 b2', ''],
    ['b3 b4 b5', ''],
    ['b6', 'b'],
  ])
  t.strictSame(cut(0, 3, 0), [['b0 b1 b2', 'abc']])
  t.strictSame(cut(0), [['', 'a']])
})

t.test('events are cut in their order until each part is small enough, or one event', async t => {
  const events = ['a', 'b', 'c', 'd', 'e'].map(id => ({ id, filler: 'x'.repeat(100) }) as unknown as OrderEvent)
  const cut = (maxBytes: number) => toParts(events, maxBytes).map(part => part.map(({ id }) => id).join(''))
  const bytes = Buffer.byteLength(JSON.stringify(events))
  t.strictSame(cut(bytes), ['abcde'])
  t.strictSame(cut(bytes - 1), ['abc', 'de'])
  t.strictSame(cut(300), ['ab', 'c', 'de'])
  t.strictSame(cut(1), ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(toParts([], 1), [[]])
})

t.test('a notifier that was down gets every event once when it is back', async t => {
  const { app, relay, receiver, book, move, countWaiting } = await startRelayFixture(t)
  await receiver.close()
  relay.start()
  const waybills = await book(3)
  await move(waybills, 'key_2')
  const failed = async () => /^outbox_posts_failed_total\{.* [1-9]/m.test((await app.inject('/metrics')).body)
  await waitUntil('a request failed', failed)
  t.equal(await countWaiting(), 2)
  const back = await startReceiver(t, Number(new URL(receiver.url).port))
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0, 60)
  const delivered = back.posts.flatMap(({ events }) =>
    events.map(({ order }) => `${order.waybill_number} ${order.status_key}`),
  )
  t.strictSame(delivered, [
    ...waybills.map(waybill => `${waybill} key_1`),
    ...waybills.map(waybill => `${waybill} key_2`),
  ])
})

t.test('after a lost response the same events are delivered again under the same ids', async t => {
  const { relay, receiver, book, countWaiting } = await startRelayFixture(t)
  receiver.react = () => (receiver.posts.length === 0 ? 'lose' : 'acknowledge')
  relay.start()
  await book(3)
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  t.equal(receiver.posts.length, 2)
  t.strictSame(receiver.posts[0], receiver.posts[1])
  t.equal(receiver.events.size, 3)
})

t.test(
  'refused events stay, are retried less and less often by all processes, and are logged without their content',
  async t => {
    const { receiver, book, countWaiting, addRelay } = await startRelayFixture(t)
    const lines: unknown[][] = []
    const logger = { info() {}, error() {}, warn: (...line: unknown[]) => void lines.push(line) } as never
    const relays = [addRelay({ logger }), addRelay({ logger })]
    const responses = [500, 401, 422, 404, 204]
    receiver.react = () => responses[receiver.requests - 1] ?? 503
    for (const relay of relays) relay.start()
    await book(2)
    await waitUntil('five requests', () => lines.length >= 5, 60)
    t.ok(receiver.requests <= 6)
    t.equal(await countWaiting(), 1)
    t.strictSame(
      lines.slice(0, 5).map(([line, name]) => [name, (line as { status: number }).status]),
      responses.map(status => ['outbox.refused', status]),
    )
    t.notMatch(JSON.stringify(lines), /Nimali|0770000101|a-service-token/)
    receiver.react = () => 'acknowledge'
    await waitUntil('all events are delivered', async () => (await countWaiting()) === 0, 60)
    t.equal(receiver.events.size, 2)
  },
)

t.test('a 200 without an acknowledgement acknowledges nothing', async t => {
  const { relay, receiver, book, countWaiting } = await startRelayFixture(t)
  receiver.react = () => 200
  relay.start()
  await book(1)
  await waitUntil('two requests', () => receiver.requests >= 2)
  t.equal(await countWaiting(), 1)
})

t.test("one tenant's failures do not delay another tenant's events", async t => {
  const { relay, receiver, book, addTenant, rows } = await startRelayFixture(t)
  const failing = await Promise.all(['ta', 'tb', 'tc', 'td', 'te'].map(addTenant))
  const kinds = [500, 'hang', 422, 'hang', 401] as const
  receiver.react = ({ tenant }) => kinds[failing.findIndex(options => options.tenant === tenant)] ?? 'acknowledge'
  relay.start()
  for (const options of failing) await book(1, options)
  for (let round = 0; round < 10; round++) {
    await book(1)
    await delay(100)
  }
  await waitUntil('the events of the other tenant are delivered', () => receiver.events.size === 10)
  t.strictSame(await rows('select distinct tenant_id from outbox order by 1'), [
    ...failing.map(({ tenant }) => ({ tenant_id: tenant })),
  ])
})

t.test('a partly delivered large entry is delivered again from its start under the same ids', async t => {
  const { relay, receiver, book, countWaiting } = await startRelayFixture(t)
  receiver.react = () => (receiver.requests === 2 ? 500 : 'acknowledge')
  relay.start()
  await book(1000)
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  t.strictSame(
    receiver.posts.map(({ events }) => events.length),
    [maxEventsPerRequest, maxEventsPerRequest, maxEventsPerRequest],
  )
  t.strictSame(receiver.posts[0], receiver.posts[1])
  t.equal(receiver.events.size, 1000)
})

t.test('booking is as fast with a notifier that hangs as without one', async t => {
  const { relay, receiver, book } = await startRelayFixture(t)
  const time = async (): Promise<number> => {
    const started = performance.now()
    for (let round = 0; round < 30; round++) await book(20)
    return performance.now() - started
  }
  await time()
  const alone = await time()
  receiver.react = () => 'hang'
  relay.start()
  await waitUntil('a request', () => receiver.requests > 0)
  const beside = await time()
  t.ok(beside < alone * 4 + 1_000, `${Math.round(beside)} ms beside ${Math.round(alone)} ms`)
})

t.test('while a tenant backs off, its new orders cause no poll of the outbox', async t => {
  const { relay, receiver, book, pool } = await startRelayFixture(t)
  let uses = 0
  pool.on('acquire', () => uses++)
  receiver.react = () => 500
  relay.start()
  await book(1)
  await waitUntil('the fourth attempt', () => receiver.requests === 4)
  // The back-off is now 2 s at least.
  uses = 0
  const started = performance.now()
  for (let bookings = 0; bookings < 100; bookings++) await book(40)
  const polls = Math.ceil((performance.now() - started) / 1_000)
  // A booking reads and writes.
  t.ok(uses <= 220 + polls, `${uses} connections used for 100 bookings and ${polls} polls`)
})

t.test('the metrics show depth, age, delivered events and failed requests', async t => {
  const { app, relay, receiver, book, rows, countWaiting } = await startRelayFixture(t)
  const metrics = async (): Promise<Record<string, number>> => {
    const { body } = await app.inject('/metrics')
    return Object.fromEntries(
      [...body.matchAll(/^(outbox_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
    )
  }
  t.match(await metrics(), { outbox_depth: 0, outbox_age_seconds: 0, outbox_events_delivered_total: 0 })
  await book(3)
  await book(1)
  await rows("update outbox set happened_at = happened_at - interval '1 hour'")
  const waiting = await metrics()
  t.equal(waiting.outbox_depth, 2)
  t.ok(Math.abs((waiting.outbox_age_seconds ?? 0) - 3_600) < 60)
  receiver.react = () => (receiver.requests === 1 ? 500 : 'acknowledge')
  relay.start()
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  t.match(await metrics(), {
    outbox_depth: 0,
    outbox_events_delivered_total: 4,
    'outbox_posts_failed_total{kind="refused"}': 1,
  })
})
