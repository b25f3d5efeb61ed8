import t from 'tap'
import { messageTo, until } from './test/fixture.ts'
import { build } from './test/portal.ts'

const names = /^((?:messages|channels|sends)_\S+) (\S+)$/gm

t.test('a message whose sends fail is late since the first failure, until it is deferred', async t => {
  const { app, call, queue, rows, control } = await build(t)
  const readLate = async () => Number(/^messages_late_seconds (\S+)$/m.exec((await app.inject('/metrics')).body)?.[1])
  control.script({ times: 1, trouble: { kind: 'error', code: 131016 } })
  await call('POST', '/api/messages', messageTo('0770000101'))
  queue.start()
  await until('the send is retried', async () => (await rows('select from messages where attempts = 1')).length === 1)
  await queue.stop()
  await rows(`update messages set failing_since = failing_since - interval '1 hour',
    due_at = due_at + interval '1 hour', retry_at = retry_at + interval '1 hour'`)
  t.ok(Math.abs((await readLate()) - 3_600) < 60, 'it has failed for an hour, although its next send is not due')
  await rows(`update messages set due_at = due_at + interval '8 hours'`)
  t.equal(await readLate(), 0, 'it waits for its hours')
})

t.test('the metrics show the backlog, unknown messages, paused channels and the outcomes of sends', async t => {
  const { app, call, queue, rows, control } = await build(t)
  const metrics = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...(await app.inject('/metrics')).body.matchAll(names)].map(([, name, value]) => [name, Number(value)]),
    )
  const nothing = { messages_queued: 0, messages_held: 0, messages_unknown: 0, messages_late_seconds: 0 }
  t.same(await metrics(), { ...nothing, channels_paused: 0, channels_without_statuses: 0 })

  await rows(`update channels set state = 'paused'`)
  const post = async (to: string) => (await call('POST', '/api/messages', messageTo(to))).body.data.id as string
  const first = await post('0770000101')
  await post('0770000102')
  await rows(`update messages set due_at = now() - interval '1 hour' where message_id = '${first}'`)
  const waiting = await metrics()
  t.match(waiting, { messages_queued: 2, channels_paused: 1 })
  t.ok(Math.abs((waiting.messages_late_seconds ?? 0) - 3_600) < 60, 'the oldest is an hour late')

  control.script({ times: 1, trouble: { kind: 'lost', accepted: true } })
  await rows(`update channels set state = 'active'`)
  queue.start()
  const statuses = async () => (await rows('select status from messages order by status')).map(row => row.status)
  await until('both are sent', async () => (await statuses()).join() === 'accepted,unknown')
  t.match(await metrics(), {
    ...nothing,
    messages_unknown: 1,
    channels_paused: 0,
    'sends_total{status="accepted"}': 1,
    'sends_total{status="unknown"}': 1,
  })
})
