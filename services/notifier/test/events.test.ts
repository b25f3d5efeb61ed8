import { inTenant } from '@courier/shared/database.ts'
import type { OrderEvent } from '@courier/shared/order-facts.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { recordInbound } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { clean } from '../messages/housekeeping.ts'
import { orderEvent } from './orders-stand-in.ts'
import { build, type PortalOptions, serviceToken } from './portal.ts'
import { giveRules } from './rules-of-demo.ts'
import { phoneNumberId, until } from './stage.ts'

const prepare = async (t: Test, options: PortalOptions = {}, rules?: unknown[]) => {
  const built = await build(t, undefined, undefined, options)
  await giveRules(built.pool, rules)
  await built.rows(`update channels set state = 'paused'`)
  const start = async () => {
    await built.rows(`update channels set state = 'active'`)
    built.queue.start()
  }
  const tell = async (events: unknown, tenant = 'demo', token = serviceToken) => {
    const answer = await built.app.inject({
      method: 'POST',
      url: '/internal/events',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      payload: typeof events === 'string' ? events : JSON.stringify({ tenant, events }),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  const counted = async (outcome: string): Promise<number> => {
    const { payload } = await built.app.inject({ url: '/metrics' })
    return Number(new RegExp(`^events_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(payload)?.[1] ?? 0)
  }
  const told = async () =>
    built.rows('select recipient, status, error_meaning, waybill_number, template from messages order by message_id')
  return { ...built, start, tell, counted, told }
}

const many = (count: number): OrderEvent[] =>
  Array.from({ length: count }, (_, n) =>
    orderEvent(`e${n}`, { waybill_number: `DM${n}`, customer_phone: `0771${String(n).padStart(6, '0')}` }),
  )

t.test('an event makes the messages of its rules, once however often it is told', async t => {
  const { tell, told, counted } = await prepare(t)
  const first = await tell([orderEvent('a'), orderEvent('b', { waybill_number: 'DM2' }), orderEvent('a')])
  t.same(first, { status: 200, body: { message: 'The events are taken.', data: { taken: 2, repeated: 1 } } })
  t.same((await tell([orderEvent('a'), orderEvent('c', { status_key: 'key_9' }, 'order.status_changed')])).body.data, {
    taken: 1,
    repeated: 1,
  })
  const messages = await told()
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
        parameters: ['Nimali Perera', 'Lanka Shoes Online', '4500'].map(text => ({ type: 'text', text })),
      },
    ],
  })
  t.same([await counted('queued'), await counted('repeated'), await counted('no_rule')], [2, 2, 1])
})

t.test('500 events, told by several at once and in different orders, are taken once', async t => {
  const { tell, rows } = await prepare(t)
  const events = many(500)
  const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => tell(n % 2 ? events : events.toReversed())))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  )
  t.equal(
    answers.reduce((sum, { body }) => sum + body.data.taken, 0),
    500,
  )
  t.match(await rows('select count(*)::int as all, count(distinct waybill_number)::int as waybills from messages'), [
    { all: 500, waybills: 500 },
  ])
})

t.test('500 events of which five rules make messages are taken at once', async t => {
  const rules = Array.from({ length: 5 }, (_, n) => ({ on: 'key_1', template: `template_${n}`, language: 'en_US' }))
  const { tell, rows } = await prepare(t, {}, rules)
  t.same((await tell(many(500))).body.data, { taken: 500, repeated: 0 })
  t.match(await rows('select count(*)::int as all, count(distinct template)::int as templates from messages'), [
    { all: 2500, templates: 5 },
  ])
})

t.test('events that are half taken when Postgres fails are not taken at all, and then once', async t => {
  const { tell, rows, pool } = await prepare(t)
  const owner = await pool.connect()
  t.teardown(() => owner.release(true))
  // Whoever takes events stops at their messages: it holds the lock that those need.
  await owner.query(`begin; select set_config('app.tenant', '*', true); lock table messages in share mode`)
  const telling = tell(many(20))
  const find = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into messages%'
    and datname = current_database()`
  await until('it writes messages', async () => (await rows(find))[0])
  await rows(`select pg_terminate_backend(pid) from (${find}) waiting`)
  t.equal((await telling).status, 503)
  await owner.query('rollback')
  t.same(await rows('select 1 from events union all select 1 from messages'), [])
  t.same((await tell(many(20))).body.data, { taken: 20, repeated: 0 })
  t.equal((await rows('select 1 from messages')).length, 20)
})

t.test('a message that cannot be sent is a failed one with its reason, and the event is taken', async t => {
  const { tell, told, pool, counted, rows } = await prepare(t)
  await inTenant(pool, 'demo', (tx: Tx) =>
    recordInbound(tx, [
      { tenant: 'demo', phoneNumberId, recipient: '94770000101', at: new Date('2026-01-01'), wish: 'stop' },
    ]),
  )
  t.equal((await tell([orderEvent('a')])).status, 200)
  t.match(await told(), [{ status: 'failed', error_meaning: /asked for no more messages/ }])
  t.match(await rows('select status, detail from message_events'), [{ status: 'failed', detail: /no more messages/ }])
  t.equal(await counted('failed'), 1)
})

t.test('on plan free a closed conversation fails the message, or holds it where the rule says so', async t => {
  const rule = { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', 'x'] }
  const rules = [rule, { ...rule, on: 'key_1', hold_until_open: true }]
  const { tell, told } = await prepare(t, { plan: 'free' }, rules)
  await tell([orderEvent('a')])
  t.match(await told(), [{ status: 'failed', error_meaning: /No conversation/ }, { status: 'held' }])
})

t.test('a template that the catalogue does not have fails its messages', async t => {
  const { tell, told, call } = await prepare(t, { wabaId: '102290129340398' }, [
    { on: 'order.created', template: 'nowhere', language: 'en_US' },
    { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}'] },
  ])
  t.equal((await call('POST', '/api/templates/sync')).status, 200)
  await tell([orderEvent('a')])
  t.match(await told(), [
    { status: 'failed', error_meaning: /no template nowhere/ },
    { status: 'failed', error_meaning: /takes 2 parameters, 1 was given/ },
  ])
})

t.test('where nobody can be written to, or from, the reason stands with the event', async t => {
  const { tell, told, rows } = await prepare(t)
  await tell([orderEvent('a', { customer_phone: 'call the office' }), orderEvent('b')])
  await rows('update channels set is_default = false')
  await rows(`insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, rate)
    values ('demo', '200', 'Second', 'paid', false, '', 80)`)
  await tell([orderEvent('c')])
  t.equal((await told()).length, 1)
  t.same(await rows('select event_id, faults from events where faults is not null order by event_id'), [
    { event_id: 'a', faults: [{ template: 'order_created', detail: "The customer's phone is no phone number." }] },
    { event_id: 'c', faults: [{ template: 'order_created', detail: 'There is no default channel.' }] },
  ])
})

t.test('events of a tenant that is not known here are taken and forgotten, with a warning', async t => {
  const log: string[] = []
  const { tell, rows, counted } = await prepare(t, { log })
  for (const tenant of ['rival', '*', "demo'; --"])
    t.same(await tell([orderEvent('a')], tenant), {
      status: 200,
      body: { message: 'The events are taken.', data: { taken: 1, repeated: 0 } },
    })
  t.same(await rows('select 1 from events'), [])
  t.equal(await counted('unknown_tenant'), 3)
  const warned = log.map(line => JSON.parse(line)).filter(({ level }) => level === 40)
  t.match(warned[0], { msg: 'events.tenant_unknown', tenant: 'rival', events: 1 })
  t.equal(warned.length, 3)
})

t.test('strangers are refused, and bodies that are none of ours', async t => {
  const { tell, rows } = await prepare(t)
  t.equal((await tell([orderEvent('a')], 'demo', 'courier_x')).status, 401)
  const { order: _, ...bare } = orderEvent('a')
  const wrong: [body: unknown, path: string][] = [
    [[], 'events'],
    [many(501), 'events'],
    [[bare], 'events.0.order'],
    [[{ ...orderEvent('a'), type: 'order.lost' }], 'events.0.type'],
    [[{ ...orderEvent('a'), happened_at: 'yesterday' }], 'events.0.happened_at'],
    [[orderEvent('a'), orderEvent('a\u0000')], 'events.1.id'],
    [[orderEvent('a', { waybill_number: '\ud800' })], 'events.0.order.waybill_number'],
  ]
  for (const [events, path] of wrong) {
    const { status, body } = await tell(events)
    t.same([status, Object.keys(body.errors)], [422, [path]])
  }
  t.equal((await tell('{"tenant":')).status, 400)
  t.same(await rows('select 1 from events'), [])
})

t.test('text that no parameter may hold is made sendable', async t => {
  const { tell, told } = await prepare(t)
  const customer_name = ` Nimali\n\tPerera\u0000      \ud800${'x'.repeat(2000)}`
  await tell([orderEvent('a', { customer_name, business_name: '' })])
  const [{ status, template }] = await told()
  t.equal(status, 'queued')
  const [name, business] = template.components[1].parameters
  t.match(name.text, /^Nimali Perera \ufffdx+$/)
  t.equal(name.text.length, 1024)
  t.equal(business.text, '-')
})

t.test(
  'messages about one parcel leave in the order of its events, also when the first must be sent again',
  async t => {
    const { tell, start, control, rows } = await prepare(t)
    control.script({ call: 'messages', times: 1, recipient: '94770000101', trouble: { kind: 'error', code: 131000 } })
    const moves = ['key_1', 'key_12', 'key_13'].map((status_key, n) =>
      orderEvent(`e${n}`, { status_key }, n === 0 ? 'order.created' : 'order.status_changed'),
    )
    const others = Array.from({ length: 100 }, (_, n) =>
      orderEvent(`o${n}`, { waybill_number: `DM${n}`, customer_phone: `0772${String(n).padStart(6, '0')}` }),
    )
    await tell([moves[0], ...others, moves[1]])
    await start()
    await tell([moves[2]])
    const sent = async () => rows(`select 1 from messages where status = 'accepted'`)
    await until('all are accepted', async () => (await sent()).length === 103, 60)
    const names = control.messages({ to: '94770000101' }).map(({ template }) => template.name)
    t.same(names.toReversed(), ['order_created', 'order_out_for_delivery', 'order_delivered'])
  },
)

t.test('with a pause between messages to one person they leave in order too', async t => {
  const { tell, start, control } = await prepare(t, { pairSeconds: 1 })
  await start()
  const moves = ['key_1', 'key_12', 'key_13'].map((status_key, n) =>
    orderEvent(`e${n}`, { status_key }, n === 0 ? 'order.created' : 'order.status_changed'),
  )
  await tell(moves)
  const names = () => control.messages({ to: '94770000101' }).map(({ template }) => template.name)
  await until('all have left', async () => names().length === 3, 60)
  t.same(names().toReversed(), ['order_created', 'order_out_for_delivery', 'order_delivered'])
})

t.test('a message that waits long for another does not silence its order', async t => {
  const { tell, start, control, rows } = await prepare(t)
  await tell([orderEvent('a')])
  await rows(`update messages set attempts = 3, due_at = now() + interval '1 hour'`)
  await tell([orderEvent('b', { status_key: 'key_13' }, 'order.status_changed')])
  await rows(
    `update messages set status_at = now() - interval '15 minutes' where template ->> 'name' = 'order_delivered'`,
  )
  await start()
  await until('the later one has left', async () => control.messages().length === 1)
  t.equal(control.messages()[0]?.template.name, 'order_delivered')
})

t.test('ids are kept for 30 days', async t => {
  const { tell, rows, pool } = await prepare(t)
  await tell([orderEvent('old'), orderEvent('new')])
  await rows(`update events set taken_at = now() - interval '29 days' where event_id = 'new'`)
  await rows(`update events set taken_at = now() - interval '31 days' where event_id = 'old'`)
  await clean(pool, pino({ level: 'silent' }))
  t.same(await rows('select event_id from events'), [{ event_id: 'new' }])
})
