import t from 'tap'
import { createFixture, envelope, status } from '../../test/webhooks-fixture.ts'

const updates = (first: number, count: number) =>
  envelope({
    statuses: Array.from({ length: count }, (_, index) =>
      status({ id: `wamid.m${first + index}`, biz_opaque_callback_data: `m${first + index}` }),
    ),
  })

t.test('1,000 updates find their rows by keys, on tables with the statistics of empty ones', async t => {
  const { call, rows } = await createFixture(t)
  await rows('alter table messages set (autovacuum_enabled = off)')
  await rows('alter table message_events set (autovacuum_enabled = off)')
  await rows('analyze messages, message_events')
  // Postgres keeps the plans of these requests.
  for (let calls = 0; calls < 8; calls++) t.equal((await call(updates(0, 10))).statusCode, 200)
  await rows(`
    with added as (
      insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
      select 'demo', 'm' || n, '100', '94770000101', '{}', 'unknown', now(), now() + interval '1 day'
      from generate_series(1, 100000) n returning message_id
    )
    insert into message_events (tenant_id, message_id, status) select 'demo', message_id, 'queued' from added`)
  // From now on the statistics show many events, none of them from a webhook.
  await rows('analyze message_events')
  const start = performance.now()
  for (const first of [1, 50_001, 99_001]) t.equal((await call(updates(first, 1000))).statusCode, 200)
  t.ok(performance.now() - start < 6_000)
  t.same(await rows(`select count(*)::int from messages where status = 'sent'`), [{ count: 3000 }])
})

t.test('small webhooks that arrive together share commits, and a failing one fails alone', async t => {
  let transactions = 0
  const { call, addMessages, rows } = await createFixture(t, {
    onFact: kind => {
      if (kind === 'statuses') transactions++
    },
  })
  await rows(`alter table messages add constraint spoilt check (status <> 'failed')`)
  await addMessages(Array.from({ length: 30 }, (_, index) => ({ id: `m${index}` })))
  const bad = envelope({ statuses: [status({ status: 'failed', biz_opaque_callback_data: 'm7' })] })
  const shared = await Promise.all(Array.from({ length: 20 }, (_, index) => call(updates(10 + index, 1))))
  t.ok(shared.every(({ statusCode }) => statusCode === 200))
  t.ok(transactions < 20)
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) => call(index === 7 ? bad : updates(index, 1))),
  )
  t.same(
    responses.map(({ statusCode }) => statusCode),
    Array.from({ length: 10 }, (_, index) => (index === 7 ? 500 : 200)),
  )
  t.same(await rows('select status, count(*)::int from messages group by 1 order by 1'), [
    { status: 'accepted', count: 1 },
    { status: 'sent', count: 29 },
  ])
})
