import { setTimeout as delay } from 'node:timers/promises'
import { immediateActions } from '@courier/shared/contract/customer-actions.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { serviceToken } from '../../test/build.ts'
import { addOther } from '../../test/build-tenant.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { waitUntil } from '../../test/receiver.ts'
import { countWaiting, untilWaiting } from '../../test/waiting.ts'
import { webhooksFixture } from '../../test/webhooks-fixture.ts'
import { deleteOldActions } from './queries.ts'

const fixture = await tenantFixture(t)
const { make, moveAlong, get, staffGet, request, rows, pool, staffOf, staffToken, token, tenant } = fixture
const other = await addOther(fixture)

let actions = 0
const nextId = () => `msg_test${++actions} 0`
const action = (waybill_number: string, name: string, rest: object = {}) => ({
  ...{ id: nextId(), waybill_number, action: name, happened_at: '2026-02-19T19:06:23.000Z' },
  ...rest,
})
const post = (body: unknown, token = serviceToken) => request('POST', '/internal/customer-actions', body, { token })
/** Sends actions of the tenant; returns their results. */
const act = async (...given: object[]) => {
  const { status, body } = await post({ tenant, actions: given })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.data
}
const confirmed = { initial_status_key: 'key_2' }
const readChanges = async (waybill: string) =>
  (await get('/order/changes?limit=500')).body.data.filter(
    (change: { waybill_number: string }) => change.waybill_number === waybill,
  )
const readOutbox = (waybill: string) =>
  rows('select type, status_keys, note from outbox where $1 = any(waybill_numbers) order by outbox_id', [waybill])

t.test('a customer confirms an order: timeline, changes, audit and outbox name the customer', async t => {
  await make(['DM00000001'])
  const confirm = action('DM00000001', 'confirm_order')
  const [result] = await act(confirm)
  t.match(result, {
    ...{ id: confirm.id, outcome: 'done', detail: null },
    order: { waybill_number: 'DM00000001', status_key: 'key_2', status_name: 'CONFIRMED', note: null, is_final: false },
  })
  t.notOk('timeline' in result.order)
  const entry = { status: { key: 'key_2' }, user: { first_name: 'Customer', last_name: '' }, by: 'customer' }
  const own = (await get('/order/DM00000001')).body.data
  t.match(own.timeline, [entry, { status: { key: 'key_1' }, user: { first_name: 'Lanka Shoes' }, by: 'merchant' }])
  t.match((await staffGet('/order/DM00000001')).body.data.timeline, [entry, {}])
  const { by: _, ...row } = entry
  t.match((await get('/order/tracking-info?waybill_number=DM00000001')).body.data, [row, {}])
  t.match((await readChanges('DM00000001')).at(-1), { type: 'order.status_changed', by: 'customer' })
  t.match(await rows(`select actor_kind, actor, action from audit where object_id = 'DM00000001'`), [
    { actor_kind: 'customer', actor: confirm.id, action: 'order.status_changed' },
  ])
  t.match(await readOutbox('DM00000001'), [{}, { type: 'order.status_changed', status_keys: ['key_2'] }])
})

t.test('a repeated action changes nothing, and shows the order as it is now', async t => {
  await make(['DM00000010'])
  const confirm = action('DM00000010', 'confirm_order')
  await act(confirm)
  await moveAlong('DM00000010', [4])
  const [again, other] = await act(confirm, action('DM00000010', 'confirm_order'))
  t.match(again, { outcome: 'done', order: { status_key: 'key_4' } })
  t.match(other, {
    outcome: 'refused',
    detail: /^DM00000010 is key_4 .*: customers may only confirm an order that is key_1/,
  })
  const refused = action('DM00000010', 'cancel_order')
  t.match(await act(refused), [{ outcome: 'refused' }])
  await rows(`update orders set status_key = 'key_2' where waybill_number = 'DM00000010'`)
  t.match(await act(refused), [{ outcome: 'refused', order: { status_key: 'key_2' } }], 'a refusal stays a refusal')
})

