import { setTimeout as sleep } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { connectTo } from '../../../../dev/test-database.ts'
import { addTenant, createFixture, messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import type { Tx } from '../database/tables.ts'
import { acceptMessages } from '../messages/accept.ts'
import { toBatch } from '../messages/schema.ts'
import { claimMessages } from './claim.ts'
import type { ClaimedMessage } from './message.ts'
import { storeOutcomes } from './outcomes.ts'

const several = (count: number) =>
  Array.from({ length: count }, (_, index) => messageTo(`+9477${String(1_000_000 + index)}`))

const claiming = { room: 100, sendingSeconds: 30, recipientPauseSeconds: 0 }

t.test('a number sends while another transaction inserts a message for it', async t => {
  const { accept, rows, pool } = await createFixture(t)
  await inTenant(pool, 'demo', async (tx: Tx) => {
    await tx.client.query(`
      insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
      values ('demo', 'half-way', '${phoneNumberId}', '94770000102', '{}', 'held', now(), now() + interval '1 hour')`)
    await accept(messageTo('0770000101'))
    await until('accepted', async () => (await rows(`select from messages where status = 'accepted'`)).length, 3)
  })
  t.equal((await rows('select from messages')).length, 2)
})

t.test('a claim skips messages that another one locks or has claimed, and claims none without room', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  const [id] = await accept(messageTo('0770000101'))
  await inTenant(pool, 'demo', async (tx: Tx) => {
    await tx.client.query('select from messages for update')
    t.same((await claimMessages(pool, claiming)).messages, [])
  })
  t.match(await claimSome(() => claimMessages(pool, claiming)), [{ id, fence: /^\d+$/ }])
  t.same((await claimMessages(pool, claiming)).messages, [])
  t.match(await rows('select status, fence from messages'), [{ status: 'sending' }])
  await accept(messageTo('0770000102'))
  t.same((await claimMessages(pool, { ...claiming, room: 0 })).messages, [])
})

t.test('two tenants that claim one number keep their own opt-outs and pauses between messages', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  await addTenant(pool, 'other', '5', {})
  await rows(
    `update channels set phone_number_id = $1, proven_at = null, served_at = now() + interval '1 second'
    where tenant_id = 'other'`,
    [phoneNumberId],
  )
  await accept(messageTo('0770000101'), messageTo('0770000102'))
  await acceptMessages(pool, 'other', toBatch(messageTo('0770000101')))
  await acceptMessages(pool, 'other', toBatch(messageTo('0770000102')))
  await rows(`update conversations set opted_out_at = now() where tenant_id = 'demo' and recipient = '94770000101'`)
  await rows(`insert into recipients values ('other', $1, '94770000102', now() + interval '1 minute')`, [phoneNumberId])
  const { messages, blocked } = await claimMessages(pool, claiming)
  const named = messages.map(({ tenant, recipient }) => `${tenant} ${recipient}`)
  t.same(named.sort(), ['demo 94770000102', 'other 94770000101'])
  t.match(blocked, [{ message: { tenant: 'demo', recipient: '94770000101' }, reason: { kind: 'cancelled' } }])
})

t.test('messages that become due again and again while the API is slow are sent once', async t => {
  const { accept, rows, control, queue } = await createFixture(t, { isRunning: false, window: 8, sendSeconds: 60 })
  control.behave({ answer_latency_ms: 1_500 })
  await accept(...several(40))
  let isHurrying = true
  const hurry = async (): Promise<void> => {
    for (; isHurrying; await sleep(100))
      await rows(`update messages set due_at = now() where status = 'queued'`).catch(() => {})
  }
  const hurrying = hurry()
  t.teardown(() => {
    isHurrying = false
  })
  queue.start()
  await until(
    'all are accepted',
    async () => (await rows(`select from messages where status = 'accepted'`)).length === 40,
  )
  isHurrying = false
  await hurrying
  t.equal(control.messages({ limit: 500 }).length, 40)
})

t.test('an outcome stored twice counts its attempt once', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  await accept(messageTo('0770000101'))
  const [message] = await claimSome(() => claimMessages(pool, claiming))
  if (!message) return t.fail('not claimed')
  const outcome = { message, status: 'queued', code: 131016, meaning: 'down', isAttempt: true, dueSeconds: 60 } as const
  await storeOutcomes(pool, [outcome], 0)
  await storeOutcomes(pool, [outcome], 0)
  t.match(await rows('select status, attempts from messages'), [{ status: 'queued', attempts: 1 }])
})

