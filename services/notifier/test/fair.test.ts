import { inTenant } from '@courier/shared/database.ts'
import t from 'tap'
import { storeSecret } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'
import { spawnWorker } from './spawn-worker.ts'
import { addTenant, messageTo, phoneNumberId, stage, until } from './stage.ts'

type Stage = Awaited<ReturnType<typeof stage>>

const smallNumber = '106540352242923'

/** Queues `count` messages of a tenant, due one after the other, `ageSeconds` ago. */
const queueMany = ({ pool }: Stage, tenant: string, number: string, count: number, ageSeconds: number) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    await tx.client.query(
      `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
       select $1, $1 || '-' || lpad(n::text, 6, '0'), $2, '9477' || (1000000 + n), $3, 'queued',
         now() - make_interval(secs => $5) + make_interval(secs => n / 1e6), now() + interval '1 hour'
       from generate_series(1, $4) n`,
      [tenant, number, messageTo('').template, count, ageSeconds],
    )
  })

const accepted = async ({ rows }: Stage, tenant: string): Promise<number> =>
  (await rows(`select count(*)::int from messages where status = 'accepted' and tenant_id = $1`, [tenant]))[0].count

const addSmallTenant = async ({ pool, keyring, control }: Stage): Promise<void> => {
  control.putNumber(smallNumber)
  await addTenant(pool, 'small', smallNumber, {})
  await inTenant(pool, 'small', (tx: Tx) =>
    storeSecret(
      tx,
      keyring,
      { tenant: 'small', phoneNumberId: smallNumber, kind: 'access_token' },
      'demo-access-token',
    ),
  )
}

t.test('500 messages of a small tenant behind 20,000 of a large one leave with as many of the large one', async t => {
  const staged = await stage(t, { isRunning: false })
  await addSmallTenant(staged)
  await queueMany(staged, 'demo', phoneNumberId, 20_000, 600)
  await queueMany(staged, 'small', smallNumber, 500, 0)
  staged.queue.start()
  await until('the small one is through', async () => (await accepted(staged, 'small')) === 500, 30)
  const large = await accepted(staged, 'demo')
  t.ok(large < 1_500, `${large} of the large tenant meanwhile`)
})

t.test('two processes together keep to 80 messages a second, and are never told to slow down', async t => {
  const staged = await stage(t, { isRunning: false, rate: 80, apiRate: 80 })
  await queueMany(staged, 'demo', phoneNumberId, 500, 0)
  const begin = performance.now()
  const workers = [await spawnWorker(t, staged), await spawnWorker(t, staged)]
  await until('all are accepted', async () => (await accepted(staged, 'demo')) === 500, 30)
  const rate = 500 / ((performance.now() - begin) / 1_000)
  t.equal(staged.control.summary().calls['130429'], undefined)
  t.comment(`${rate.toFixed(1)} a second`)
  t.ok(rate <= 81, `${rate.toFixed(1)} a second`)
  t.equal(staged.control.messages({ limit: 5_000 }).length, 500)
  for (const worker of workers) await worker.stop()
})

t.test('a number that is told to slow down loses nothing, uses up no attempt and gets through', async t => {
  const staged = await stage(t, { isRunning: false, rate: 80, apiRate: 20 })
  await queueMany(staged, 'demo', phoneNumberId, 150, 0)
  staged.queue.start()
  await until('all are accepted', async () => (await accepted(staged, 'demo')) === 150, 60)
  t.ok((staged.control.summary().calls['130429'] ?? 0) > 0)
  t.same(await staged.rows('select distinct attempts from messages'), [{ attempts: 0 }])
  t.equal(staged.control.messages({ limit: 5_000 }).length, 150)
})

t.test('two queues keep the messages to one person apart', async t => {
  const staged = await stage(t, { pairSeconds: 1 })
  const second = staged.createQueue()
  second.start()
  t.teardown(() => second.stop())
  await staged.accept(...Array.from({ length: 5 }, () => messageTo('0770000101')), messageTo('0770000102'))
  await until('the other person has his', async () => staged.control.messages({ to: '94770000102' }).length, 3)
  await until('all five are accepted', async () => staged.control.messages({ to: '94770000101' }).length === 5, 15)
  const times = staged.control.messages({ to: '94770000101' }).map(message => Date.parse(message.accepted_at))
  const gaps = times.slice(1).map((time, index) => (times[index] ?? 0) - time)
  t.ok(Math.min(...gaps) > 700, `${gaps} ms apart`)
  t.same(await staged.rows('select distinct attempts from messages'), [{ attempts: 0 }])
})