t.test('one of 20 simultaneous deliveries of an action takes effect', async t => {
  await make(['DM00000015'])
  for (const [name, rest] of [
    ['confirm_order', {}],
    ['change_address', { address: '1 Sea St' }],
    ['call_me', {}],
  ] as const) {
    const one = action('DM00000015', name, rest)
    const results = (await Promise.all(Array.from({ length: 20 }, () => act(one)))).flat()
    t.strictSame([...new Set(results.map(({ outcome }) => outcome))], [name === 'call_me' ? 'requested' : 'done'], name)
  }
  t.equal((await readChanges('DM00000015')).length, 3)
  t.equal((await readOutbox('DM00000015')).length, 3)
  t.equal((await get('/order/DM00000015')).body.data.edits.length, 1)
  t.equal((await staffGet('/order/requests?waybill_number=DM00000015')).body.data.length, 1)
})

t.test('processes six simultaneous lists one at a time, and completes each', async t => {
  const waybill = 'DM00000023'
  await make([waybill])
  const { posted, most } = await inTenant(pool, tenant, async tx => {
    await tx.client.query('select from orders where waybill_number = $1 for update', [waybill])
    const posted = Array.from({ length: 6 }, () => act(action(waybill, 'call_me')))
    await untilWaiting(tx.client)
    await delay(100)
    return { posted, most: await countWaiting(tx.client) }
  })
  t.equal(most, 1)
  t.match(await Promise.all(posted), Array(6).fill([{ outcome: 'requested' }]))
})

t.test('when many customers act at once, each confirmation and each request takes effect once', async t => {
  const waybills = Array.from({ length: 10 }, (_, index) => `DM000001${index}0`)
  await make(waybills)
  const pairs = await Promise.all(
    waybills.flatMap(waybill =>
      ['confirm_order', 'confirm_order', 'call_me', 'call_me'].map(name => act(action(waybill, name))),
    ),
  )
  const outcomes = pairs.flat().map(({ outcome }) => outcome)
  t.equal(outcomes.filter(outcome => outcome === 'done').length, 10)
  t.equal(outcomes.filter(outcome => outcome === 'requested').length, 20)
  const open = await rows(
    `select count(*)::int from customer_actions where status = 'open' and waybill_number = any($1)`,
    [waybills],
  )
  t.strictSame(open, [{ count: 10 }])
})

t.test('a customer cancels the orders that the merchant could cancel', async t => {
  await make(['DM00000020', 'DM00000021', 'DM00000022'], confirmed)
  await moveAlong('DM00000022', [4])
  const cancel = (waybill: string) => action(waybill, 'cancel_order')
  const results = await act(cancel('DM00000020'), cancel('DM00000022'), cancel('DM00000021'), cancel('DM00000021'))
  t.strictSame(
    results.map(({ outcome, order }: { outcome: string; order: { status_key: string } }) => [
      outcome,
      order.status_key,
    ]),
    [
      ['done', 'key_3'],
      ['refused', 'key_4'],
      ['done', 'key_3'],
      ['refused', 'key_3'],
    ],
    'a refused action does not affect the others',
  )
})

t.test('a customer changes the address as the merchant could', async t => {
  await make(['DM00000030'])
  const change = (address?: string) => action('DM00000030', 'change_address', address === undefined ? {} : { address })
  t.match(await act(change()), [{ outcome: 'asked', detail: null, order: { waybill_number: 'DM00000030' } }])
  t.match(await act(change(' 7 Beach Road ')), [{ outcome: 'done' }])
  const order = (await get('/order/DM00000030')).body.data
  t.match(order, {
    ...{ customer_address: '7 Beach Road', delivery_charge: 540.5 },
    edits: [{ fields: ['customer_address'], user: { first_name: 'Customer' }, by: 'customer' }],
  })
  t.match((await readChanges('DM00000030')).at(-1), {
    type: 'order.edited',
    by: 'customer',
    fields: ['customer_address'],
  })
  t.match(await rows(`select actor_kind from audit where object_id = 'DM00000030: customer_address'`), [
    { actor_kind: 'customer' },
  ])
  t.match(await act(change('  '), change('a\0b')), [
    { outcome: 'refused', detail: 'The customer address field is required.' },
    { outcome: 'refused', detail: /null character/ },
  ])
  await moveAlong('DM00000030', [2, 4, 5, 6])
  t.match(await act(change(), change('8 Beach Road')), [
    { outcome: 'refused', detail: /^DM00000030 is key_6 PICKED UP: customers may only change an order that is key_1/ },
    { outcome: 'refused', detail: /^DM00000030 is key_6 PICKED UP/ },
  ])
  t.equal((await get('/order/DM00000030')).body.data.customer_address, '7 Beach Road')
})

