import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFixture, messageTo, spawnWorker, until } from './test/fixture.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>

const several = (count: number) =>
  Array.from({ length: count }, (_, index) => messageTo(`+9477${String(1_000_000 + index)}`))

const count = async ({ rows }: Fixture, statuses: string): Promise<number> =>
  (await rows(`select count(*)::int from messages where status = any('{${statuses}}')`))[0].count

/** Counts how often the simulator accepted each message, by our id. */
const countAccepted = ({ control }: Fixture): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { biz_opaque_callback_data: id } of control.messages({ limit: 50_000 }))
    counts.set(`${id}`, (counts.get(`${id}`) ?? 0) + 1)
  return counts
}

/** Checks that every message was accepted exactly once, or is unknown and was accepted at most once. */
const nothingLostNothingDoubled = async (t: Tap, fixture: Fixture, ids: string[]) => {
  const counts = countAccepted(fixture)
  const rows = await fixture.rows('select message_id, status, provider_message_id from messages')
  t.equal(rows.length, ids.length)
  t.same(
    ids.filter(id => (counts.get(id) ?? 0) > 1),
    [],
    'no message was accepted twice',
  )
  const lost = rows.filter(row => row.status === 'accepted' && counts.get(row.message_id) !== 1)
  t.same(lost, [], 'the API has each accepted message')
  t.same(
    rows.filter(row => !['accepted', 'unknown'].includes(row.status)),
    [],
    'no message is stuck',
  )
}
type Tap = Pick<typeof t, 'equal' | 'same' | 'ok'>

t.test(
  'after a kill while sends wait for responses, another process continues, and nothing is lost or doubled',
  async t => {
    const fixture = await createFixture(t, { isRunning: false })
    const ids = await fixture.accept(...several(300))
    fixture.control.behave({ answer_latency_ms: 400 })
    const environment = { WINDOW: '24', SEND_SECONDS: '4' }
    for (let round = 0; round < 2; round++) {
      const worker = await spawnWorker(t, fixture, environment)
      await until('some are sending', () => count(fixture, 'sending'))
      await sleep(200 + Math.random() * 250)
      await worker.kill()
    }
    fixture.control.behave({ answer_latency_ms: 0 })
    const queued = await count(fixture, 'queued')
    await spawnWorker(t, fixture, environment)
    await until('another process continues', async () => (await count(fixture, 'queued')) < queued, 20)
    await until('all are settled', async () => (await count(fixture, 'queued,sending')) === 0, 40)
    await nothingLostNothingDoubled(t, fixture, ids)
  },
)

t.test('after a kill while the API hangs, another process sends each message whose sending had not begun', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  // The responses hang: the window is full, and nothing is claimed ahead.
  fixture.control.behave({ answer_latency_ms: 60_000 })
  const ids = await fixture.accept(...several(100))
  const worker = await spawnWorker(t, fixture, { WINDOW: '16', SEND_SECONDS: '4' })
  await until('the window is full', async () => (await count(fixture, 'sending')) === 16)
  await sleep(100)
  await worker.kill()
  fixture.control.behave({ answer_latency_ms: 0 })
  await spawnWorker(t, fixture, { SEND_SECONDS: '4' })
  await until('all are settled', async () => (await count(fixture, 'queued,sending')) === 0, 20)
  await nothingLostNothingDoubled(t, fixture, ids)
  t.equal(await count(fixture, 'unknown'), 16, 'the written messages are unknown')
  t.equal(await count(fixture, 'accepted'), 84)
})

t.test('a process that wakes after its claims and sends have ended changes nothing', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  fixture.control.behave({ answer_latency_ms: 200 })
  const ids = await fixture.accept(...several(200))
  const worker = await spawnWorker(t, fixture, { WINDOW: '16', SEND_SECONDS: '2' })
  await until('some are accepted', async () => (await count(fixture, 'accepted')) > 20)
  worker.pause()
  await spawnWorker(t, fixture, { SEND_SECONDS: '2' })
  await until('all are settled', async () => (await count(fixture, 'queued,sending')) === 0, 20)
  worker.resume()
  await sleep(1_500)
  await nothingLostNothingDoubled(t, fixture, ids)
  t.comment({ unknown: await count(fixture, 'unknown'), accepted: await count(fixture, 'accepted') })
})

t.test('two workers share the work and send nothing twice', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  fixture.control.behave({ answer_latency_ms: 5 })
  const ids = await fixture.accept(...several(400))
  const workers = [await spawnWorker(t, fixture), await spawnWorker(t, fixture)]
  await until('all are accepted', async () => (await count(fixture, 'accepted')) === 400)
  await nothingLostNothingDoubled(t, fixture, ids)
  t.equal(countAccepted(fixture).size, 400)
  for (const worker of workers) await worker.stop()
})

t.test('a stopped worker leaves no message unknown', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  fixture.control.behave({ answer_latency_ms: 100 })
  await fixture.accept(...several(150))
  const worker = await spawnWorker(t, fixture, { WINDOW: '32' })
  await until('some are sending', () => count(fixture, 'sending'))
  await worker.stop()
  t.equal(await count(fixture, 'sending,unknown'), 0)
  const waiting = await fixture.rows(`select 1 from messages where status = 'queued' and due_at > now()`)
  t.equal(waiting.length, 0, 'claimed messages that were not written are queued again')
})
