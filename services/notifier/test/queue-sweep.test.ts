import t from 'tap'
import { sweep } from '../messages/sweep.ts'
import { messageTo, stage, until } from './stage.ts'

const quiet = { isRunning: false }

t.test('a message that is sending beyond its time is in doubt, and told so once', async t => {
  const { accept, rows, pool } = await stage(t, quiet)
  await accept(messageTo('0770000101'), messageTo('0770000102'))
  await rows(`update messages set status = 'sending', due_at = now() - interval '1 s'`)
  const swept = await Promise.all([sweep(pool), sweep(pool)])
  t.equal(swept[0].overdue + swept[1].overdue, 2)
  t.match(await rows(`select status, due_at - now() > interval '9 minutes' as waits from messages`), [
    { status: 'unknown', waits: true },
    { status: 'unknown', waits: true },
  ])
  t.equal((await rows(`select from message_events where status = 'unknown'`)).length, 2)
})

t.test('a message in doubt stays so after its time, unless the tenant asked for sending it again', async t => {
  const { accept, rows, pool } = await stage(t, quiet)
  await accept(messageTo('0770000101'))
  await rows(`update messages set status = 'unknown', due_at = now()`)
  await sweep(pool)
  t.match(await rows(`select status, due_at = 'infinity' as settled from messages`), [
    { status: 'unknown', settled: true },
  ])
  t.same(await sweep(pool), { overdue: 0, resent: 0, expired: 0 })
})

t.test('for a tenant that asked for it, a message in doubt is sent again once and no more', async t => {
  const { accept, rows, control, queue } = await stage(t, { resendsUnknown: true })
  control.script({ times: null, trouble: { kind: 'lost', accepted: false } })
  await accept(messageTo('0770000101'))
  const unknown = async () =>
    (await rows(`select from messages where status = 'unknown' and due_at < 'infinity'`)).length
  await until('in doubt', unknown)
  await rows('update messages set due_at = now()')
  await until(
    'sent again',
    async () => (await rows(`select from message_events where detail like 'sent again by itself%'`)).length,
  )
  await until('in doubt again', unknown)
  await rows('update messages set due_at = now()')
  await until('left to staff', async () => (await rows(`select from messages where due_at = 'infinity'`)).length)
  queue.wake()
  t.equal(control.calls().length, 3, 'register and two sends')
})

t.test('what has not left in a day expires, also when it is held, and is never sent', async t => {
  const { accept, rows, control, queue } = await stage(t, quiet)
  await accept(messageTo('0770000101'), messageTo('0770000102'), messageTo('0770000103'))
  await rows(`update messages set expires_at = now(), due_at = now() where recipient <> '94770000103'`)
  await rows(`update messages set status = 'held' where recipient = '94770000102'`)
  queue.start()
  await until('expired', async () => (await rows(`select from messages where status = 'expired'`)).length === 2)
  await until(
    'the third is accepted',
    async () => (await rows(`select from messages where status = 'accepted'`)).length,
  )
  t.equal(control.messages().length, 1)
})