t.test('an address that is not clear changes nothing, and staff see what the customer wrote', async t => {
  const waybill = 'DM00000031'
  await make([waybill])
  const before = (await get(`/order/${waybill}`)).body.data
  const write = (address: string) => action(waybill, 'change_address', { address })
  const elsewhere = write('7 Beach Road, Hikkaduwa')
  for (const _ of ['first', 'repeated'])
    t.match(await act(elsewhere), [{ outcome: 'requested', detail: null, order: { waybill_number: waybill } }])
  const open = async () => (await list(`?status=open&waybill_number=${waybill}`)).body.data
  t.match(await open(), [{ request: 'change_address', text: '7 Beach Road, Hikkaduwa' }])
  t.match((await staffGet(`/order/${waybill}`)).body.data.requests, [{ text: '7 Beach Road, Hikkaduwa' }])
  const { customer_address, timeline, edits } = (await get(`/order/${waybill}`)).body.data
  t.strictSame([customer_address, timeline.length, edits], [before.customer_address, before.timeline.length, []])
  t.notMatch(JSON.stringify((await get(`/order/${waybill}`)).body), /Hikkaduwa/, 'only staff see it')
  const first = await findRequestId(waybill)
  const results = await act(write('7 Beach Road 0771234567, thanks'))
  t.notMatch(JSON.stringify(results), /Beach/, 'the notifier does not get the text back')
  t.match(await open(), [{ text: '7 Beach Road 0771234567, thanks' }])
  t.equal((await open()).length, 1)
  t.equal((await decide(first, { decision: 'accepted' })).status, 404, 'nobody decides on the earlier text')
  t.match(await act(write('9 Beach Road')), [{ outcome: 'done' }])
  t.strictSame(await open(), [], 'a clear address needs no decision')
  t.match(await act(write('Hikkaduwa')), [{ outcome: 'requested' }])
  t.equal((await decide(await findRequestId(waybill), { decision: 'declined' })).status, 200)
  t.equal((await get(`/order/${waybill}`)).body.data.customer_address, '9 Beach Road')
  await moveAlong(waybill, [2, 4, 5, 6])
  t.match(await act(write('7 Beach Road, Hikkaduwa')), [{ outcome: 'refused', detail: /^DM00000031 is key_6/ }])
  t.match(await act(write('a\0b')), [{ outcome: 'refused' }])
})

t.test('an edit by the merchant leaves the request for staff', async t => {
  const waybill = 'DM00000032'
  await make([waybill])
  await act(action(waybill, 'change_address', { address: 'Hikkaduwa' }))
  const edit = await request(
    'PATCH',
    `/api/public/merchant/order/${waybill}`,
    { customer_address: '3 Sea St' },
    { token },
  )
  t.equal(edit.status, 200)
  t.match(await act(action(waybill, 'change_address')), [{ outcome: 'asked' }])
  t.match((await list(`?status=open&waybill_number=${waybill}`)).body.data, [{ text: 'Hikkaduwa' }])
  t.equal((await get(`/order/${waybill}`)).body.data.customer_address, '3 Sea St')
})

t.test('refuses actions on missing orders and on those of another tenant', async t => {
  await make(['DM00000040'])
  const names = [...immediateActions, 'call_me']
  for (const waybill of ['DM99999999', 'a\0b', '\ud800'])
    for (const name of names)
      t.match(await act(action(waybill, name)), [
        { outcome: 'refused', detail: 'The requested waybill does not exist in the system.', order: null },
      ])
  const foreign = await post({ tenant: other.tenant, actions: names.map(name => action('DM00000040', name)) })
  t.strictSame(
    foreign.body.data.map(({ outcome, order }: { outcome: string; order: null }) => [outcome, order]),
    names.map(() => ['refused', null]),
  )
  t.match(await get('/order/DM00000040'), { body: { data: { status: { key: 'key_1' } } } })
})

