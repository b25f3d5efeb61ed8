import { setTimeout as delay } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { waitUntil } from '../../test/receiver.ts'
import { historiesOf } from '../../test/webhook-receiver.ts'
import { webhooksFixture } from '../../test/webhooks-fixture.ts'

t.test('an event is delivered at once, signed, with only its item in the feed as payload', async t => {
  const { sender, addReceiver, book, request } = await webhooksFixture(t)
  sender.start()
  const { receiver } = await addReceiver()
  await delay(300)
  const started = performance.now()
  const [waybill] = await book(1)
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  t.ok(performance.now() - started < 2_000)
  t.equal(receiver.forged, 0)
  const [{ body, id, headers } = {}] = receiver.accepted
  const [item] = (await request('/order/changes')).body.data
  t.strictSame(body, { type: 'order.created', timestamp: item.happened_at, data: item })
  t.equal(id, item.id, 'the webhook-id is the id in the feed')
  t.equal(item.waybill_number, waybill)
  t.notMatch(JSON.stringify(body), /customer|phone|address/)
  t.match(headers, { 'content-type': 'application/json', 'webhook-timestamp': /^\d{10}$/ })
})

t.test('sends an endpoint no event from before its registration, and only the types that it wants', async t => {
  const { sender, addReceiver, book, cancel } = await webhooksFixture(t)
  await book(3)
  const { receiver } = await addReceiver({ events: ['order.status_changed'] })
  const all = await addReceiver()
  const waybills = await book(2)
  await cancel(waybills)
  sender.start()
  await waitUntil('all events arrive', () => receiver.accepted.length === 2 && all.receiver.accepted.length === 4)
  t.strictSame(historiesOf(receiver.accepted), Object.fromEntries(waybills.map(waybill => [waybill, 'key_3'])))
  t.strictSame(
    historiesOf(all.receiver.accepted),
    Object.fromEntries(waybills.map(waybill => [waybill, 'key_1 key_3'])),
  )
})

t.test('an edit is sent with the names of its fields', async t => {
  const { app, token, sender, addReceiver, book } = await webhooksFixture(t)
  const { receiver } = await addReceiver({ events: ['order.edited'] })
  const [waybill] = await book(1)
  sender.start()
  await app.inject({
    ...{ method: 'PATCH', url: `/api/public/merchant/order/${waybill}`, payload: { customer_name: 'Kamala Secret' } },
    headers: { 'x-tenant': 'demo', authorization: `Bearer ${token}` },
  })
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  t.match(receiver.accepted[0]?.body, {
    type: 'order.edited',
    data: { waybill_number: waybill, fields: ['customer_name'] },
  })
  t.notMatch(JSON.stringify(receiver.accepted[0]?.body), /Kamala/)
})

t.test('changes of invoices name no parcel, and wait for each other', async t => {
  const { sender, addReceiver, rows, deliveries } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver({ events: ['invoice.deposited'] })
  receiver.react = () => (receiver.requests.length === 1 ? { status: 500 } : {})
  for (const invoice_no of ['CFX-1', 'CFX-2'])
    await rows(
      `insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, is_relayed, details)
        select tenant_id, merchant_id, 'invoice.deposited', '{""}', '{""}', 'staff', true, $1
        from merchants where email = 'shop@example.com'`,
      [{ invoice_no }],
    )
  sender.start()
  await waitUntil('the first event fails', () => receiver.requests.length === 1)
  await delay(200)
  t.equal(receiver.requests.length, 1, 'the second event waits')
  await waitUntil('both events arrive', () => receiver.accepted.length === 2)
  t.match(
    receiver.accepted.map(({ body }) => body.data),
    ['CFX-1', 'CFX-2'].map(invoice_no => ({ waybill_number: null, status: null, details: { invoice_no } })),
  )
  const isStored = async () => (await deliveries(id)).every(({ state }: { state: string }) => state === 'delivered')
  await waitUntil('both outcomes are stored', isStored)
  t.match(await deliveries(id), [{ waybill_number: null }, { waybill_number: null }])
})

t.test('events of one waybill wait for each other; events of other waybills do not', async t => {
  const { sender, addReceiver, book, cancel, deliveries, hurry } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  const [stuck = '', ...others] = await book(20)
  await cancel([stuck, ...others])
  let isStuck = true
  receiver.react = ({ waybill }) =>
    waybill === stuck && isStuck ? { status: 500, body: 'no\0t now' } : { milliseconds: 10 }
  sender.start()
  await waitUntil('the others arrive', () => receiver.accepted.length === 38)
  t.equal(receiver.requests.filter(({ waybill }) => waybill === stuck).length, 1)
  const pending = () => deliveries(id, '?state=pending')
  await waitUntil('the refusal is stored', async () => (await pending())[1]?.attempts === 1)
  const [second, first] = await pending()
  t.match(first, {
    state: 'pending',
    attempts: 1,
    code: 500,
    response_body: 'no\u{fffd}t now',
    error: null,
    type: 'order.created',
  })
  t.ok(first.ms >= 0)
  t.ok(Date.parse(first.next_attempt_at) - Date.parse(first.last_attempt_at) < 6_000)
  t.match(second, { state: 'pending', attempts: 0, code: null, next_attempt_at: null })
  isStuck = false
  await hurry()
  await waitUntil('the rest arrives', () => receiver.accepted.length === 40)
  const histories = historiesOf(receiver.accepted)
  t.equal(Object.keys(histories).length, 20)
  for (const history of Object.values(histories)) t.equal(history, 'key_1 key_3')
  t.ok(receiver.most > 4 && receiver.most <= 16, `${receiver.most} at once`)
  t.equal(receiver.forged, 0)
})

