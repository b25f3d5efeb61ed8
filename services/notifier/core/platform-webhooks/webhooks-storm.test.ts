import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import t from 'tap'
import { createChance } from '../../../../test/chance.ts'
import { createFixture, envelope, inbound, minutesAgo, sign, status } from '../../test/webhooks-fixture.ts'
import type { Tx } from '../database/tables.ts'

type Fixture = Awaited<ReturnType<typeof createFixture>>
type Update = Record<string, unknown>

const shuffle = <T>(items: T[], random: () => number): T[] =>
  items
    .map(item => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)

/** Posts every update three times over HTTP, shuffled, in requests of 1 to 500, eight at once. */
const storm = async (
  { app }: Fixture,
  updates: Update[],
  fields: 'statuses' | 'messages' = 'statuses',
): Promise<number[]> => {
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/webhooks/messaging`
  const random = createChance(updates.length)
  const waiting = shuffle([...updates, ...updates, ...updates], random)
  const responses: number[] = []
  const worker = async (): Promise<void> => {
    while (waiting.length > 0) {
      const payload = JSON.stringify(envelope({ [fields]: waiting.splice(0, Math.ceil(random() ** 2 * 500)) }))
      const headers = { 'x-hub-signature-256': sign(payload, 'new'), 'content-type': 'application/json' }
      responses.push((await fetch(url, { method: 'POST', headers, body: payload })).status)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return responses
}

const checkDeadlocks = async (t: { same: (a: unknown, b: unknown) => unknown }, { rows }: Fixture): Promise<void> => {
  t.same(await rows('select deadlocks from pg_stat_database where datname = current_database()'), [{ deadlocks: '0' }])
}

const life = ['sent', 'delivered', 'read'] as const

t.test('4,000 updates of as many messages, each sent three times, make one timeline event each', async t => {
  const fixture = await createFixture(t)
  const ids = Array.from({ length: 4_000 }, (_, index) => `m${index}`)
  const statuses = [...life, 'failed'] as const
  const chooseStatus = (index: number) => statuses[index % 4] ?? 'sent'
  await fixture.addMessages(
    ids.map((id, index) => ({ id, status: 'unknown', providerMessageId: index % 2 ? `wamid.${id}` : null })),
  )
  const updates = ids.map((id, index) => {
    const callback = index % 2 ? {} : { biz_opaque_callback_data: id }
    return status({ id: `wamid.${id}`, status: chooseStatus(index), timestamp: minutesAgo(index % 60), ...callback })
  })
  const responses = await storm(fixture, updates)
  t.ok(responses.length > 60)
  t.ok(responses.every(response => response === 200))
  const counted = await fixture.rows(`select status, count(*)::int, count(distinct message_id)::int as messages
    from message_events group by 1 order by 1`)
  t.same(
    counted,
    [...statuses].sort().map(name => ({ status: name, count: 1000, messages: 1000 })),
  )
  t.same(await fixture.rows('select count(*)::int from messages where provider_message_id is null'), [{ count: 0 }])
  await checkDeadlocks(t, fixture)
})

t.test('with 4,000 updates of 1,000 messages in any order, no status goes back or repeats', async t => {
  const fixture = await createFixture(t)
  const ids = Array.from({ length: 1000 }, (_, index) => `m${index}`)
  await fixture.addMessages(ids.map(id => ({ id, status: 'accepted' })))
  const updates = ids.flatMap((id, index) => {
    const last = index % 2 ? 'failed' : 'sent'
    return [...life, last].map((name, minute) =>
      status({ id: `wamid.${id}`, status: name, timestamp: minutesAgo(60 - minute), biz_opaque_callback_data: id }),
    )
  })
  const responses = await storm(fixture, updates)
  t.ok(responses.every(response => response === 200))
  t.same(await fixture.rows('select status, count(*)::int from messages group by 1'), [{ status: 'read', count: 1000 }])
  const order = ['sent', 'failed', 'delivered', 'read']
  const timelines = await fixture.rows(
    'select array_agg(status order by event_id) as statuses from message_events group by tenant_id, message_id',
  )
  t.equal(timelines.length, 1000)
  const wrong = timelines.filter(({ statuses }) => {
    const ranks = statuses.map((name: string) => order.indexOf(name))
    return (
      statuses.at(-1) !== 'read' || ranks.some((rank: number, index: number) => index > 0 && rank <= ranks[index - 1])
    )
  })
  t.same(wrong, [])
  await checkDeadlocks(t, fixture)
})

t.test('1,500 people who write at once release each held message once', async t => {
  const fixture = await createFixture(t)
  const people = Array.from({ length: 1500 }, (_, index) => `9477${String(index).padStart(7, '0')}`)
  await fixture.addMessages(people.map(recipient => ({ id: recipient, status: 'held', recipient })))
  const responses = await storm(
    fixture,
    people.map(from => inbound({ from })),
    'messages',
  )
  t.ok(responses.every(response => response === 200))
  t.same(await fixture.rows('select status, count(*)::int from messages group by 1'), [
    { status: 'queued', count: 1500 },
  ])
  t.same(await fixture.rows('select count(*)::int from message_events'), [{ count: 1500 }])
  await checkDeadlocks(t, fixture)
})

t.test('applies a webhook again after a deadlock with another part of the service', async t => {
  const { pool, call, addMessages, rows } = await createFixture(t)
  await addMessages(['a', 'b'].map(id => ({ id, providerMessageId: `wamid.${id}` })))
  const lock = (tx: Tx, id: string) => tx.client.query('update messages set due_at = now() where message_id = $1', [id])
  const waiting = async (): Promise<boolean> =>
    (await rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
      .length > 0
  const collide = () =>
    inAllTenants(pool, async (tx: Tx) => {
      await lock(tx, 'b')
      const calling = call(envelope({ statuses: ['a', 'b'].map(id => status({ id: `wamid.${id}` })) }))
      while (!(await waiting())) await new Promise(resolve => setTimeout(resolve, 10))
      await lock(tx, 'a')
      return { calling }
    })
  // On a slow machine Postgres may choose the test itself as the victim of the deadlock.
  const { calling } = await collide().catch(collide).catch(collide)
  t.equal((await calling).statusCode, 200)
  t.same(await rows('select status from messages'), [{ status: 'sent' }, { status: 'sent' }])
})