t.test('refuses an unreadable request as a whole', async t => {
  await make(['DM00000045'])
  const good = action('DM00000045', 'confirm_order')
  const wrong: [body: unknown, path: string][] = [
    [{ tenant, actions: [] }, 'actions'],
    [{ tenant, actions: [good, { ...good, action: 'Call me' }] }, 'actions.1.action'],
    [{ tenant, actions: [good, { ...good, id: 'a\0' }] }, 'actions.1.id'],
    [{ tenant, actions: [{ ...good, happened_at: 'today' }] }, 'actions.0.happened_at'],
    [{ tenant, actions: [{ ...good, happened_at: '2026-02-30T09:00:00Z' }] }, 'actions.0.happened_at'],
    [{ tenant, actions: [{ ...good, happened_at: '0000-01-01T09:00:00Z' }] }, 'actions.0.happened_at'],
    [{ tenant, actions: [{ ...good, address: 'x'.repeat(501) }] }, 'actions.0.address'],
    [{ tenant, actions: Array(101).fill(good) }, 'actions'],
  ]
  for (const [body, path] of wrong) {
    const response = await post(body)
    t.strictSame([response.status, Object.keys(response.body.errors)], [422, [path]])
  }
  t.match(await post({ tenant: 'nobody', actions: [good] }), { status: 404, body: { code: 'unknown_tenant' } })
  t.match(await post({ tenant: "'; --", actions: [good] }), { status: 404, body: { code: 'unknown_tenant' } })
  for (const token of ['', staffToken, `${serviceToken}x`])
    t.equal((await post({ tenant, actions: [good] }, token)).status, 401)
  t.match(await get('/order/DM00000045'), { body: { data: { status: { key: 'key_1' } } } })
})

const list = (query = '') => staffGet(`/order/requests${query}`)
const decide = (id: string, body: unknown, token = staffToken) =>
  request('POST', `/api/staff/order/requests/${id}/decision`, body, { token })
/** Returns the id of the open request of a waybill. */
const findRequestId = async (waybill: string): Promise<string> =>
  (await list(`?status=open&waybill_number=${waybill}`)).body.data[0].id

t.test('any other action is a request, which is open only once, until the order is in a final status', async t => {
  await make(['DM00000050'], confirmed)
  const ask = (name: string) => action('DM00000050', name)
  const results = await act(ask('reschedule'), ask('reschedule'), ask('call_me'))
  for (const { outcome, order } of results)
    t.match({ outcome, order }, { outcome: 'requested', order: { status_key: 'key_2' } })
  const { data } = (await list('?waybill_number=DM00000050')).body
  t.match((await staffGet('/order/DM00000050')).body.data.requests, [{ request: 'call_me' }, { request: 'reschedule' }])
  t.match(data, [
    { request: 'call_me', status: 'open', requested_at: '2026-02-19T19:06:23.000000Z', decided_by: null, note: null },
    { request: 'reschedule', status: 'open', waybill_number: 'DM00000050', decided_at: null },
  ])
  t.equal((await readOutbox('DM00000050')).length, 1, 'a request is not an event')
  await decide(data[1].id, { decision: 'declined' })
  t.match(await act(ask('reschedule')), [{ outcome: 'requested' }])
  t.equal(
    (await list('?waybill_number=DM00000050&status=open')).body.data.length,
    2,
    'a decided request may be made again',
  )
  await moveAlong('DM00000050', [3])
  t.match(await act(ask('reschedule')), [
    { outcome: 'refused', detail: 'DM00000050 is key_3 CANCELLED: there is nothing left to request.' },
  ])
})

