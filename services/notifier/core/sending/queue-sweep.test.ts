import t from 'tap'
import { messageTo, until } from '../../test/fixture.ts'
import { tenantFixture } from '../../test/tenant-fixture.ts'
import { sweep } from './sweep.ts'

const quiet = { isRunning: false }

t.test('a message that stays in sending beyond its time becomes unknown, with one timeline event', async t => {
  const { accept, rows, pool } = await tenantFixture(t, quiet)
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

t.test('an unknown message stays unknown after its time, unless the tenant’s setting resends it', async t => {
  const { accept, rows, pool } = await tenantFixture(t, quiet)
  await accept(messageTo('0770000101'))
  await rows(`update messages set status = 'unknown', due_at = now()`)
  await sweep(pool)
  t.match(await rows(`select status, due_at = 'infinity' as settled from messages`), [
    { status: 'unknown', settled: true },
  ])
  t.same(await sweep(pool), { overdue: 0, resent: 0, expired: 0 })
})

t.test("with the tenant's setting, an unknown message is resent only once", async t => {
  const { accept, rows, control, queue } = await tenantFixture(t, { resendsUnknown: true })
  control.script({ times: null, trouble: { kind: 'lost', accepted: false } })
  await accept(messageTo('0770000101'))
  const unknown = async () =>
    (await rows(`select from messages where status = 'unknown' and due_at < 'infinity'`)).length
  await until('unknown', unknown)
  await rows('update messages set due_at = now()')
  await until(
    'sent again',
    async () => (await rows(`select from message_events where detail like 'sent again automatically%'`)).length,
  )
  await until('unknown again', unknown)
  await rows('update messages set due_at = now()')
  await until('left to staff', async () => (await rows(`select from messages where due_at = 'infinity'`)).length)
  queue.wake()
  t.equal(control.calls().length, 3, 'register and two sends')
})

t.test('the setting does not resend an unknown message if a later one about its parcel has left', async t => {
  const { accept, rows, pool } = await tenantFixture(t, { ...quiet, resendsUnknown: true })
  const about = (waybill_number: string) => messageTo('0770000101', { waybill_number })
  const [first] = await accept(about('DM1'))
  const [second, , other] = [...(await accept(about('DM1'))), ...(await accept(about('DM2'), about('DM2')))]
  await rows(
    `update messages set status = case message_id when $1 then 'sent' else 'unknown' end, due_at = now()
    where message_id = any($2)`,
    [second, [first, second, other]],
  )
  t.match(await sweep(pool), { resent: 1 })
  t.same(await rows(`select message_id from messages where resent_at is not null`), [{ message_id: other }])
})

t.test(
  'the setting does not resend an unknown message whose order was edited or which a later event supersedes',
  async t => {
    const { accept, rows, pool } = await tenantFixture(t, { ...quiet, resendsUnknown: true })
    await accept(messageTo('0770000101', { waybill_number: 'DM1' }))
    await rows(`update messages set status = 'unknown', superseded_by = 'superseded by key_13', due_at = now()`)
    t.match(await sweep(pool), { resent: 0 })
    t.match(await rows(`select status, due_at = 'infinity' as settled from messages`), [
      { status: 'unknown', settled: true },
    ])
    t.same(await rows(`select from message_events where detail like 'sent again%'`), [])
  },
)

t.test('a message not sent within a day expires, even when held, and is never sent', async t => {
  const { accept, rows, control, queue } = await tenantFixture(t, quiet)
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
