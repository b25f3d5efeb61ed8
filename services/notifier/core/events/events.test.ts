import { randomBytes } from 'node:crypto'
import type { OrderEvent } from '@courier/shared/contract/order-events.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { findStream } from '@courier/shared/postgres/pg-internals.ts'
import type pg from 'pg'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createNotifierHousekeeping } from '../../housekeeping.ts'
import { until } from '../../test/fixture.ts'
import { orderEvent, orderFacts, standIn, withoutPage } from '../../test/orders-stand-in.ts'
import { build, buildTenant, type PortalOptions, serviceToken } from '../../test/portal.ts'
import { demoFile, giveRules } from '../../test/rules-of-demo.ts'
import { recordInbound } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { OrdersClient } from '../orders-client/orders-client.ts'

const prepare = async (t: Test, options: PortalOptions = {}, rules?: unknown[], orders?: OrdersClient) =>
  withRules(await buildTenant(t, options, orders && { orders }), rules)

/** Prepares a database of its own. */
const prepareAlone = async (t: Test) => withRules(await build(t))

const withRules = async (built: Awaited<ReturnType<typeof build>>, rules?: unknown[]) => {
  await giveRules(built.pool, rules, built.tenant)
  await built.rows(`update channels set state = 'paused'`)
  const start = async () => {
    await built.rows(`update channels set state = 'active'`)
    built.queue.start()
  }
  const deliver = async (events: unknown, tenant = built.tenant, token = serviceToken) => {
    const response = await built.app.inject({
      method: 'POST',
      url: '/internal/events',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      payload: typeof events === 'string' ? events : JSON.stringify({ tenant, events }),
    })
    return { status: response.statusCode, body: response.json() }
  }
  const counted = async (outcome: string): Promise<number> => {
    const { payload } = await built.app.inject({ url: '/metrics' })
    return Number(new RegExp(`^events_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(payload)?.[1] ?? 0)
  }
  const queued = async () =>
    built.rows('select recipient, status, error_meaning, waybill_number, template from messages order by message_id')
  return { ...built, start, deliver, counted, queued }
}

t.test('a message with the link to the parcel’s page fails if orders sends no link', async t => {
  const rule = { on: 'order.created', template: 'order_created', language: 'en_US', header: ['{{waybill_number}}'] }
  const body = ['{{customer_name}}', '{{tracking_url}}', '{{cod}}']
  const { client, known, state } = await standIn(t, withoutPage('DM00000002'))
  const { deliver, queued, rows, call, tenant } = await prepare(t, {}, [{ ...rule, body }], client)
  state.tenant = tenant
  await deliver([orderEvent('a'), orderEvent('b', withoutPage('DM00000002'))])
  t.match(await queued(), [
    {
      status: 'queued',
      template: { components: [{}, { parameters: [{}, { text: 'https://courier.example/t/demo/DM00000001' }] }] },
    },
    { status: 'failed', error_meaning: 'The order has no {{tracking_url}}: orders needs PUBLIC_URL.' },
  ])
  const [{ message_id }] = await rows(`select message_id from messages where status = 'failed'`)
  const { status, body: resent } = await call('POST', `/api/messages/${message_id}/resend`)
  t.match([status, resent], [422, { errors: { status: [/needs PUBLIC_URL/] } }], 'the message still lacks its link')
  known.set('DM00000002', orderFacts({ waybill_number: 'DM00000002' }))
  t.equal((await call('POST', `/api/messages/${message_id}/resend`)).status, 200, 'now the order has a link')
})

t.test('a move taken back cancels its waiting message, but not that of the move that follows', async t => {
  const rule = { template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
  const { deliver, rows } = await prepare(t, {}, [
    { ...rule, on: 'key_13' },
    { ...rule, on: 'key_12' },
  ])
  const move = (id: string, status_key: string) => orderEvent(id, { status_key }, 'order.status_changed')
  const takeBack = (id: string, status_key: string) => orderEvent(id, { status_key }, 'take_back.accepted')
  const stored = async () =>
    (await rows('select rule_event, status from messages order by message_id')).map(Object.values)
  await deliver([move('a', 'key_12'), move('b', 'key_13'), takeBack('c', 'key_12')])
  t.same(await stored(), [
    ['key_12', 'queued'],
    ['key_13', 'cancelled'],
  ])
  await deliver([move('d', 'key_13')])
  await deliver([takeBack('e', 'key_12'), move('f', 'key_13'), takeBack('g', 'key_12'), move('h', 'key_13')])
  const ofFirst = [
    ['key_12', 'queued'],
    ['key_13', 'cancelled'],
  ]
  t.same(await stored(), [...ofFirst, ['key_13', 'cancelled'], ['key_13', 'cancelled'], ['key_13', 'queued']])
})

t.test('a move taken back cancels its waiting message by a rule on any move', async t => {
  const body = ['{{customer_name}}', '{{status_name}}']
  const rule = { on: 'order.status_changed', template: 'order_delivered', language: 'en_US', body }
  const { deliver, rows } = await prepare(t, {}, [{ ...rule, on: 'order.created' }, rule])
  const at = (id: string, status_key: string, type: OrderEvent['type']) => orderEvent(id, { status_key }, type)
  await deliver([at('a', 'key_1', 'order.created'), at('b', 'key_12', rule.on), at('c', 'key_13', rule.on)])
  await deliver([at('d', 'key_12', 'take_back.accepted')])
  const statuses = await rows('select status from messages order by message_id')
  t.same(
    statuses.map(({ status }) => status),
    ['queued', 'queued', 'cancelled'],
  )
})

t.test('a move taken back more than a day before its event arrives still cancels its waiting message', async t => {
  const rule = { template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
  const { deliver, rows } = await prepare(t, {}, [{ ...rule, on: 'key_13', expires_after_hours: 72 }])
  await deliver([orderEvent('a', { status_key: 'key_13' }, 'order.status_changed')])
  const happened_at = new Date(Date.now() - 25 * 3_600_000).toISOString()
  await deliver([{ ...orderEvent('b', { status_key: 'key_12' }, 'take_back.accepted'), happened_at }])
  t.match(await rows('select status from messages'), [{ status: 'cancelled' }])
})

const many = (count: number): OrderEvent[] =>
  Array.from({ length: count }, (_, n) =>
    orderEvent(`e${n}`, { waybill_number: `DM${n}`, customer_phone: `0771${String(n).padStart(6, '0')}` }),
  )

t.test('an event creates the messages of its rules once, however often it is delivered', async t => {
  const { deliver, queued, counted } = await prepare(t)
  const first = await deliver([orderEvent('a'), orderEvent('b', { waybill_number: 'DM2' }), orderEvent('a')])
  t.same(first, {
    status: 200,
    body: { message: 'The events are accepted.', data: { taken: 2, repeated: 1, expired: 0 } },
  })
  t.same(
    (await deliver([orderEvent('a'), orderEvent('c', { status_key: 'key_9' }, 'order.status_changed')])).body.data,
    {
      taken: 1,
      repeated: 1,
      expired: 0,
    },
  )
  const messages = await queued()
  t.match(messages, [
    { recipient: '94770000101', status: 'queued', waybill_number: 'DM00000001' },
    { recipient: '94770000101', status: 'queued', waybill_number: 'DM2' },
  ])
  t.equal(messages.length, 2)
  t.same(messages[0].template, {
    name: 'order_created',
    language: { code: 'en_US' },
    components: [
      { type: 'header', parameters: [{ type: 'text', text: 'DM00000001' }] },
      {
        type: 'body',
        parameters: ['Nimali Perera', 'Lanka Shoes Online', 'LKR 4500'].map(text => ({ type: 'text', text })),
      },
    ],
  })
  t.same([await counted('queued'), await counted('repeated'), await counted('no_rule')], [2, 2, 1])
})

t.test('500 events, delivered concurrently and in different orders, are processed once', async t => {
  const { deliver, rows } = await prepare(t)
  const events = many(500)
  const responses = await Promise.all(
    Array.from({ length: 6 }, (_, n) => deliver(n % 2 ? events : events.toReversed())),
  )
  t.same(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  )
  t.equal(
    responses.reduce((sum, { body }) => sum + body.data.taken, 0),
    500,
  )
  t.match(await rows('select count(*)::int as all, count(distinct waybill_number)::int as waybills from messages'), [
    { all: 500, waybills: 500 },
  ])
})

t.test('500 events with five rules each are processed in one request', async t => {
  const rules = Array.from({ length: 5 }, (_, n) => ({ on: 'key_1', template: `template_${n}`, language: 'en_US' }))
  const { deliver, rows } = await prepare(t, {}, rules)
  t.same((await deliver(many(500))).body.data, { taken: 500, repeated: 0, expired: 0 })
  t.match(await rows('select count(*)::int as all, count(distinct template)::int as templates from messages'), [
    { all: 2500, templates: 5 },
  ])
})

t.test('events whose processing Postgres interrupts are not stored; a repetition processes them once', async t => {
  const { deliver, rows, pool } = await prepareAlone(t)
  const owner = await pool.connect()
  t.teardown(() => owner.release(true))
  // Blocks event processing at the insertion of messages by holding the lock that it needs.
  await owner.query(`begin; lock table messages in share mode`)
  const delivering = deliver(many(20))
  const find = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into messages%'
    and datname = current_database()`
  await until('the notifier inserts messages', async () => (await rows(find))[0])
  await rows(`select pg_terminate_backend(pid) from (${find}) waiting`)
  t.equal((await delivering).status, 503)
  await owner.query('rollback')
  t.same(await rows('select 1 from events union all select 1 from messages'), [])
  t.same((await deliver(many(20))).body.data, { taken: 20, repeated: 0, expired: 0 })
  t.equal((await rows('select 1 from messages')).length, 20)
})

t.test('stores an unsendable message as failed with its reason, and accepts the event', async t => {
  const { deliver, queued, pool, counted, rows, tenant, phoneNumberId } = await prepare(t)
  await inTenant(pool, tenant, (tx: Tx) =>
    recordInbound(tx, [
      { tenant, phoneNumberId, recipient: '94770000101', at: new Date('2026-01-01'), keyword: 'stop' },
    ]),
  )
  t.equal((await deliver([orderEvent('a')])).status, 200)
  t.match(await queued(), [{ status: 'failed', error_meaning: /asked for no more messages/ }])
  t.match(await rows('select status, detail from message_events'), [{ status: 'failed', detail: /no more messages/ }])
  t.equal(await counted('failed'), 1)
})

t.test('on the free plan a closed conversation fails the message, or holds it if the rule says so', async t => {
  const rule = { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', 'x'] }
  const rules = [rule, { ...rule, on: 'key_1', hold_until_open: true }]
  const { deliver, queued } = await prepare(t, { plan: 'free' }, rules)
  await deliver([orderEvent('a')])
  t.match(await queued(), [{ status: 'failed', error_meaning: /No conversation/ }, { status: 'held' }])
})

t.test('a mismatch with the catalogue fails the message, but an unknown template does not', async t => {
  const { deliver, queued, call } = await prepare(t, { wabaId: '102290129340398' }, [
    { on: 'order.created', template: 'nowhere', language: 'en_US' },
    { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}'] },
  ])
  t.equal((await call('POST', '/api/templates/sync')).status, 200)
  await deliver([orderEvent('a')])
  t.match(await queued(), [
    { status: 'queued' },
    { status: 'failed', error_meaning: /takes 2 parameters, 1 was given/ },
  ])
})

t.test('stores the reason with the event if there is no recipient or no sender', async t => {
  const { deliver, queued, rows, tenant, phoneNumberId } = await prepare(t)
  await deliver([orderEvent('a', { customer_phone: 'call the office' }), orderEvent('b')])
  await rows('update channels set is_default = false')
  await rows(
    `insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, proven_at, rate)
    values ($1, $2, 'Second', 'paid', false, '', now(), 80)`,
    [tenant, `${phoneNumberId}2`],
  )
  await deliver([orderEvent('c')])
  t.equal((await queued()).length, 1)
  t.same(await rows('select event_id, faults from events where faults is not null order by event_id'), [
    { event_id: 'a', faults: [{ template: 'order_created', detail: "The customer's phone is not a phone number." }] },
    { event_id: 'c', faults: [{ template: 'order_created', detail: 'There is no default channel.' }] },
  ])
})

t.test('stores the company’s time zone from orders and applies it to hours', async t => {
  const { deliver, rows, tenant } = await prepare(t)
  const zone = async () => (await rows('select time_zone from tenants where tenant_id = $1', [tenant]))[0].time_zone
  await rows(`update tenants set send_between = '{00:00,00:01}' where tenant_id = $1`, [tenant])
  await deliver([orderEvent('a', { time_zone: 'Pacific/Kiritimati' })])
  t.equal(await zone(), 'Pacific/Kiritimati')
  t.match(await rows('select hours from messages'), [{ hours: { timeZone: 'Pacific/Kiritimati' } }])
  await deliver([orderEvent('b', { time_zone: 'Asia/Unheard_Of' }), orderEvent('c')])
  t.equal(await zone(), 'Pacific/Kiritimati', 'a zone that is unknown here, or none, changes nothing')
})

t.test('refuses events of an unknown tenant with the code unknown_tenant', async t => {
  const { deliver, rows } = await prepareAlone(t)
  for (const tenant of ['rival', '*', "demo'; --"])
    t.match(await deliver([orderEvent('a')], tenant), { status: 404, body: { code: 'unknown_tenant' } })
  t.same(await rows('select 1 from events'), [])
})

t.test('accepts an event older than 24 hours and makes no message', async t => {
  const { deliver, queued, counted } = await prepare(t)
  const aged = (id: string, hours: number) => ({
    ...orderEvent(id, { waybill_number: id }),
    happened_at: new Date(Date.now() - hours * 3_600_000).toISOString(),
  })
  const events = [aged('a', 1_000), aged('b', 24.1), aged('c', 23.9)]
  t.same((await deliver(events)).body.data, { taken: 3, repeated: 0, expired: 2 })
  t.same((await deliver(events)).body.data, { taken: 0, repeated: 3, expired: 0 })
  t.match(await queued(), [{ status: 'queued', waybill_number: 'c' }])
  t.same([await counted('expired'), await counted('queued')], [2, 1])
})

t.test('a message belongs to the trace of its event', async t => {
  const { deliver, rows } = await prepare(t)
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await deliver([{ ...orderEvent('a'), traceparent }, orderEvent('b', { waybill_number: 'DM2' })])
  t.same(await rows('select traceparent from messages order by message_id'), [{ traceparent }, { traceparent: null }])
})

t.test('refuses requests without the service token, and malformed bodies', async t => {
  const { deliver, rows } = await prepare(t)
  t.equal((await deliver([orderEvent('a')], undefined, 'courier_x')).status, 401)
  const { order: _, ...bare } = orderEvent('a')
  const wrong: [body: unknown, path: string][] = [
    [[], 'events'],
    [many(501), 'events'],
    [[bare], 'events.0.order'],
    [[{ ...orderEvent('a'), type: 'order.lost' }], 'events.0.type'],
    [[{ ...orderEvent('a'), happened_at: 'yesterday' }], 'events.0.happened_at'],
    [[{ ...orderEvent('a'), traceparent: 'x' }], 'events.0.traceparent'],
    [[orderEvent('a'), orderEvent('a\u0000')], 'events.1.id'],
    [[orderEvent('a', { waybill_number: '\ud800' })], 'events.0.order.waybill_number'],
    [[orderEvent('a', { waybill_number: randomBytes(3000).toString('hex') })], 'events.0.order.waybill_number'],
    [[orderEvent('a', { merchant_name: 'a\u0000' })], 'events.0.order.merchant_name'],
  ]
  for (const [events, path] of wrong) {
    const { status, body } = await deliver(events)
    t.same([status, Object.keys(body.errors)], [422, [path]])
  }
  t.equal((await deliver('{"tenant":')).status, 400)
  t.same(await rows('select 1 from events'), [])
})

t.test('turns values into texts that a parameter may contain', async t => {
  const { deliver, queued } = await prepare(t)
  const customer_name = ` Nimali\n\tPerera\u0000      \ud800${'x'.repeat(2000)}`
  await deliver([orderEvent('a', { customer_name, business_name: '' })])
  const [{ status, template }] = await queued()
  t.equal(status, 'queued')
  const [name, business] = template.components[1].parameters
  t.match(name.text, /^Nimali Perera \ufffdx+$/)
  t.equal(name.text.length, 1024)
  t.equal(business.text, '-')
})

t.test('messages about one parcel leave in the order of its events, even when the first must be retried', async t => {
  const { deliver, start, control, rows } = await prepare(t)
  control.script({ call: 'messages', times: 1, recipient: '94770000101', trouble: { kind: 'error', code: 131000 } })
  const moves = ['key_1', 'key_12', 'key_13'].map((status_key, n) =>
    orderEvent(`e${n}`, { status_key }, n === 0 ? 'order.created' : 'order.status_changed'),
  )
  const others = Array.from({ length: 100 }, (_, n) =>
    orderEvent(`o${n}`, { waybill_number: `DM${n}`, customer_phone: `0772${String(n).padStart(6, '0')}` }),
  )
  await deliver([moves[0], ...others, moves[1]])
  await start()
  await deliver([moves[2]])
  const sent = async () => rows(`select 1 from messages where status = 'accepted'`)
  await until('all are accepted', async () => (await sent()).length === 103, 60)
  const names = control.messages({ to: '94770000101' }).map(({ template }) => template?.name)
  t.same(names.toReversed(), ['order_created', 'order_out_for_delivery', 'order_delivered'])
})

t.test('messages to one person leave in order even with a pause between them', async t => {
  const { deliver, start, control } = await prepare(t, { recipientPauseSeconds: 1 })
  await start()
  const moves = ['key_1', 'key_12', 'key_13'].map((status_key, n) =>
    orderEvent(`e${n}`, { status_key }, n === 0 ? 'order.created' : 'order.status_changed'),
  )
  await deliver(moves)
  const names = () => control.messages({ to: '94770000101' }).map(({ template }) => template?.name)
  await until('all have left', async () => names().length === 3, 60)
  t.same(names().toReversed(), ['order_created', 'order_out_for_delivery', 'order_delivered'])
})

t.test('a message that waits long does not block the other messages about its order', async t => {
  const { deliver, start, control, rows } = await prepare(t)
  await deliver([orderEvent('a')])
  await rows(`update messages set attempts = 3, due_at = now() + interval '1 hour'`)
  await deliver([orderEvent('b', { status_key: 'key_13' }, 'order.status_changed')])
  await rows(
    `update messages set status_at = now() - interval '15 minutes' where template ->> 'name' = 'order_delivered'`,
  )
  await start()
  await until('the later one has left', async () => control.messages().length === 1)
  t.equal(control.messages()[0]?.template?.name, 'order_delivered')
})

t.test('keeps the ids of events for 30 days', async t => {
  const { deliver, rows, pool } = await prepareAlone(t)
  await deliver([orderEvent('old'), orderEvent('new')])
  await rows(`update events set taken_at = now() - interval '29 days' where event_id = 'new'`)
  await rows(`update events set taken_at = now() - interval '31 days' where event_id = 'old'`)
  await createNotifierHousekeeping(pool, pino({ level: 'silent' })).clean()
  t.same(await rows('select event_id from events'), [{ event_id: 'new' }])
})

t.test('a paid invoice makes a message to its merchant, about no parcel', async t => {
  const invoice = {
    ...{ merchant_name: 'Lanka Shoes', merchant_phone: '0112345678', invoice_no: 'CFX-1', invoice_ref_no: 'MI-1' },
    ...{ total: '15451.80', currency: 'LKR', paid_on: '2026-02-20', time_zone: 'Asia/Colombo' },
  }
  const paid = (id: string, more = {}) => ({
    ...{ id, type: 'invoice.deposited', happened_at: new Date().toISOString() },
    invoice: { ...invoice, ...more },
  })
  const { deliver, queued, rows, start, call, tenant } = await prepare(t, {}, demoFile().rules)
  t.match(await deliver([paid('a'), paid('b', { merchant_phone: null }), orderEvent('c'), paid('a')]), {
    ...{ status: 200, body: { data: { taken: 3, repeated: 1 } } },
  })
  t.match(await queued(), [
    {
      ...{ recipient: '94112345678', status: 'queued', waybill_number: null },
      template: {
        name: 'invoice_paid',
        components: [{ parameters: ['Lanka Shoes', 'MI-1', 'LKR 15451.80', '2026-02-20'].map(text => ({ text })) }],
      },
    },
    { waybill_number: 'DM00000001' },
  ])
  t.match(await rows('select time_zone from tenants where tenant_id = $1', [tenant]), [{ time_zone: 'Asia/Colombo' }])
  const [{ message_id: id }] = await rows('select message_id from messages where waybill_number is null')
  await deliver([orderEvent('d', { customer_phone: '0112345678' }, 'order.edited')])
  t.match(await queued(), [{ recipient: '94112345678', waybill_number: null }, { recipient: '94112345678' }])
  await start()
  await until(
    'both messages are sent',
    async () => (await rows('select from messages where status = $1', ['accepted'])).length === 2,
  )
  await rows(`update messages set status = 'failed' where message_id = $1`, [id])
  t.equal((await call('POST', `/api/messages/${id}/resend`)).status, 200, 'staff may send it again')
  t.match((await call('GET', `/api/messages?to=0112345678`)).body.data, [{ waybill_number: 'DM00000001' }, { id }])
})

t.test('a new bank account makes a message to its merchant', async t => {
  const rule = {
    ...{ on: 'bank_account.changed', template: 'order_delivered', language: 'en_US' },
    body: ['{{bank}} {{last_four}}', '{{object_until}}'],
  }
  const { deliver, queued } = await prepare(t, {}, [rule])
  const bank_account = {
    ...{ merchant_name: 'Lanka Shoes', merchant_phone: '0112345678', version: '2', bank: 'Bank of Ceylon' },
    ...{ last_four: '4567', object_until: '2026-02-21 10:00', time_zone: 'Asia/Colombo' },
  }
  const event = { id: 'a', type: 'bank_account.changed', happened_at: new Date().toISOString(), bank_account }
  const silent = { ...event, id: 'b', bank_account: { ...bank_account, merchant_phone: null } }
  t.match((await deliver([event, silent])).body.data, { taken: 2 })
  const parameters = ['Bank of Ceylon 4567', '2026-02-21 10:00'].map(text => ({ text }))
  t.match(await queued(), [{ recipient: '94112345678', template: { components: [{ parameters }] } }])
  t.equal((await queued()).length, 1)
  const bad = { ...event, id: 'c', bank_account: { ...bank_account, merchant_name: '\u0000' } }
  t.match((await deliver([bad])).body.errors, { 'events.0.bank_account.merchant_name': [] })
})

t.test('a pickup makes a message to its merchant; a fact that it lacks is blank', async t => {
  const rule = {
    on: 'pickup.done',
    template: 'order_delivered',
    language: 'en_US',
    body: ['{{parcels}}', '{{rider}}-'],
  }
  const { deliver, queued } = await prepare(t, {}, [rule])
  const pickup = {
    ...{ merchant_name: 'Lanka Shoes', merchant_phone: '0112345678', pickup_id: '7', day: '2026-02-19' },
    ...{ business_name: 'Lanka Shoes Online', parcels: '12', missing: '0', extra: '1', time_zone: 'Asia/Colombo' },
  }
  const event = { id: 'a', type: 'pickup.done', happened_at: new Date().toISOString(), pickup }
  t.match((await deliver([event, { ...event, id: 'b', type: 'pickup.missed' }])).body.data, { taken: 2 })
  const parameters = ['12', '-'].map(text => ({ text }))
  t.match(await queued(), [{ recipient: '94112345678', template: { components: [{ parameters }] } }])
  t.equal((await queued()).length, 1)
})

t.test('a person who opted out gets no message about an invoice, and the rule’s hours apply', async t => {
  const rule = {
    on: 'invoice.deposited',
    template: 'order_delivered',
    language: 'en_US',
    body: ['{{total}}', '{{paid_on}}'],
  }
  const { deliver, queued, rows, call } = await prepare(t, {}, [{ ...rule, send_between: ['00:00', '00:01'] }])
  const invoice = { merchant_name: 'Lanka Shoes', invoice_no: 'CFX-1', invoice_ref_no: 'MI-1', total: '1.00' }
  const event = (id: string, merchant_phone: string) => ({
    ...{ id, type: 'invoice.deposited', happened_at: new Date().toISOString() },
    invoice: { ...invoice, merchant_phone, currency: 'LKR', paid_on: '2026-02-20' },
  })
  t.equal((await call('POST', '/api/conversations/94112345678/opt-out', { reason: 'By letter.' })).status, 200)
  await deliver([event('a', '0112345678'), event('b', '0771234567'), event('c', 'the shop')])
  t.match(await queued(), [
    { recipient: '94112345678', status: 'failed', error_meaning: /asked for no more messages/ },
    { recipient: '94771234567', status: 'queued' },
  ])
  t.match(await rows(`select send_at from messages where status = 'queued'`), [{ send_at: Date }])
  t.match(await rows('select faults from events where faults is not null'), [
    { faults: [{ detail: "The merchant's phone is not a phone number." }] },
  ])
})

t.test('a batch of events takes six round trips to Postgres, or fewer', async t => {
  let writes = 0
  const countWrites = (client: pg.PoolClient) => {
    const stream = findStream(client)
    const write = stream.write.bind(stream) as (...given: unknown[]) => boolean
    stream.write = (...given: unknown[]) => {
      writes++
      return write(...given)
    }
  }
  const poolOf = async (url: string) => createPool({ url, name: 'counted', connections: 1 }).on('connect', countWrites)
  const { deliver, queued } = await prepare(t, { poolOf, wabaId: 'w' }, demoFile().rules)
  await deliver([orderEvent('first', { waybill_number: 'DM7' })])
  for (const event of [orderEvent('a'), orderEvent('b', { status_key: 'key_13' }, 'order.status_changed')]) {
    writes = 0
    t.equal((await deliver([event, { ...event, id: `${event.id} 2` }])).status, 200)
    t.ok(writes > 0 && writes <= 6, ` ${writes}`)
  }
  t.equal((await queued()).length, 5)
})