t.test('staff decide on a request once, and the notifier gets an event', async t => {
  await make(['DM00000060'], confirmed)
  const reschedule = action('DM00000060', 'reschedule')
  await act(reschedule)
  const id = await findRequestId('DM00000060')
  const body = { decision: 'accepted', note: ' Tomorrow after 4 pm ' }
  const bodies = await Promise.all([body, { decision: 'declined' }].map(each => decide(id, each)))
  t.strictSame(bodies.map(({ status }) => status).sort(), [200, 409], 'only one of two decisions at once counts')
  const accepted = bodies.some(({ body }) => body.data?.status === 'accepted')
  const refusal = bodies.find(({ status }) => status === 409)?.body
  t.match(refusal, { code: 'already_decided', message: /^Kamal Perera (accepted|declined) this request at 2.*Z\.$/ })
  t.equal((await decide(id, accepted ? body : { decision: 'declined' })).status, 200, 'the same decision once more')
  t.match(await readOutbox('DM00000060'), [
    { type: 'order.created' },
    {
      type: accepted ? 'reschedule.accepted' : 'reschedule.declined',
      ...{ status_keys: ['key_2'], note: accepted ? 'Tomorrow after 4 pm' : null },
    },
  ])
  t.match(await rows(`select actor_kind, actor, action from audit where object_id = 'DM00000060: reschedule'`), [
    { actor_kind: 'staff', actor: 'Kamal Perera', action: accepted ? 'request.accepted' : 'request.declined' },
  ])
  t.match(await act(reschedule), [{ outcome: 'requested' }], 'repeated after the decision')
  t.strictSame((await list('?status=open&waybill_number=DM00000060')).body.data, [])
})

t.test('a decision makes no event for a tenant without messaging', async t => {
  await make(['DM00000065'])
  await act(action('DM00000065', 'call_me'))
  const id = await findRequestId('DM00000065')
  await rows(`update tenants set messaging = false where tenant_id = '${tenant}'`)
  t.equal((await decide(id, { decision: 'accepted' })).status, 200)
  await rows(`update tenants set messaging = true where tenant_id = '${tenant}'`)
  t.equal((await readOutbox('DM00000065')).length, 1)
})

t.test('requests come in pages, and only to the staff of their tenant', async t => {
  await make(['DM00000070'])
  await act(...['call_me', 'leave_at_door', 'other_phone'].map(name => action('DM00000070', name)))
  const first = (await list('?waybill_number=DM00000070&limit=2')).body
  t.match(first.data, [{ request: 'other_phone' }, { request: 'leave_at_door' }])
  const last = (await list(`?waybill_number=DM00000070&limit=2&cursor=${first.next_cursor}`)).body
  t.match(last, { data: [{ request: 'call_me' }], next_cursor: null })
  const id = last.data[0].id
  const foreign = { ...other, token: await staffOf('Nimal', other.tenant) }
  t.strictSame((await staffGet('/order/requests', foreign)).body.data, [])
  const decision = { decision: 'accepted' }
  t.equal((await request('POST', `/api/staff/order/requests/${id}/decision`, decision, foreign)).status, 404)
  for (const unknown of ['999999', 'x', '0', '%00', '9'.repeat(30)])
    t.match(await decide(unknown, decision), { status: 404, body: { code: 'not_found' } }, unknown)
  const wrong: [body: unknown, field: string][] = [
    [{}, 'decision'],
    [{ decision: 'open' }, 'decision'],
    [{ ...decision, note: 'a\0' }, 'note'],
    [{ ...decision, notes: 'x' }, 'notes'],
  ]
  for (const [body, field] of wrong)
    t.match(await decide(id, body), { status: 422, body: { errors: { [field]: [/./] } } })
  t.strictSame((await decide(id, { decision: 'open' })).body.errors, {
    decision: ['The decision field must be accepted or declined.'],
  })
  for (const query of ['?status=new', '?limit=0', '?cursor=x', '?waybill=x'])
    t.equal((await list(query)).status, 422, query)
  t.equal((await decide(id, decision, token)).status, 401, 'a merchant decides nothing')
})

