import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { root } from '../../dev/settings.ts'
import { shiftClock } from '../../dev/shift-clock.ts'
import { recordInbound } from './core/conversations/queries.ts'
import type { Tx } from './core/database/tables.ts'
import { createFixture, messageTo, phoneNumberId, spawnWorker, until } from './test/fixture.ts'
import { createFixture as createWebhooks, envelope, inbound } from './test/webhooks-fixture.ts'

/** Returns the time of day `hours` hours from now, in UTC. */
const clockIn = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)

/** Starts a worker whose clock is wrong by `hours` hours. */
const spawn = (t: Test, fixture: Parameters<typeof spawnWorker>[1], hours: number) =>
  spawnWorker(t, fixture, { NODE_OPTIONS: `--import ${root}/dev/wrong-clock.ts`, CLOCK_IS_WRONG_BY: String(hours) })

for (const hours of [-30, 30])
  t.test(`a process whose clock is wrong by ${hours} hours sends and retries by the clock of Postgres`, async t => {
    const fixture = await createFixture(t, { isRunning: false, plan: 'free' })
    const { accept, rows, pool, control } = fixture
    const wrote = (recipient: string) => ({ tenant: 'demo', phoneNumberId, recipient })
    const people = ['94770000101', '94770000102', '94770000104'].map(wrote)
    await inTenant(pool, 'demo', (tx: Tx) =>
      recordInbound(
        tx,
        people.map(person => ({ ...person, at: null })),
      ),
    )
    const [sent] = await accept(messageTo('0770000101'))
    const [retried] = await accept(messageTo('0770000102'))
    const [late] = await accept(messageTo('0770000103', { hold_until_open: true }))
    const [early] = await accept(messageTo('0770000104'))
    // The hours are open by the clock of the process alone.
    const openThere = { timeZone: 'UTC', between: [clockIn(hours - 1), clockIn(hours + 1)] }
    await rows('update messages set hours = $2 where message_id = $1', [early, JSON.stringify(openThere)])
    // The message is queued although no conversation is open.
    await rows(`update messages set status = 'queued' where message_id = $1`, [late])
    control.script({ call: 'messages', times: 1, recipient: '94770000102', trouble: { kind: 'error', code: 131016 } })
    await spawn(t, fixture, hours)
    const read = () =>
      rows(
        `select message_id, status, attempts, round(extract(epoch from due_at - status_at))::int as wait from messages`,
      )
    const of = async (id: string | undefined) => (await read()).find(row => row.message_id === id)
    await until('the second one was refused', async () => (await of(retried))?.attempts)
    await until('the first one was sent', async () => (await of(sent))?.status === 'accepted')
    await until('the last one is held', async () => (await of(late))?.status === 'held')
    await until('the early message waits for its hours', async () => Number((await of(early))?.wait) > 3_600)
    t.match(await of(early), { status: 'queued', attempts: 0 })
    const { status, attempts, wait } = (await of(retried)) ?? {}
    t.match({ status, attempts }, { status: 'queued', attempts: 1 })
    t.ok(wait >= 5 && wait <= 6, `again after ${wait} s`)
  })

for (const hours of [-30, 30])
  t.test(`with a clock that is wrong by ${hours} hours, a conversation opens at the time of its message`, async t => {
    const { call, rows } = await createWebhooks(t)
    const soon = String(Math.floor(Date.now() / 1000) + 7_200)
    const bodies = [
      inbound(),
      inbound({ from: '94770000102', timestamp: soon }),
      inbound({ from: '94770000103', timestamp: 'x' }),
    ]
    shiftClock(t, hours)
    for (const message of bodies) t.equal((await call(envelope({ messages: [message] }))).statusCode, 200)
    const ages = await rows(
      'select abs(extract(epoch from now() - last_inbound_at)) < 60 as "isNow" from conversations',
    )
    t.strictSame(ages, [{ isNow: true }, { isNow: true }, { isNow: true }])
  })

t.test('with a wrong clock, the ids of messages still sort by creation', async t => {
  const { accept, rows } = await createFixture(t, { isRunning: false })
  const [before] = await accept(messageTo('0770000101'))
  shiftClock(t, -30)
  const [after] = await accept(messageTo('0770000101'))
  t.ok(String(after) > String(before))
  t.equal((await rows('select from messages')).length, 2)
})
