import { setTimeout as delay } from 'node:timers/promises'
import { maxEventsPerCall, type OrderEvent } from '@courier/shared/order-facts.ts'
import t from 'tap'
import { partsOf, slicesOf } from '../outbox/events.ts'
import { pauseAfter } from '../outbox/pause.ts'
import { stageOutbox } from './outbox-stage.ts'
import { startReceiver, waitUntil } from './receiver.ts'

t.test('pauses double from half a second to half a minute; chance takes off at most half', async t => {
  const failures = [1, 2, 3, 4, 5, 6, 7, 8, 2_000]
  const longest = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
  t.strictSame(
    failures.map(count => pauseAfter(count, () => 0)),
    longest,
  )
  t.strictSame(
    failures.map(count => pauseAfter(count, () => 1)),
    longest.map(milliseconds => milliseconds / 2),
  )
})

t.test('a row ends with the slice that has its last event', async t => {
  const row = (id: string, events: number) => ({
    id,
    key: id,
    type: 'order.created' as const,
    waybills: Array.from({ length: events }, (_, index) => `${id}${index}`),
    statusKeys: Array.from({ length: events }, () => 'key_1'),
    note: null,
    happenedAt: new Date(),
  })
  const cut = (...sizes: number[]) =>
    slicesOf(
      sizes.map((events, index) => row('abcdef'[index] ?? '', events)),
      3,
    ).map(({ happenings, endedRowIds }) => [happenings.map(({ waybill }) => waybill).join(' '), endedRowIds.join('')])
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
  const cut = (maxBytes: number) => partsOf(events, maxBytes).map(part => part.map(({ id }) => id).join(''))
  const bytes = Buffer.byteLength(JSON.stringify(events))
  t.strictSame(cut(bytes), ['abcde'])
  t.strictSame(cut(bytes - 1), ['abc', 'de'])
  t.strictSame(cut(300), ['ab', 'c', 'de'])
  t.strictSame(cut(1), ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(partsOf([], 1), [[]])
})

t.test('a notifier that was away gets every event once when it is back', async t => {
  const { relay, receiver, book, move, depth } = await stageOutbox(t)
  await receiver.close()
  relay.start()
  const waybills = await book(3)
  await move(waybills, 'key_2')
  await delay(1_500)
  t.equal(await depth(), 2)
  const back = await startReceiver(t, Number(new URL(receiver.url).port))
  await waitUntil('all are told', async () => (await depth()) === 0, 60)
  const told = back.posts.flatMap(({ events }) =>
    events.map(({ order }) => `${order.waybill_number} ${order.status_key}`),
  )
  t.strictSame(told, [...waybills.map(waybill => `${waybill} key_1`), ...waybills.map(waybill => `${waybill} key_2`)])
})

t.test('an answer that was lost: the same events come again under the same ids', async t => {
  const { relay, receiver, book, depth } = await stageOutbox(t)
  receiver.react = () => (receiver.posts.length === 0 ? 'lose' : 'take')
  relay.start()
  await book(3)
  await waitUntil('all are told', async () => (await depth()) === 0)
  t.equal(receiver.posts.length, 2)
  t.strictSame(receiver.posts[0], receiver.posts[1])
  t.equal(receiver.taken.size, 3)
})

t.test('what is refused is kept, tried less and less often, and told in the log without a word of it', async t => {
  const { receiver, book, depth, addRelay } = await stageOutbox(t)
  const facts: unknown[][] = []
  const logger = { info() {}, error() {}, warn: (...line: unknown[]) => void facts.push(line) } as never
  const relay = addRelay({ logger })
  const answers = [500, 401, 422, 404, 204]
  receiver.react = () => answers[receiver.calls - 1] ?? 503
  relay.start()
  await book(2)
  await waitUntil('five calls', () => facts.length >= 5, 60)
  t.ok(receiver.calls <= 6)
  t.equal(await depth(), 1)
  t.strictSame(
    facts.slice(0, 5).map(([fact, name]) => [name, (fact as { status: number }).status]),
    answers.map(status => ['outbox.refused', status]),
  )
  t.notMatch(JSON.stringify(facts), /Nimali|0770000101|a-service-token/)
  receiver.react = () => 'take'
  await waitUntil('all are told', async () => (await depth()) === 0, 60)
  t.equal(receiver.taken.size, 2)
})

t.test('an address that answers 200 to everything takes nothing', async t => {
  const { relay, receiver, book, depth } = await stageOutbox(t)
  receiver.react = () => 200
  relay.start()
  await book(1)
  await waitUntil('two calls', () => receiver.calls >= 2)
  t.equal(await depth(), 1)
})

t.test("one tenant's trouble does not keep another one's events", async t => {
  const { relay, receiver, book, addTenant, rows } = await stageOutbox(t)
  const troubled = await Promise.all(['ta', 'tb', 'tc', 'td', 'te'].map(addTenant))
  const kinds = [500, 'hang', 422, 'hang', 401] as const
  receiver.react = ({ tenant }) => kinds[troubled.findIndex(options => options.tenant === tenant)] ?? 'take'
  relay.start()
  for (const options of troubled) await book(1, options)
  for (let turn = 0; turn < 10; turn++) {
    await book(1)
    await delay(100)
  }
  await waitUntil('those of the other are told', () => receiver.taken.size === 10)
  t.strictSame(await rows('select distinct tenant_id from outbox order by 1'), [
    ...troubled.map(({ tenant }) => ({ tenant_id: tenant })),
  ])
})

t.test('a large row that was told in part goes on from its beginning, repeated under the same ids', async t => {
  const { relay, receiver, book, depth } = await stageOutbox(t)
  receiver.react = () => (receiver.calls === 2 ? 500 : 'take')
  relay.start()
  await book(1000)
  await waitUntil('all are told', async () => (await depth()) === 0)
  t.strictSame(
    receiver.posts.map(({ events }) => events.length),
    [maxEventsPerCall, maxEventsPerCall, maxEventsPerCall],
  )
  t.strictSame(receiver.posts[0], receiver.posts[1])
  t.equal(receiver.taken.size, 1000)
})

t.test('booking is as fast with a notifier that hangs as without one', async t => {
  const { relay, receiver, book } = await stageOutbox(t)
  const time = async (): Promise<number> => {
    const started = performance.now()
    for (let turn = 0; turn < 30; turn++) await book(20)
    return performance.now() - started
  }
  await time()
  const alone = await time()
  receiver.react = () => 'hang'
  relay.start()
  await waitUntil('a call', () => receiver.calls > 0)
  const beside = await time()
  t.ok(beside < alone * 4 + 1_000, `${Math.round(beside)} ms beside ${Math.round(alone)} ms`)
})

t.test('while a tenant waits for its next try, its new orders cost no look at the outbox', async t => {
  const { relay, receiver, book, pool } = await stageOutbox(t)
  let uses = 0
  pool.on('acquire', () => uses++)
  receiver.react = () => 500
  relay.start()
  await book(1)
  await waitUntil('the fourth try', () => receiver.calls === 4)
  // The pause is now 2 s at least.
  uses = 0
  const started = performance.now()
  for (let bookings = 0; bookings < 100; bookings++) await book(40)
  const polls = Math.ceil((performance.now() - started) / 1_000)
  t.ok(uses <= 105 + polls, `${uses} connections used for 100 bookings and ${polls} polls`)
})

t.test('the figures tell depth, age and what became of the calls', async t => {
  const { app, relay, receiver, book, rows, depth } = await stageOutbox(t)
  const figures = async (): Promise<Record<string, number>> => {
    const { body } = await app.inject('/metrics')
    return Object.fromEntries(
      [...body.matchAll(/^(outbox_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
    )
  }
  t.match(await figures(), { outbox_depth: 0, outbox_age_seconds: 0, outbox_events_delivered_total: 0 })
  await book(3)
  await book(1)
  await rows("update outbox set happened_at = happened_at - interval '1 hour'")
  const waiting = await figures()
  t.equal(waiting.outbox_depth, 2)
  t.ok(Math.abs((waiting.outbox_age_seconds ?? 0) - 3_600) < 60)
  receiver.react = () => (receiver.calls === 1 ? 500 : 'take')
  relay.start()
  await waitUntil('all are told', async () => (await depth()) === 0)
  t.match(await figures(), {
    outbox_depth: 0,
    outbox_events_delivered_total: 4,
    'outbox_posts_failed_total{kind="refused"}': 1,
  })
})