t.test('deletes decided requests after 90 days, and keeps open ones', async t => {
  await make(['DM00000080'])
  await act(...['confirm_order', 'call_me', 'reschedule', 'old'].map(name => action('DM00000080', name)))
  for (const { id, request } of (await list('?waybill_number=DM00000080')).body.data)
    if (request !== 'call_me') await decide(id, { decision: 'declined' })
  const mine = `tenant_id = '${tenant}' and waybill_number = 'DM00000080'`
  await rows(`update customer_actions set stored_at = now() - interval '91 days' where ${mine}`)
  await rows(`update customer_actions set decided_at = now() - interval '91 days' where ${mine} and action = 'old'`)
  t.equal(await inTenant(pool, tenant, tx => deleteOldActions(tx, tenant)), 2)
  t.strictSame(await rows(`select action from customer_actions where ${mine} order by action`), [
    { action: 'call_me' },
    { action: 'reschedule' },
  ])
})

t.test("a merchant's webhooks name the customer as the one who acted", async t => {
  const { app, sender, addReceiver, book } = await webhooksFixture(t)
  const { receiver } = await addReceiver({ events: ['order.status_changed', 'order.edited'] })
  const [waybill = ''] = await book(1)
  sender.start()
  const names = [['confirm_order'], ['change_address', { address: '1 Sea Street' }]] as const
  await app.inject({
    ...{ method: 'POST', url: '/internal/customer-actions', headers: { authorization: `Bearer ${serviceToken}` } },
    payload: { tenant: 'demo', actions: names.map(([name, rest]) => action(waybill, name, rest)) },
  })
  await waitUntil('both arrive', () => receiver.accepted.length === 2)
  t.match(
    receiver.accepted.map(({ body }) => body),
    ['order.status_changed', 'order.edited'].map(type => ({ type, data: { waybill_number: waybill, by: 'customer' } })),
  )
  t.notMatch(JSON.stringify(receiver.accepted), /Sea Street/)
})

t.test('attributes rows from the previous version to the merchant or to staff', async t => {
  const [waybill] = await make(['DM00000090'])
  await rows(
    `insert into order_events (tenant_id, waybill_number, status_key, staff_name)
      values ('${tenant}', $1, 'key_2', null), ('${tenant}', $1, 'key_4', 'Ruwan')`,
    [waybill],
  )
  await rows(
    `insert into order_edits (tenant_id, waybill_number, fields, edited_at, staff_name, reason)
      values ('${tenant}', $1, array['cod'], now(), 'Ruwan', 'x')`,
    [waybill],
  )
  const { timeline, edits } = (await get(`/order/${waybill}`)).body.data
  t.match(timeline, [{ by: 'staff' }, { by: 'merchant' }, { by: 'merchant' }])
  t.match(edits, [{ by: 'staff' }])
})

t.test('a phone number in Arabic or full-width digits matches the number that the message went to', async t => {
  for (const [index, customer_phone] of ['٠٧٧٠٠٠٠١٠١', '０７７ ０００ ０１０１'].entries()) {
    const waybill = `DM0000092${index}`
    await make([waybill], { ...confirmed, customer_phone })
    t.match(await act(action(waybill, 'cancel_order', { recipient: '94770000101' })), [{ outcome: 'done' }])
  }
})

t.test('refuses actions from the old phone number once it is corrected', async t => {
  const waybill = 'DM00000901'
  await make([waybill], { ...confirmed, customer_phone: '077 000 0101' })
  const by = (recipient: string) => act(action(waybill, 'change_address', { recipient }))
  t.match(await by('94770000101'), [{ outcome: 'asked' }])
  t.equal(
    (await request('PATCH', `/api/public/merchant/order/${waybill}`, { customer_phone: '0770000102' }, { token }))
      .status,
    200,
  )
  const stranger = action(waybill, 'cancel_order', { recipient: '94770000101' })
  const detail = 'The order has another phone number since the message was sent.'
  for (let times = 0; times < 2; times++)
    t.strictSame(await act(stranger), [{ id: stranger.id, outcome: 'refused', detail, order: null }])
  t.match(await by('94770000102'), [{ outcome: 'asked' }])
  t.match(await act(action(waybill, 'cancel_order', { recipient: '94770000102' })), [{ outcome: 'done' }])
  await make(['DM00000902'], { ...confirmed, customer_phone: '+44 7000 01015' })
  t.match(
    await act(action('DM00000902', 'cancel_order', { recipient: '94770000101' })),
    [{ outcome: 'refused' }],
    'the digits of the old number within the new one do not count',
  )
})
