import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { processEvents } from '../../core/events/process.ts'
import { addTenant, until } from '../../test/fixture.ts'
import { orderEvent, standIn } from '../../test/orders-stand-in.ts'
import { buildTenant } from '../../test/portal.ts'
import {
  changeAddress,
  confirm,
  customer,
  prepareTenant as prepareReplies,
  waybill,
} from '../../test/replies-fixture.ts'
import { giveRules, perPerson } from '../../test/rules-of-demo.ts'
import { mergeTimelines } from './merge.ts'

const prepare = async (t: Test) => {
  const { client, state } = await standIn(t, {}, { waybill_number: 'DM2' })
  const built = await buildTenant(t, {}, { orders: client })
  const { pool, tenant } = built
  state.tenant = tenant
  await giveRules(pool, undefined, tenant)
  const process = (...events: ReturnType<typeof orderEvent>[]) => processEvents(pool, { tenant, events })
  const read = (waybill: string) => built.call('GET', `/api/timeline/${encodeURIComponent(waybill)}`)
  return { ...built, state, process, read }
}

t.test('lists the statuses of a parcel and the messages to its customer together, newest first', async t => {
  const { process, read, queue, rows } = await prepare(t)
  await process(orderEvent('a'), orderEvent('b', { waybill_number: 'DM2' }))
  queue.start()
  await until('both are accepted', async () => (await rows(`select from messages where status = 'accepted'`))[1])
  const { status, body } = await read('DM00000001')
  t.equal(status, 200)
  t.match(body.data, { waybill_number: 'DM00000001', order: { status_key: 'key_1', status_name: 'DRAFT' } })
  const [{ message_id }] = await rows(`select message_id from messages where waybill_number = 'DM00000001'`)
  const message = { kind: 'message', message_id, template: 'order_created', detail: null }
  t.match(body.data.timeline, [
    { ...message, status: 'accepted' },
    { ...message, status: 'queued' },
    {
      kind: 'tracking',
      status_key: 'key_2',
      staff_name: 'Ruwan',
      note: null,
      by: 'staff',
      at: '2026-02-19T19:06:23.000Z',
    },
    { kind: 'tracking', status_key: 'key_1', staff_name: null, at: '2026-02-19T18:00:00.000Z' },
  ])
  t.equal(body.data.timeline.length, 4)
})

t.test('a message that could not be created appears with the reason', async t => {
  const { process, read, rows } = await prepare(t)
  await rows(`update channels set state = 'paused'`)
  await process(orderEvent('a', { customer_phone: 'call the office' }))
  t.match((await read('DM00000001')).body.data.timeline[0], {
    kind: 'event',
    event_id: 'a',
    type: 'order.created',
    status_key: 'key_1',
    template: 'order_created',
    detail: "The customer's phone is not a phone number.",
  })
})

t.test('shows a message about several parcels, with its price, in the timeline of each', async t => {
  const { pool, tenant, deliver, read, queue, rows } = await prepare(t)
  await giveRules(pool, [perPerson], tenant)
  const waybills = ['DM00000001', 'DM2']
  for (const waybill_number of waybills)
    await deliver(orderEvent(waybill_number, { waybill_number, status_key: 'key_12' }, 'order.status_changed'))
  await rows(`update messages set due_at = now(), send_at = now()`)
  queue.start()
  await until('it is accepted', async () => (await rows(`select from messages where status = 'accepted'`))[0])
  await rows(`
    insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, country,
      template)
    select tenant_id, message_id, provider_message_id, now(), 'utility', false, 'LK', 'order_delivered'
    from messages where provider_message_id is not null`)
  const [first, second] = await Promise.all(waybills.map(async waybill => (await read(waybill)).body.data.timeline[0]))
  t.match(first, { kind: 'message', status: 'accepted', cost: { category: 'utility' } })
  t.same(second, first)
})

t.test('shows what the customer pressed, and the address that was not confirmed', async t => {
  const { orders, control, offer, settled, question, call } = await prepareReplies(t)
  orders.decide.outcomeOf = ({ action }) => (action === 'change_address' ? 'asked' : 'done')
  const message_id = await offer()
  control.press({ message_id, index: confirm })
  const [action] = await settled(1)
  control.press({ message_id, index: changeAddress })
  await settled(2)
  control.inbound({ from: customer, text: '12 Galle Road, Matara' })
  await question('12 Galle Road')
  const { timeline } = (await call('GET', `/api/timeline/${waybill}`)).body.data
  t.match(
    timeline.filter(({ kind }: { kind: string }) => kind === 'action'),
    [
      { actor: 'customer', action: 'change_address', outcome: 'unconfirmed' },
      { actor: 'customer', action: 'change_address', outcome: 'asked' },
      { actor: 'customer', action: 'confirm_order', outcome: 'done', message_id: action.message_id },
    ],
  )
})

