import { setTimeout as delay } from 'node:timers/promises'
import { type AnyTransaction, createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { readKeys } from '@courier/shared/vault.ts'
import type pg from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { DeliveryLoop } from '../../core/log/delivery-loop.ts'
import { deleteOldChanges } from '../../core/log/retention.ts'
import { webhookKeyring } from '../../test/build.ts'
import { waitUntil } from '../../test/receiver.ts'
import { tenantFile } from '../../test/tenant.ts'
import { historiesOf, startWebhookReceiver, type WebhookReceiver } from '../../test/webhook-receiver.ts'
import { webhooksFixture } from '../../test/webhooks-fixture.ts'
import { repairFeeds } from './endpoint-queries.ts'
import { feedTasks } from './housekeeping.ts'
import { rotateSecrets } from './rotate-secrets.ts'
import { createSending } from './sender.ts'

/** Runs each deletion of deliveries once, as housekeeping does. */
const clean = async (pool: pg.Pool): Promise<number> => {
  let deleted = 0
  for (const deletion of feedTasks)
    deleted += await inTenant(pool, 'demo', (tx: AnyTransaction) => deletion(tx, 'demo'))
  return deleted
}

t.test('410 disables an endpoint at once; enabled again, it gets the events that it missed, oldest first', async t => {
  const { sender, addReceiver, book, cancel, call, endpoint, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  receiver.react = () => ({ status: 410 })
  sender.start()
  const [first = ''] = await book(1)
  await waitUntil('the endpoint is disabled', async () => (await endpoint(id)).state === 'disabled')
  t.match(await endpoint(id), { disabled_reason: 'gone', disabled_at: /^\d{4}-/ })
  const later = await book(2)
  await cancel([first, ...later])
  t.equal(receiver.requests.length, 1)
  receiver.react = () => ({})
  const { body } = await call('PATCH', `/${id}`, { state: 'enabled' })
  t.match(body.data, { state: 'enabled', disabled_reason: null, disabled_at: null, failing_since: null })
  await waitUntil('all events arrive', () => receiver.accepted.length === 6)
  t.equal(receiver.accepted[0]?.waybill, first)
  for (const history of Object.values(historiesOf(receiver.accepted))) t.equal(history, 'key_1 key_3')
  const actions = await rows(`select action, object_id from audit where action like 'webhook.%' order by audit_id`)
  t.strictSame(actions, [
    { action: 'webhook.created', object_id: id },
    { action: 'webhook.changed', object_id: id },
  ])
})

t.test('after five days without a success an endpoint is disabled, and its events wait for 30 days', async t => {
  const { sender, addReceiver, book, call, endpoint, rows, pool, deliveries, hurry } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  receiver.react = () => ({ status: 500 })
  sender.start()
  await book(12)
  await waitUntil('the endpoint is down', async () => (await endpoint(id)).failing_since !== null)
  await waitUntil('the first requests are over', async () => receiver.running === 0)
  // No event is given up as long as nothing arrives.
  await rows(`update webhook_deliveries set attempts = 9`)
  await hurry()
  await waitUntil('the last attempt', async () =>
    (await deliveries(id)).some(({ attempts }: { attempts: number }) => attempts >= 10),
  )
  t.strictSame(await deliveries(id, '?state=failed'), [])
  await rows(`update webhook_endpoints set failing_since = now() - interval '5 days'`)
  await hurry()
  await waitUntil('the endpoint is disabled', async () => (await endpoint(id)).state === 'disabled')
  t.match(await endpoint(id), { disabled_reason: 'failing' })
  await book(3)
  receiver.react = () => ({})
  await rows(`update webhook_deliveries set happened_at = now() - interval '29 days'`)
  t.equal(await clean(pool), 0)
  await call('PATCH', `/${id}`, { state: 'enabled' })
  await waitUntil('all events arrive', () => new Set(receiver.accepted.map(message => message.id)).size === 15)
  await waitUntil('all outcomes are stored', async () => (await deliveries(id, '?state=delivered')).length === 15)
  await rows(`update webhook_deliveries set last_attempt_at = now() - interval '8 days'`)
  t.equal(await clean(pool), 15)
  await book(1)
  await waitUntil('one more event arrives', async () => (await deliveries(id, '?state=delivered')).length === 1)
  await rows(
    `update webhook_deliveries set state = 'pending', next_attempt_at = null, happened_at = now() - interval '31 days'`,
  )
  t.equal(await clean(pool), 1)
})

t.test(
  'an endpoint that is down gets one request at a time and pauses; once it works, it gets all waiting events',
  async t => {
    const { sender, addReceiver, book, rows } = await webhooksFixture(t)
    const { receiver } = await addReceiver()
    receiver.react = () => ({ status: 503, milliseconds: 50 })
    await book(100)
    sender.start()
    await waitUntil('the endpoint is down', () => receiver.requests.length >= 5)
    await waitUntil(
      'the endpoint pauses, and the outcomes are stored',
      async () =>
        receiver.running === 0 && (await rows('select from webhook_endpoints where retry_at > now()')).length === 1,
    )
    t.ok(receiver.requests.length <= 32, `${receiver.requests.length} requests`)
    const before = receiver.requests.length
    receiver.most = 0
    await rows('update webhook_endpoints set retry_at = null')
    await rows(`update webhook_deliveries set next_attempt_at = now() where state = 'pending'`)
    await waitUntil('another request arrives', () => receiver.requests.length > before)
    await waitUntil('nothing runs', () => receiver.running === 0)
    t.strictSame([receiver.requests.length, receiver.most], [before + 1, 1])
    receiver.react = () => ({})
    await rows('update webhook_endpoints set retry_at = null')
    await waitUntil('all events arrive', () => new Set(receiver.accepted.map(({ id }) => id)).size === 100)
  },
)

t.test('Retry-After makes the whole endpoint wait', async t => {
  const { sender, addReceiver, book, rows } = await webhooksFixture(t)
  const { receiver } = await addReceiver()
  receiver.react = () => ({ status: 429, headers: { 'retry-after': '600' } })
  sender.start()
  await book(1)
  await waitUntil(
    'the endpoint waits',
    async () => (await rows('select from webhook_endpoints where retry_at is not null')).length > 0,
  )
  await book(1)
  const [{ wait, next }] = await rows(`select extract(epoch from retry_at - now())::int as wait,
    extract(epoch from next_attempt_at - now())::int as next from webhook_endpoints, webhook_deliveries`)
  t.ok(wait > 590 && wait <= 600 && next > 590 && next <= 600, `${wait} ${next}`)
  t.equal(receiver.requests.length, 1)
})

t.test('slow endpoints do not delay others', async t => {
  const { sender, addReceiver, book, createToken, apply } = await webhooksFixture(t)
  // Uses more endpoints than there are slots for quick ones. None responds: each request lasts 10 seconds.
  const slow: WebhookReceiver[] = []
  for (const id of ['sa', 'sb', 'sc', 'sd']) {
    await apply(tenantFile({ id, waybills: { mode: 'auto', format: `${id.toUpperCase()}-######` } }))
    const token = await createToken('shop@example.com', id)
    for (let n = 0; n < 5; n++) {
      const { receiver } = await addReceiver({}, { tenant: id, token })
      receiver.react = () => ({ milliseconds: Number.POSITIVE_INFINITY })
      slow.push(receiver)
    }
    await book(40, { tenant: id, token })
  }
  const { receiver: quick } = await addReceiver()
  sender.start()
  await waitUntil('slow endpoints hold slots', () => slow.filter(({ running }) => running > 0).length >= 8)
  let longest = 0
  for (let n = 0; n < 8; n++) {
    const started = performance.now()
    const [waybill] = await book(1)
    await waitUntil('the event arrives', () => quick.accepted.some(message => message.waybill === waybill))
    longest = Math.max(longest, performance.now() - started)
  }
  t.comment(`${slow.length} slow endpoints, the longest delivery to a quick one took ${Math.round(longest)} ms`)
  // A poll finds the slots that slow endpoints freed. The rest of the time allows for a busy machine.
  t.ok(longest < 8_000, `${longest} ms`)
  await waitUntil('all slow endpoints get a request', () => slow.every(({ requests }) => requests.length > 0))
  t.ok(slow.every(({ most }) => most <= 16))
})

t.test('no merchant sees or changes the webhooks of another', async t => {
  const { addReceiver, call, createToken, book, sender } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  const token = await createToken('books@example.com')
  const other = await addReceiver({}, { token })
  t.strictSame(
    (await call('GET', '', undefined, { token })).body.data.map((one: { id: string }) => one.id),
    [other.id],
  )
  const attempts = [
    call('PATCH', `/${id}`, { state: 'disabled' }, { token }),
    call('DELETE', `/${id}`, undefined, { token }),
    ...['rotate', 'ping'].map(path => call('POST', `/${id}/${path}`, undefined, { token })),
    call('POST', `/${id}/replay`, { from: '2026-01-01T00:00:00Z' }, { token }),
    call('GET', `/${id}/deliveries`, undefined, { token }),
  ]
  for (const { status, body } of await Promise.all(attempts))
    t.strictSame([status, body.message], [404, 'The requested webhook does not exist in the system'])
  for (const odd of ['x', '%00', "'", id.toUpperCase(), `${id}0`])
    t.equal((await call('DELETE', `/${odd}`)).status, 404, odd)
  sender.start()
  await book(2)
  await waitUntil('both events arrive', () => receiver.accepted.length === 2)
  t.equal(other.receiver.requests.length, 0)
  t.equal((await call('DELETE', `/${id}`)).status, 200)
  t.equal((await call('DELETE', `/${id}`)).status, 404)
})

t.test('a merchant has at most five webhooks, even with concurrent requests for more', async t => {
  const { call } = await webhooksFixture(t)
  const { url } = await startWebhookReceiver(t)
  const created = await Promise.all(Array.from({ length: 8 }, () => call('POST', '', { url })))
  t.strictSame(created.map(({ status }) => status).sort(), [201, 201, 201, 201, 201, 422, 422, 422])
  t.equal((await call('GET', '')).body.data.length, 5)
  for (const body of [
    {},
    { url: 1 },
    { url, events: [] },
    { url, events: ['order.lost'] },
    { url, events: ['order.created', 'order.created'] },
  ])
    t.equal((await call('POST', '', body)).status, 422, JSON.stringify(body))
})

t.test('without WEBHOOK_KEYS responses say what the operator must set', async t => {
  const { call } = await webhooksFixture(t, { keyring: undefined })
  for (const { status, body } of [await call('GET', ''), await call('POST', '', { url: 'https://shop.example/' })])
    t.match({ status, ...body }, { status: 503, code: 'unavailable', message: /WEBHOOK_KEYS/ })
})

t.test('seals secrets again with a new key, and names an endpoint whose secret no key opens', async t => {
  const { addReceiver, call, book, pool, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  await call('POST', `/${id}/rotate`)
  const other = await addReceiver()
  await rows(`update webhook_endpoints set sealed_secret = 'altered and of some length' where endpoint_id = $1`, [
    other.id,
  ])
  const fresh = readKeys('WEBHOOK_KEYS', `fresh:${Buffer.alloc(32, 6).toString('base64')}`)
  const both = { ...fresh, keys: new Map([...fresh.keys, ...webhookKeyring.keys]) }
  const { count, unopened } = await rotateSecrets(pool, both, { kind: 'operator', name: 'kamala' })
  t.equal(count, 1)
  t.match(unopened, [{ tenant: 'demo', endpoint_id: other.id, reason: /was altered/ }])
  t.equal((await rotateSecrets(pool, both)).count, 0)
  const { sender: rekeyed } = createSending(
    pool,
    pino({ level: 'silent' }),
    { keyring: fresh, allowsPrivate: true },
    new Registry(),
  )
  t.teardown(() => rekeyed?.stop())
  rekeyed?.start()
  await book(1)
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  t.equal(receiver.forged, 0, 'the old secret signs too')
})

t.test('a deactivated merchant gets nothing', async t => {
  const { sender, addReceiver, book, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  await book(1)
  await rows('update merchants set is_active = false')
  sender.start()
  const state = () => rows('select state, disabled_reason from webhook_endpoints where endpoint_id = $1', [id])
  await waitUntil('the endpoint is disabled', async () => (await state())[0].state === 'disabled')
  t.strictSame(await state(), [{ state: 'disabled', disabled_reason: 'merchant_inactive' }])
  t.equal(receiver.requests.length, 0)
})

t.test('after a restore an endpoint does not wait for positions that are given again', async t => {
  const { sender, addReceiver, book, pool, rows } = await webhooksFixture(t)
  const { receiver } = await addReceiver()
  await rows('update webhook_endpoints set position = 1000, replay_after = 3, replay_to = 1000')
  await inTenant(pool, 'demo', (tx: Tx) => repairFeeds(tx, 'demo', new Date()))
  sender.start()
  await book(1)
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
})

t.test('an endpoint whose missed changes are no longer kept catches up with the feed', async t => {
  const { sender, addReceiver, book, call, rows, pool, request } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  await call('PATCH', `/${id}`, { state: 'disabled' })
  await book(2)
  await request('/order/changes')
  await rows(`update log set is_relayed = true, happened_at = now() - interval '31 days'`)
  await inTenant(pool, 'demo', (tx: Tx) => deleteOldChanges(tx, 'demo'))
  await call('PATCH', `/${id}`, { state: 'enabled' })
  sender.start()
  await waitUntil(
    'nothing waits',
    async () => (await rows('select from webhook_endpoints join feeds on position = last_position')).length === 1,
  )
  await book(1)
  await waitUntil('the new event arrives', () => receiver.accepted.length === 1)
})

t.test('a late response from an old URL changes nothing', async t => {
  const { sender, addReceiver, book, call, endpoint } = await webhooksFixture(t)
  const { receiver: old, id } = await addReceiver()
  old.react = () => ({ status: 410, milliseconds: 500 })
  sender.start()
  await book(1)
  await waitUntil('the old URL gets the event', () => old.running === 1)
  const corrected = await startWebhookReceiver(t)
  corrected.secret = old.secret
  await call('PATCH', `/${id}`, { url: corrected.url })
  await waitUntil('the corrected URL gets the event', () => corrected.accepted.length === 1)
  t.match(await endpoint(id), { state: 'enabled', failing_since: null })
})

t.test('a process that lost its lease stores no outcome', async t => {
  const { sender, addReceiver, book, deliveries, endpoint, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  receiver.react = () => ({ status: 500, milliseconds: 2_000 })
  sender.start()
  await book(1)
  await waitUntil('the receiver gets the event', () => receiver.running === 1)
  await rows(`update webhook_endpoints set holder = gen_random_uuid(), held_until = now() + interval '1 minute'`)
  await rows(`update webhook_deliveries set state = 'delivered', next_attempt_at = null`)
  await waitUntil('the response is sent', () => receiver.running === 0)
  await sender.stop()
  t.match(await deliveries(id), [{ state: 'delivered', attempts: 0, code: null }])
  t.equal((await endpoint(id)).failing_since, null)
})

t.test('Retry-After holds, whatever the results of requests in flight', async t => {
  const { sender, addReceiver, book, deliveries, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  receiver.react = () =>
    receiver.requests.length === 1
      ? { status: 429, headers: { 'retry-after': '600' } }
      : { status: 200, milliseconds: 300 }
  await book(8)
  sender.start()
  await waitUntil('the other outcomes are stored', async () => (await deliveries(id, '?state=delivered')).length === 7)
  const [{ wait }] = await rows('select extract(epoch from retry_at - now())::int as wait from webhook_endpoints')
  t.ok(wait > 590, `${wait}`)
})

t.test('when an old event is deleted, the next event of its waybill is sent', async t => {
  const { sender, addReceiver, book, cancel, call, pool, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  receiver.react = () => ({ status: 500 })
  sender.start()
  const [waybill = ''] = await book(1)
  await cancel([waybill])
  await waitUntil(
    'both events wait',
    async () =>
      (await rows('select from webhook_deliveries where attempts = 1 or next_attempt_at is null')).length === 2,
  )
  await call('PATCH', `/${id}`, { state: 'disabled' })
  await rows(`update webhook_deliveries set happened_at = now() - interval '31 days' where type = 'order.created'`)
  t.equal(await clean(pool), 1)
  receiver.react = () => ({})
  await call('PATCH', `/${id}`, { state: 'enabled' })
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  t.equal(receiver.accepted[0]?.type, 'order.status_changed')
})

t.test('deletes a webhook and its secret at once, and its deliveries in slices', async t => {
  const { sender, addReceiver, register, book, call, endpoint, pool, rows } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  sender.start()
  await book(1)
  await waitUntil(
    'the outcome is stored',
    async () => (await rows(`select from webhook_deliveries where state = 'delivered'`)).length === 1,
  )
  await rows(
    `insert into webhook_deliveries (tenant_id, endpoint_id, position, message_id, type, waybill_number, body,
      happened_at)
    select tenant_id, endpoint_id, n, 'm' || n, type, waybill_number, body, now()
      from webhook_deliveries, generate_series(100, 12000) n`,
  )
  t.equal((await call('DELETE', `/${id}`)).status, 200)
  t.equal(await endpoint(id), undefined)
  t.strictSame(await rows('select url, length(sealed_secret) as bytes from webhook_endpoints'), [{ url: '', bytes: 0 }])
  for (const [method, path, body] of [
    ['PATCH', '', { state: 'enabled' }],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/ping'],
    ['POST', '/replay', { from: '2026-01-01T00:00:00Z' }],
    ['GET', '/deliveries'],
  ] as const)
    t.equal((await call(method, `/${id}${path}`, body)).status, 404, path)
  for (let n = 0; n < 5; n++) await register(receiver)
  t.equal((await call('POST', '', { url: receiver.url })).status, 422)
  t.equal((await rotateSecrets(pool, webhookKeyring)).unopened.length, 0)
  t.strictSame([await clean(pool), await clean(pool), await clean(pool), await clean(pool)], [10_000, 1_902, 1, 0])
  t.strictSame(await rows('select count(*)::int as endpoints from webhook_endpoints'), [{ endpoints: 5 }])
})

t.test('registering a webhook numbers a backlog in short transactions', async t => {
  const { addReceiver, rows } = await webhooksFixture(t)
  await rows(`insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor)
    select 'demo', merchant_id, 'order.created', '{W1}', '{key_1}', 'merchant'
    from (select merchant_id from merchants where tenant_id = 'demo' order by email limit 1) m,
      generate_series(1, 2500)`)
  await rows(`update log set merchant_id = (select merchant_id from merchants where email = 'shop@example.com')`)
  await addReceiver()
  t.strictSame(await rows('select count(*)::int from log group by xmin::text order by 1'), [
    { count: 500 },
    { count: 1000 },
    { count: 1000 },
  ])
  t.strictSame(await rows('select position from webhook_endpoints'), [{ position: '2500' }])
})

t.test('changes of tenants without webhooks cause no polls', async t => {
  const { addReceiver, database } = await webhooksFixture(t)
  await addReceiver()
  const pool = createPool({ url: database.url, name: 'polls', connections: 2 })
  let polls = 0
  pool.on('acquire', () => polls++)
  const options = { keyring: webhookKeyring, allowsPrivate: true }
  const { sender } = createSending(pool, pino({ level: 'silent' }), options, new Registry())
  t.teardown(async () => {
    await sender?.stop()
    await pool.end()
  })
  sender?.start()
  await waitUntil('the sender polls', () => polls === 1)
  await delay(200)
  const before = polls
  for (let n = 0; n < 20; n++) {
    sender?.wake('other')
    await delay(25)
  }
  const after = polls
  t.ok(after - before <= 1, `${after - before}`)
  await waitUntil('changes of a tenant with webhooks cause polls', () => {
    sender?.wake('demo')
    return polls > after + 2
  })
})

t.test('the loop rests after slow polls', async t => {
  let polls = 0
  const loop = new DeliveryLoop<string>({
    ...{ logger: pino({ level: 'silent' }), name: 'test', concurrency: 1, pollShare: 0.2 },
    ...{ drain: async () => 'done', identify: key => key, describe: key => ({ key }) },
    findWaiting: async () => {
      polls++
      await delay(100)
      return []
    },
  })
  loop.start()
  for (let n = 0; n < 40; n++) {
    loop.wake()
    await delay(25)
  }
  await loop.stop()
  t.ok(polls >= 2 && polls <= 3, `${polls}`)
})
