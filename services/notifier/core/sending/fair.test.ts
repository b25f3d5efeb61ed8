import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { addTenant, createFixture, messageTo, phoneNumberId, spawnWorker, until } from '../../test/fixture.ts'
import { storeSecret } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>

const smallNumber = '106540352242923'

/** Queues `count` messages of a tenant, which became due one after another, `ageSeconds` ago. */
const queueMany = ({ pool }: Fixture, tenant: string, number: string, count: number, ageSeconds: number) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    await tx.client.query(
      `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
       select $1, $1 || '-' || lpad(n::text, 6, '0'), $2, '9477' || (1000000 + n), $3, 'queued',
         now() - make_interval(secs => $5) + make_interval(secs => n / 1e6), now() + interval '1 hour'
       from generate_series(1, $4) n`,
      [tenant, number, messageTo('').template, count, ageSeconds],
    )
  })

const countAccepted = async ({ rows }: Fixture, tenant: string): Promise<number> =>
  (await rows(`select count(*)::int from messages where status = 'accepted' and tenant_id = $1`, [tenant]))[0].count

const addSmallTenant = async ({ pool, keyring, control }: Fixture): Promise<void> => {
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

t.test(
  '500 messages of a small tenant behind 20,000 of a large one are sent before 1,500 of the large one',
  async t => {
    const fixture = await createFixture(t, { isRunning: false })
    await addSmallTenant(fixture)
    await queueMany(fixture, 'demo', phoneNumberId, 20_000, 600)
    await queueMany(fixture, 'small', smallNumber, 500, 0)
    fixture.queue.start()
    await until('the small tenant is done', async () => (await countAccepted(fixture, 'small')) === 500, 30)
    const large = await countAccepted(fixture, 'demo')
    t.ok(large < 1_500, `${large} of the large tenant meanwhile`)
  },
)

t.test('two processes together send at most 80 messages a second, and none is refused for its rate', async t => {
  const fixture = await createFixture(t, { isRunning: false, rate: 80, apiRate: 80 })
  await queueMany(fixture, 'demo', phoneNumberId, 500, 0)
  const began = performance.now()
  const workers = [await spawnWorker(t, fixture), await spawnWorker(t, fixture)]
  await until('all are accepted', async () => (await countAccepted(fixture, 'demo')) === 500, 30)
  const rate = 500 / ((performance.now() - began) / 1_000)
  const refused = fixture.control.summary().calls['130429'] ?? 0
  t.comment(`${rate.toFixed(1)} a second`)
  // A machine that falls behind sends at once what has become due meanwhile.
  t.ok(refused === 0 || (rate < 60 && refused <= 10), `${refused} were refused`)
  t.ok(rate <= 81, `${rate.toFixed(1)} a second`)
  t.equal(fixture.control.messages({ limit: 5_000 }).length, 500)
  for (const worker of workers) await worker.stop()
})

t.test('a number that is rate-limited loses no message, uses up no attempt and sends everything', async t => {
  const fixture = await createFixture(t, { isRunning: false, rate: 80, apiRate: 20 })
  await queueMany(fixture, 'demo', phoneNumberId, 150, 0)
  fixture.queue.start()
  await until('all are accepted', async () => (await countAccepted(fixture, 'demo')) === 150, 60)
  t.ok((fixture.control.summary().calls['130429'] ?? 0) > 0)
  t.same(await fixture.rows('select distinct attempts from messages'), [{ attempts: 0 }])
  t.equal(fixture.control.messages({ limit: 5_000 }).length, 150)
})

t.test('two queues space out the messages to one person', async t => {
  const fixture = await createFixture(t, { recipientPauseSeconds: 3 })
  const second = fixture.createQueue()
  second.start()
  t.teardown(() => second.stop())
  await fixture.accept(...Array.from({ length: 5 }, () => messageTo('0770000101')), messageTo('0770000102'))
  await until('the other person has a message', async () => fixture.control.messages({ to: '94770000102' }).length, 10)
  await until('all five are accepted', async () => fixture.control.messages({ to: '94770000101' }).length === 5, 40)
  const times = fixture.control.messages({ to: '94770000101' }).map(message => Date.parse(message.accepted_at))
  const gaps = times.slice(1).map((time, index) => (times[index] ?? 0) - time)
  t.ok(Math.min(...gaps) > 0.7 * 3_000, `${gaps} ms apart`)
  t.same(await fixture.rows('select distinct attempts from messages'), [{ attempts: 0 }])
})