t.test('a waybill unknown to orders gets 404; every waybill gets 503 while orders is unavailable', async t => {
  const { read, call, state } = await prepare(t)
  const unknown = await read('DM404')
  t.same([unknown.status, unknown.body.message], [404, 'The requested waybill does not exist in the system'])
  for (const odd of ['x'.repeat(51), '\u0000', '😀']) t.equal((await read(odd)).status, 422, JSON.stringify(odd))
  t.match((await call('GET', '/api/timeline/DM00000001?page=1')).body, { errors: { page: [/not known/] } })
  t.equal((await read('..%2f..')).status, 404)
  t.equal((await read('dm 00000001')).body.data.waybill_number, 'DM00000001')
  state.isBroken = true
  const unavailable = await read('DM00000001')
  t.same([unavailable.status, unavailable.headers['retry-after']], [503, '2'])
})

t.test('shows nothing of another tenant, even when both have the waybill', async t => {
  const { read, pool, call, state, phoneNumberId } = await prepare(t)
  const [rival, theirs] = ['rival', `${phoneNumberId}9`]
  await addTenant(pool, rival, theirs, {})
  await inTenant(pool, rival, async (tx: Tx) => {
    await tx.client.query(
      `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, waybill_number, status,
        holds_until_open, due_at, expires_at)
      values ('rival', 'msg_0', $1, '94770000101', '{"name": "secret"}', 'DM00000001', 'failed', false, now(), now())`,
      [theirs],
    )
    await tx.client.query(
      `insert into message_events (tenant_id, message_id, status) values ('rival', 'msg_0', 'failed')`,
    )
    await tx.client.query(`
      insert into events (tenant_id, event_id, type, waybill_number, status_key, happened_at, faults)
      values ('rival', 'a', 'order.created', 'DM00000001', 'key_1', now(), '[{"template": "secret", "detail": ""}]')`)
    t.equal((await tx.client.query('select from messages')).rows.length, 1)
  })
  const { status, body } = await read('DM00000001')
  t.equal(status, 200)
  t.notMatch(JSON.stringify(body), /secret/)
  const asked = state.asked.length
  const foreign = await call('GET', '/api/timeline/DM00000001', undefined, { 'x-tenant': rival })
  t.equal(foreign.status, 401)
  t.equal(state.asked.length, asked)
})

t.test("a webhook's time in whole seconds does not put a status before the one it followed", async t => {
  const message = { message_id: 'm', template: 'order_created', detail: null }
  const update = (status: 'queued' | 'accepted' | 'sent', at: string) => ({ ...message, status, at: new Date(at) })
  const tracking = { status_key: 'key_1', status_name: 'DRAFT', staff_name: null, note: null }
  const merged = mergeTimelines({
    tracking: [
      { ...tracking, status_key: 'key_2', at: '2026-03-01T10:00:00.500Z' },
      { ...tracking, at: '2026-03-01T10:00:00.500Z' },
    ],
    edits: [{ fields: ['cod'], at: '2026-03-01T10:00:00.550Z', staff_name: 'Ruwan', reason: 'the shop called' }],
    messages: [
      update('queued', '2026-03-01T10:00:00.600Z'),
      update('accepted', '2026-03-01T10:00:00.900Z'),
      update('sent', '2026-03-01T10:00:00.000Z'),
    ],
    failed: [],
  })
  t.strictSame(
    merged.slice(0, 3).map(({ at }) => at.toISOString()),
    ['2026-03-01T10:00:00.900Z', '2026-03-01T10:00:00.900Z', '2026-03-01T10:00:00.600Z'],
    'the times agree',
  )
  t.same(
    merged.map(entry =>
      'status' in entry ? entry.status : 'fields' in entry ? entry.fields : 'status_key' in entry && entry.status_key,
    ),
    ['sent', 'accepted', 'queued', ['cod'], 'key_2', 'key_1'],
  )
})