const fates = {
  'is refused': 'create trigger die before update on messages',
  'is in doubt': 'create constraint trigger die after update on messages deferrable initially deferred',
}
for (const [fate, trigger] of Object.entries(fates))
  t.test(`a claim whose commit ${fate} while the database goes down sends each message once`, async t => {
    const { accept, rows, ownerUrl, queue, control } = await createFixture(t, { isRunning: false })
    const owner = await connectTo(t, ownerUrl)
    // Ends every connection of the notifier when the first message becomes `sending`, or at the commit; for a moment,
    // no connection can be opened.
    await owner.query(`
      create sequence deaths;
      grant all on sequence deaths to public;
      create function die() returns trigger language plpgsql as $$
      begin
        perform nextval('deaths'), pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and usename = current_user and pid <> pg_backend_pid();
        perform nextval('deaths'), pg_terminate_backend(pg_backend_pid());
        return new;
      end $$;
      ${trigger} for each row when (new.status = 'sending') execute function die()`)
    const { name } = (await owner.query('select quote_ident(current_database()) as name')).rows[0]
    control.behave({ answer_latency_ms: 800 })
    await accept(...several(20))
    queue.start()
    await owner.query(`alter database ${name} connection limit 0`)
    await until('claimed', async () => (await owner.query('select from deaths where is_called')).rows.length)
    await owner.query('drop trigger die on messages')
    await sleep(150)
    await owner.query(`alter database ${name} connection limit -1`)
    const accepted = `select from messages where status = 'accepted'`
    await until('all are accepted', async () => (await rows(accepted)).length === 20, 20)
    t.equal(control.messages({}).length, 20)
  })

t.test('queues messages again after a claim whose commit was in doubt but succeeded', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  await accept(...several(3))
  let committed: readonly ClaimedMessage[] = []
  const beforeCommit = (messages: readonly ClaimedMessage[]) => {
    committed = messages
  }
  await claimSome(() => claimMessages(pool, { ...claiming, beforeCommit }))
  const unwritten = { status: 'queued', isAttempt: false, dueSeconds: 0, isUnwritten: true } as const
  const outcomes = committed.map(message => ({ message, ...unwritten }))
  await storeOutcomes(pool, outcomes, 0)
  await storeOutcomes(pool, outcomes, 0)
  t.match(await rows('select distinct status, attempts from messages'), [{ status: 'queued', attempts: 0 }])
})

t.test('numbers with an exhausted rate crowd out no other, however little room there is', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  for (const [index, tenant] of ['a', 'b', 'c', 'd'].entries()) {
    await addTenant(pool, tenant, `10000000000000${index}`, {})
    await acceptMessages(pool, tenant, toBatch(messageTo('+94771000001')))
  }
  await accept(messageTo('0770000101'))
  await rows(`update channels set rate = 1, budget = 0, budget_at = now() + interval '1 hour',
    served_at = now() - interval '1 s'
    where tenant_id <> 'demo'`)
  await rows(`update channels set served_at = now() where tenant_id = 'demo'`)
  const claim = async () => (await claimMessages(pool, { ...claiming, room: 4 })).messages.length
  await until('the message is claimed', async () => (await claim()) === 1, 2)
})

t.test('sends one message to a person at a time', async t => {
  const { accept, rows, pool } = await createFixture(t, { isRunning: false })
  await accept(...Array.from({ length: 3 }, () => messageTo('0770000101')), messageTo('0770000102'))
  const apart = { ...claiming, recipientPauseSeconds: 6 }
  const dueAgain = () => rows(`update messages set due_at = now() where status = 'queued'`)
  const sending = await claimSome(() => claimMessages(pool, apart))
  t.same(sending.map(({ recipient }) => recipient).toSorted(), ['94770000101', '94770000102'])
  await dueAgain()
  t.equal((await claimMessages(pool, apart)).messages.length, 0)
  const unwritten = { status: 'queued', isAttempt: false, dueSeconds: 60, isUnwritten: true } as const
  const outcomes = sending.map(message => ({ message, ...unwritten }))
  await storeOutcomes(pool, outcomes, 6)
  await dueAgain()
  t.equal((await claimSome(() => claimMessages(pool, apart))).length, 2, 'an unwritten message costs no pause')
  await rows(`update recipients set next_send_at = now() + interval '1 minute'`)
  await storeOutcomes(pool, outcomes, 6)
  await dueAgain()
  t.equal(
    (await claimMessages(pool, apart)).messages.length,
    0,
    'a late outcome does not end the pause after another send',
  )
})

t.test('an outcome that Postgres refuses does not prevent the others from being stored', async t => {
  const fixture = await createFixture(t, { isRunning: false })
  const [bad] = await fixture.accept(...several(10))
  const send: typeof fixture.send = async message => {
    const outcome = await fixture.send(message)
    return message.id === bad ? { ...outcome, meaning: 'no text: \u0000' } : outcome
  }
  const queue = fixture.createQueue({ send, sendSeconds: 1 })
  t.teardown(() => queue.stop())
  queue.start()
  const settled = `select from messages where status = 'accepted' or (status = 'unknown' and message_id = $1)`
  await until('all are settled', async () => (await fixture.rows(settled, [bad])).length === 10)
  t.equal(fixture.control.messages().length, 10)
})

/** Retries, since the token bucket may need a moment to fill. */
const claimSome = async <T>(claim: () => Promise<{ messages: readonly T[] }>): Promise<readonly T[]> => {
  let claimed: readonly T[] = []
  await until('claimed', async () => {
    claimed = (await claim()).messages
    return claimed.length
  })
  return claimed
}
