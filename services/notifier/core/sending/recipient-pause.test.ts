import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFixture, messageTo, spawnWorker, until } from '../../test/fixture.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>

const people = (count: number) => Array.from({ length: count }, (_, person) => `9477${1_000_000 + person}`)
const several = (count: number, each: number) =>
  Array.from({ length: each }, () => people(count).map(person => messageTo(`+${person}`))).flat()

/** Returns the code of each send except a person's last, with the milliseconds until the next send to that person. */
const arrivals = ({ control }: Fixture, recipients: readonly string[]) => {
  const calls = control.calls(10_000).toReversed()
  return recipients.flatMap(recipient => {
    const sends = calls.filter(({ to }) => to === recipient)
    return sends.slice(1).map((next, index) => ({
      code: sends[index]?.code,
      gap: Date.parse(next.at) - Date.parse(sends[index]?.at ?? ''),
    }))
  })
}

const deadlocks = async ({ rows }: Fixture): Promise<number> =>
  Number((await rows('select deadlocks from pg_stat_database where datname = current_database()'))[0].deadlocks)

t.test('two queues, one of them slow, keep the pause between two messages to a person at the API', async t => {
  const recipientPauseSeconds = 0.4
  const fixture = await createFixture(t, { isRunning: false, recipientPauseSeconds })
  const slow = fixture.createQueue({ send: message => sleep(Math.random() * 300).then(() => fixture.send(message)) })
  t.teardown(() => slow.stop())
  await fixture.accept(...several(8, 5))
  slow.start()
  fixture.queue.start()
  await until('all are accepted', async () => fixture.control.messages().length === 40, 30)
  const gaps = arrivals(fixture, people(8)).map(({ gap }) => gap)
  t.equal(gaps.length, 32)
  t.comment(`${Math.min(...gaps)} ms to ${Math.max(...gaps)} ms`)
  t.ok(Math.min(...gaps) >= recipientPauseSeconds * 1_000, `${Math.min(...gaps)} ms apart`)
})

t.test('a person over the limit gets nothing for as long as the API asks, and nothing deadlocks', async t => {
  const fixture = await createFixture(t, { isRunning: false, recipientPauseSeconds: 0.02 })
  const { control } = fixture
  const worker = await spawnWorker(t, fixture, { PAIR_SECONDS: '0.02' })
  const refusing = setInterval(() => {
    const { ok = 0, 131056: refused = 0 } = control.summary().calls
    if (refused * 2 < ok) control.script({ times: 1, trouble: { kind: 'error', code: 131056 } })
  }, 2)
  t.teardown(() => clearInterval(refusing))
  fixture.queue.start()
  for (let round = 0; round < 5; round++) {
    await fixture.accept(...several(40, 3))
    await sleep(500)
  }
  clearInterval(refusing)
  await worker.stop()
  await fixture.queue.stop()
  const gaps = arrivals(fixture, people(40))
  const pauses = gaps.filter(({ code }) => code === 131056).map(({ gap }) => gap)
  t.comment(`${gaps.length} gaps, ${pauses.length} pauses, ${Math.min(...pauses)} ms`)
  t.equal(pauses.filter(gap => gap < 1_000).length, 0, 'no pause was lost')
  t.equal(await deadlocks(fixture), 0)
})

t.test('a process that dies while it sends to a person delays nobody else', async t => {
  const fixture = await createFixture(t, { isRunning: false, recipientPauseSeconds: 0.1, sendSeconds: 1 })
  fixture.control.behave({ answer_latency_ms: 3_000 })
  await fixture.accept(messageTo('0770000101'))
  const worker = await spawnWorker(t, fixture, { PAIR_SECONDS: '0.1', SEND_SECONDS: '1' })
  await until('the message is sent', async () => fixture.control.calls().length === 2)
  await worker.kill()
  fixture.control.behave({ answer_latency_ms: 0 })
  const [same] = await fixture.accept(messageTo('0770000101'))
  const [other] = await fixture.accept(messageTo('0770000102'))
  fixture.queue.start()
  const accepted = (id: string | undefined) => async () =>
    (await fixture.rows(`select from messages where message_id = $1 and status = 'accepted'`, [id])).length
  await until('the other one is accepted', accepted(other), 1.5)
  t.notOk(await accepted(same)(), 'the first one may still arrive')
  await until('the message to the same person is accepted', accepted(same), 6)
})

t.test('a request without a response holds back the next message to the person, since it may still arrive', async t => {
  const fixture = await createFixture(t, { isRunning: false, recipientPauseSeconds: 0.1, sendSeconds: 1.5 })
  fixture.control.script({ call: 'messages', times: 1, trouble: { kind: 'lost', accepted: false } })
  const [lost] = await fixture.accept(messageTo('0770000103'))
  fixture.queue.start()
  const has = (id: string | undefined, status: string) => async () =>
    (await fixture.rows('select from messages where message_id = $1 and status = $2', [id, status])).length
  await until('the outcome is unknown', has(lost, 'unknown'))
  const [same] = await fixture.accept(messageTo('0770000103'))
  const [other] = await fixture.accept(messageTo('0770000104'))
  await until('the other one is accepted', has(other, 'accepted'), 1.5)
  t.notOk(await has(same, 'accepted')())
  await until('the message to the same person is accepted', has(same, 'accepted'), 6)
})
