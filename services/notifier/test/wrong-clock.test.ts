import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { root } from '../../../dev/settings.ts'
import { recordInbound } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { createFixture, messageTo, phoneNumberId, until } from './fixture.ts'
import { spawnWorker } from './spawn-worker.ts'

/** A worker whose clock is wrong by so many hours. */
const spawn = (t: Test, fixture: Parameters<typeof spawnWorker>[1], hours: number) =>
  spawnWorker(t, fixture, { NODE_OPTIONS: `--import ${root}/dev/wrong-clock.ts`, CLOCK_IS_WRONG_BY: String(hours) })

for (const hours of [-30, 30])
  t.test(`a process whose clock is wrong by ${hours} hours sends and retries by the clock of Postgres`, async t => {
    const fixture = await createFixture(t, { isRunning: false, plan: 'free' })
    const { accept, rows, pool, control } = fixture
    const wrote = (recipient: string) => ({ tenant: 'demo', phoneNumberId, recipient })
    const people = ['94770000101', '94770000102'].map(wrote)
    await inTenant(pool, 'demo', (tx: Tx) =>
      recordInbound(
        tx,
        people.map(person => ({ ...person, at: null })),
      ),
    )
    const [sent] = await accept(messageTo('0770000101'))
    const [retried] = await accept(messageTo('0770000102'))
    const [late] = await accept(messageTo('0770000103', { hold_until_open: true }))
    // Its conversation closed after it was queued.
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
    const { status, attempts, wait } = (await of(retried)) ?? {}
    t.match({ status, attempts }, { status: 'queued', attempts: 1 })
    t.ok(wait >= 5 && wait <= 6, `again after ${wait} s`)
  })