t.test('an event that gets a 502 is sent again with the same webhook-id and a new timestamp', async t => {
  const { sender, addReceiver, book, hurry } = await webhooksFixture(t)
  const { receiver } = await addReceiver()
  receiver.react = () => (receiver.requests.length === 1 ? { status: 502 } : {})
  sender.start()
  await book(1)
  await waitUntil('the first attempt arrives', () => receiver.requests.length === 1)
  await delay(1_100)
  await hurry()
  await waitUntil('the second attempt is accepted', () => receiver.accepted.length === 1)
  const [first, second] = receiver.requests
  t.equal(first?.id, second?.id)
  t.not(first?.headers['webhook-timestamp'], second?.headers['webhook-timestamp'])
  t.equal(receiver.forged, 0)
})

t.test('after a rotation both secrets sign for 24 hours', async t => {
  const { sender, addReceiver, book, call, rows, endpoint } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  const old = receiver.secret
  const { body } = await call('POST', `/${id}/rotate`)
  t.not(body.data.secret, old)
  t.match((await endpoint(id)).previous_secret_until, /^\d{4}-/)
  sender.start()
  await book(1)
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  const verify = (secret: string, n: number) =>
    new Webhook(secret).verify(
      JSON.stringify(receiver.accepted[n]?.body),
      receiver.accepted[n]?.headers as Record<string, string>,
    )
  t.doesNotThrow(() => verify(old, 0))
  t.doesNotThrow(() => verify(body.data.secret, 0))
  await rows(`update webhook_endpoints set previous_until = now()`)
  await book(1)
  await waitUntil('the next event arrives', () => receiver.accepted.length === 2)
  t.throws(() => verify(old, 1))
  t.doesNotThrow(() => verify(body.data.secret, 1))
  t.equal((await endpoint(id)).previous_secret_until, null)
  t.notMatch(JSON.stringify((await call('GET', '')).body), /whsec/)
  for (const { sealed } of await rows(
    'select unnest(array[sealed_secret, previous_secret]) as sealed from webhook_endpoints',
  ))
    t.notOk(sealed.includes(old.slice(6, 20)))
})

t.test('a ping reports its outcome, even for a disabled webhook', async t => {
  const { addReceiver, call } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  await call('PATCH', `/${id}`, { state: 'disabled' })
  receiver.react = () => ({ status: 302, headers: { location: receiver.url }, body: 'elsewhere' })
  t.match((await call('POST', `/${id}/ping`)).body.data, { code: 302, error: null, response_body: 'elsewhere' })
  t.equal(receiver.requests.length, 1, 'no redirect is followed')
  t.equal(receiver.requests[0]?.type, 'ping')
  t.equal(receiver.forged, 0)
  receiver.react = () => ({ status: 200, milliseconds: 3_000, body: Buffer.alloc(1_000_000, 'x') })
  const pings = await Promise.all([call('POST', `/${id}/ping`), call('POST', `/${id}/ping`)])
  t.strictSame(pings.map(({ status }) => status).sort(), [200, 429])
  t.equal(pings.find(({ status }) => status === 200)?.body.data.response_body.length, 1_024)
  await call('PATCH', `/${id}`, { url: 'http://127.0.0.1:1/' })
  t.match((await call('POST', `/${id}/ping`)).body.data, { code: null, error: 'connection refused' })
})

t.test('a replay waits until its disabled webhook is enabled, and a second replay is refused', async t => {
  const { sender, addReceiver, book, call } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  sender.start()
  const from = new Date().toISOString()
  await book(1)
  await waitUntil('the event arrives', () => receiver.accepted.length === 1)
  await call('PATCH', `/${id}`, { state: 'disabled' })
  t.equal((await call('POST', `/${id}/replay`, { from })).status, 202)
  const again = await call('POST', `/${id}/replay`, { from })
  t.match([again.status, again.body.message], [429, /begins once it is enabled\.$/])
  await call('PATCH', `/${id}`, { state: 'enabled' })
  await waitUntil('the event arrives again', () => receiver.accepted.length === 2)
})

t.test('a period is replayed with the same ids, before new events', async t => {
  const { sender, addReceiver, book, cancel, call } = await webhooksFixture(t)
  const { receiver, id } = await addReceiver()
  sender.start()
  const before = new Date().toISOString()
  const waybills = await book(3)
  await cancel(waybills)
  await waitUntil('all events arrive', () => receiver.accepted.length === 6)
  const ids = receiver.accepted.map(message => message.id)
  receiver.accepted.length = 0
  const { status, body } = await call('POST', `/${id}/replay`, { from: before })
  t.strictSame([status, body.data], [202, { changes: 6 }])
  await waitUntil('all events arrive again', () => receiver.accepted.length === 6)
  t.strictSame(receiver.accepted.map(message => message.id).sort(), ids.sort())
  for (const history of Object.values(historiesOf(receiver.accepted))) t.equal(history, 'key_1 key_3')
  const none = await call('POST', `/${id}/replay`, { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' })
  t.strictSame([none.status, none.body.data], [202, { changes: 0 }])
  const wrong = await call('POST', `/${id}/replay`, { from: '2026-13-01T00:00:00Z', to: 'yesterday' })
  t.strictSame([wrong.status, Object.keys(wrong.body.errors)], [422, ['to']])
  t.equal(
    (await call('POST', `/${id}/replay`, { from: '2026-02-02T00:00:00Z', to: '2026-02-01T00:00:00Z' })).status,
    422,
  )
  const timestamp = receiver.accepted[0]?.body.timestamp
  const moment = await call('POST', `/${id}/replay`, { from: timestamp, to: timestamp })
  t.strictSame(moment.body.data, { changes: 3 }, 'a period of one moment finds events to the microsecond')
})
