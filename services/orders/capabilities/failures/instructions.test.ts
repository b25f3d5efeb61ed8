import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { connectTo, onCitus } from '../../../../dev/test-database.ts'
import type { Tx } from '../../core/database/tables.ts'
import { checkFile } from '../../core/provisioning/check-file.ts'
import { companyFile, serviceToken } from '../../test/build.ts'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { untilWaiting } from '../../test/waiting.ts'
import { findReattempts } from '../labels/routes.ts'
import { decideLate } from './instruct.ts'

const failed_deliveries = {
  reasons: [
    { code: 'not_home', name: 'Nobody at home' },
    { code: 'no_fuel', name: 'No fuel' },
  ],
  instruction_hours: 24,
  instruction_default: 'return' as const,
  recipient_history: true,
}
const { app, pool, database, make, makeOfBooks, move, request, get, staffGet, staffToken, booksToken, rows, tenant } =
  await tenantFixture(t, { file: tenantFile({ failed_deliveries }) })

const merchant = '/api/public/merchant'
const instruct = (waybill: string, body: object, options = {}) =>
  request('POST', `${merchant}/order/${waybill}/instruction`, body, options)
const instructAsStaff = (waybill: string, body: object) =>
  request('POST', `/api/staff/order/${waybill}/instruction`, body, { token: staffToken })
const act = async (id: string, waybill_number: string, rest: object) => {
  const body = { tenant, actions: [{ id, waybill_number, happened_at: '2026-02-19T19:06:23.000Z', ...rest }] }
  const headers = { authorization: `Bearer ${serviceToken}` }
  const response = await app.inject({ method: 'POST', url: '/internal/customer-actions', headers, payload: body })
  return response.json().data[0]
}
const onTheWay = ['key_9', 'key_10', 'key_11', 'key_12']
const fail = async (waybills: string[], reason_code = 'not_home') => {
  await make(waybills, { initial_status_key: 'key_2' })
  for (const key of onTheWay) t.equal((await move(waybills, key)).status, 200)
  t.equal((await move(waybills, 'key_15', { reason_code })).status, 200)
}
const listFailures = async (query = '') => (await get(`/order/failed-deliveries${query}`)).body.data
const readOrder = async (waybill: string) => (await get(`/order/${waybill}`)).body.data
const findDay = async (days: number): Promise<string> =>
  (
    await rows(
      `select ((now() at time zone time_zone)::date + ${days})::text as day from tenants where tenant_id = '${tenant}'`,
    )
  )[0].day

t.test('a failed delivery has a reason, is counted once, and waits for an instruction', async t => {
  await fail(['DM00000001'])
  t.equal((await move(['DM00000001'], 'key_17', { reason_code: 'no_fuel' })).status, 200)
  const order = await readOrder('DM00000001')
  t.match(order, {
    failed_attempts: 1,
    awaits_instruction: true,
    instructions: [],
    timeline: [{ reason_code: 'no_fuel' }, { reason_code: 'not_home' }],
  })
  t.match(await listFailures(), [
    {
      ...{ waybill_number: 'DM00000001', attempt: 1, reason: { code: 'no_fuel', name: 'No fuel' }, instruction: null },
      ...{ customer_name: 'Nimali Perera', customer_phone: '0770000101', cod: 4500, currency: 'LKR' },
    },
  ])
  const [change] = (await get('/order/changes?limit=500')).body.data.slice(-1)
  t.match(change, { type: 'order.status_changed', details: { reason_code: 'no_fuel' } })
  t.strictSame(
    (await request('GET', `${merchant}/order/failed-deliveries`, undefined, { token: booksToken })).body.data,
    [],
  )

  await move(['DM00000001'], 'key_16')
  await move(['DM00000001'], 'key_12')
  t.strictSame(await listFailures(), [], 'the next attempt ends the failure')
  await move(['DM00000001'], 'key_15')
  t.match(await readOrder('DM00000001'), { failed_attempts: 2 })
  t.match(await listFailures(), [{ attempt: 2, reason: null }])
})

t.test('the list of reasons names the statuses that take one', async t => {
  const status_keys = ['key_15', 'key_16', 'key_17', 'key_18', 'key_19', 'key_20', 'key_21']
  for (const read of [get, staffGet])
    t.strictSame((await read('/order/failure-reasons')).body, { data: failed_deliveries.reasons, status_keys })
})

t.test('refuses a company file with the same reason twice', async t => {
  const reasons = ['not_home', 'lost', 'not_home'].map(code => ({ code, name: code }))
  t.strictSame(checkFile(tenantFile({ failed_deliveries: { reasons } }), companyFile), {
    kind: 'refused',
    errors: { 'tenant.failed_deliveries.reasons.2.code': ['The reason code not_home appears twice.'] },
  })
})

t.test('refuses an unknown reason, and a reason for a status that is not a failure', async t => {
  await make(['DM00000005'], { initial_status_key: 'key_2' })
  t.strictSame(
    (await move(['DM00000005'], 'key_9', { reason_code: 'not_home' })).body,
    refusal({ reason_code: ['Leave this out: the status is neither of a failed delivery nor of a return.'] }),
  )
  for (const key of onTheWay) await move(['DM00000005'], key)
  t.strictSame(
    (await move(['DM00000005'], 'key_15', { reason_code: 'refused' })).body,
    refusal({ reason_code: ['The reason_code may be not_home, no_fuel.'] }),
  )
})

t.test('a merchant gives an instruction; timeline, feed and staff show it', async t => {
  await fail(['DM00000010'])
  const date = await findDay(2)
  const given = await instruct('DM00000010', { action: 'reschedule', date, note: ' After 4 pm ' })
  t.strictSame(
    [given.status, given.body],
    [200, { message: 'Instruction Stored Successfully', data: { waybill_number: 'DM00000010', attempt: 1 } }],
  )
  const shown = { action: 'reschedule', date, note: 'After 4 pm', given_as: 'merchant' }
  t.match((await readOrder('DM00000010')).instructions, [{ ...shown, attempt: 1, given_by: null }])
  t.match((await staffGet('/order/failed-deliveries?instructed=true')).body.data, [{ instruction: shown }])
  t.match((await get('/order/changes?limit=500')).body.data.at(-1), {
    type: 'order.instructed',
    by: 'merchant',
    details: { action: 'reschedule', date, given_as: 'merchant' },
  })
  t.strictSame(await rows(`select is_relayed from log where type = 'order.instructed'`), [{ is_relayed: true }])
})

t.test("an instruction from staff overrides the customer's, which overrides the merchant's", async t => {
  await fail(['DM00000020'])
  t.equal((await instruct('DM00000020', { action: 'return' })).status, 200)
  t.match(await act('press 1', 'DM00000020', { action: 'reattempt' }), { outcome: 'done' })
  t.strictSame(
    (await instruct('DM00000020', { action: 'return' })).body,
    refusal({ action: ['The customer already chose reattempt, which you cannot override. Ask the courier company.'] }),
  )
  t.match(await act('press 1', 'DM00000020', { action: 'reattempt' }), { outcome: 'done' }, 'a repeated press')
  t.equal((await instructAsStaff('DM00000020', { action: 'return', note: 'He moved away' })).status, 200)
  t.match(await act('press 2', 'DM00000020', { action: 'reattempt' }), {
    outcome: 'refused',
    detail: 'The staff already chose return, which you cannot override. Ask the courier company.',
  })
  t.match((await readOrder('DM00000020')).instructions, [
    { action: 'return', given_as: 'staff', given_by: 'Kamal Perera' },
    { action: 'reattempt', given_as: 'customer', given_by: null },
    { action: 'return', given_as: 'merchant' },
  ])
  t.equal((await readOrder('DM00000020')).instructions.length, 3)
})

t.test('a press of "tomorrow" is a reattempt on the day after the press, or today if that day is past', async t => {
  await fail(['DM00000026', 'DM00000027', 'DM00000028'])
  const now = { action: 'tomorrow', happened_at: new Date().toISOString() }
  t.match(await act('press 5', 'DM00000026', now), { outcome: 'done' })
  t.match(await act('press 6', 'DM00000027', { action: 'tomorrow' }), { outcome: 'done' })
  t.match((await readOrder('DM00000026')).instructions, [
    { action: 'reattempt', date: await findDay(1), given_as: 'customer' },
  ])
  t.match((await readOrder('DM00000027')).instructions, [{ action: 'reattempt', date: await findDay(0) }])
  t.match(await act('press 7', 'DM00000028', { action: 'reschedule' }), { outcome: 'requested' })
  t.strictSame((await readOrder('DM00000028')).instructions, [])
  await make(['DM00000029'])
  t.match(await act('press 8', 'DM00000029', { action: 'tomorrow' }), { outcome: 'requested' }, 'nothing failed')
})

t.test('an instruction changes the address, which is recorded as an edit and queued for the notifier', async t => {
  await fail(['DM00000025'])
  t.match(await act('press 3', 'DM00000025', { action: 'change_address' }), { outcome: 'asked' })
  const address = '7 Beach Road, Galle'
  t.match(await act('press 4', 'DM00000025', { action: 'change_address', address }), { outcome: 'done' })
  const order = await readOrder('DM00000025')
  t.match(order, { customer_address: address, edits: [{ fields: ['customer_address'], by: 'customer' }] })
  t.match(order.instructions, [{ action: 'change_address', given_as: 'customer' }])
  t.equal(JSON.stringify(order.instructions).includes('Beach'), false, 'only the order holds the address')
  t.match(await rows(`select is_relayed from log where type = 'order.edited'`), [{ is_relayed: false }])
})

t.test('an address that is not clear gives no instruction: staff decide', async t => {
  await fail(['DM00000901'])
  const before = await readOrder('DM00000901')
  const address = '7 Beach Road, Hikkaduwa'
  t.match(await act('press 9', 'DM00000901', { action: 'change_address', address }), { outcome: 'requested' })
  const order = await readOrder('DM00000901')
  t.strictSame([order.customer_address, order.instructions], [before.customer_address, []])
})

t.test('refuses an instruction that is malformed, too far ahead or not for a failed delivery', async t => {
  await fail(['DM00000030'])
  await make(['DM00000031'])
  await makeOfBooks(['DM00000032'])
  const table: [body: object, errors: Record<string, string[]>][] = [
    [{ action: 'reschedule' }, { date: ['State the date: the action is reschedule.'] }],
    [{ action: 'return', date: await findDay(1) }, { date: ['Leave this out: a return has no date.'] }],
    [{ action: 'change_address' }, { address: ['State the new address.'] }],
    [{ action: 'reattempt', address: 'x' }, { address: ['Leave this out, or make the action change_address.'] }],
    [{ action: 'burn' }, { action: ['The action field must be reattempt, reschedule, return, change_address.'] }],
    [
      { action: 'reschedule', date: await findDay(31) },
      { date: [`The date must be from ${await findDay(0)} to ${await findDay(30)}.`] },
    ],
  ]
  for (const [body, errors] of table) t.strictSame((await instruct('DM00000030', body)).body, refusal(errors))
  t.strictSame(
    (await instruct('DM00000031', { action: 'return' })).body,
    refusal({ waybill_number: ['DM00000031 is key_1 DRAFT: no failed delivery waits for an instruction.'] }),
  )
  t.equal((await instruct('DM00000032', { action: 'return' })).status, 404, 'an order of another merchant')
  t.equal((await instruct('DM09999999', { action: 'return' })).status, 404)
  t.strictSame((await readOrder('DM00000030')).instructions, [])
})

t.test("after the deadline the company's default applies, and only staff may change it", async t => {
  await fail(['DM00000040', 'DM00000041'])
  await instruct('DM00000041', { action: 'reattempt' })
  await rows(`update attempts set due_at = now() - interval '1 second' where waybill_number like 'DM0000004%'`)
  const late = await instruct('DM00000040', { action: 'reattempt' })
  t.match(late.body.errors.action, [/^Instructions were due by .*Z\. Ask the courier company\.$/])
  t.equal(await inTenant(pool, tenant, (tx: Tx) => decideLate(tx, tenant)), 1)
  t.equal(await inTenant(pool, tenant, (tx: Tx) => decideLate(tx, tenant)), 0)
  t.match((await readOrder('DM00000040')).instructions, [{ action: 'return', given_as: 'company', given_by: null }])
  t.match((await readOrder('DM00000041')).instructions, [{ action: 'reattempt', given_as: 'merchant' }])
  t.equal((await instructAsStaff('DM00000040', { action: 'reattempt' })).status, 200)
})

// The test waits for a lock of the only server.
const skip = process.argv.includes(onCitus)
t.test('the default leaves a failure alone that began while an older one was late', { skip }, async t => {
  await fail(['DM00000045'])
  await rows(`update attempts set due_at = now() - interval '1 second' where waybill_number = 'DM00000045'`)
  const courier = await connectTo(t, database.superuserUrl)
  await courier.query('begin')
  await courier.query(`select from orders where tenant_id = '${tenant}' and waybill_number = 'DM00000045' for update`)
  const deciding = inTenant(pool, tenant, (tx: Tx) => decideLate(tx, tenant))
  await untilWaiting(courier)
  await courier.query(`update attempts set attempt_no = 2, due_at = now() + interval '1 day'
    where tenant_id = '${tenant}' and waybill_number = 'DM00000045'`)
  await courier.query('commit')
  await deciding
  t.strictSame((await readOrder('DM00000045')).instructions, [])
  t.equal((await instruct('DM00000045', { action: 'reattempt' })).status, 200, 'the merchant still has a day')
})

t.test('a failure that is taken back does not count as an attempt', async t => {
  await fail(['DM00000050'])
  t.equal((await instruct('DM00000050', { action: 'return' })).status, 200)
  const takeBack = () =>
    request('POST', '/api/staff/order/DM00000050/take-back', { reason: 'Scanned by mistake' }, { token: staffToken })
  t.equal((await takeBack()).status, 200)
  t.match(await readOrder('DM00000050'), { failed_attempts: 0, awaits_instruction: false, status: { key: 'key_12' } })
  t.equal((await instruct('DM00000050', { action: 'return' })).status, 422)
  await move(['DM00000050'], 'key_15')
  t.strictSame((await readOrder('DM00000050')).instructions, [], 'nobody instructed the new attempt')
  await instruct('DM00000050', { action: 'reattempt' })
  await move(['DM00000050'], 'key_16')
  await move(['DM00000050'], 'key_12')
  t.equal((await takeBack()).status, 200)
  t.match(await readOrder('DM00000050'), { failed_attempts: 1, status: { key: 'key_16' } })
  t.equal((await instruct('DM00000050', { action: 'return' })).status, 200, 'the failure is open again')
})

t.test('taking back a move restores the earlier reason for the failure', async t => {
  await fail(['DM00000051'])
  const reason = async () =>
    (await listFailures()).find((failure: { waybill_number: string }) => failure.waybill_number === 'DM00000051').reason
      .code
  await move(['DM00000051'], 'key_16', { reason_code: 'no_fuel' })
  t.equal(await reason(), 'no_fuel')
  await request('POST', '/api/staff/order/DM00000051/take-back', { reason: 'Wrong parcel' }, { token: staffToken })
  t.equal(await reason(), 'not_home')
})

t.test('a run sheet lists the parcels that are to be delivered again by a day', async t => {
  await fail(['DM00000060', 'DM00000061', 'DM00000062'])
  await instruct('DM00000060', { action: 'reattempt' })
  await instruct('DM00000061', { action: 'reschedule', date: await findDay(3) })
  await instruct('DM00000062', { action: 'return' })
  const print = (body: object) => request('POST', '/api/staff/order/run-sheet', body, { token: staffToken })
  const due = async (days: number) => {
    const listed = await inTenant(pool, tenant, async (tx: Tx) => findReattempts(tx, tenant, await findDay(days), 500))
    return listed.filter(waybill => waybill.startsWith('DM0000006'))
  }
  t.strictSame(await due(0), ['DM00000060'])
  t.strictSame(await due(3), ['DM00000060', 'DM00000061'])
  const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': tenant }
  const payload = { reattempts_by: await findDay(0) }
  const sheet = await app.inject({ method: 'POST', url: '/api/staff/order/run-sheet', headers, payload })
  t.match([sheet.statusCode, sheet.headers['content-type'], sheet.payload], [200, 'application/pdf', /^%PDF/])
  t.strictSame((await print({})).body, refusal({ waybill_numbers: ['The waybill numbers field is required.'] }))
  const both = { waybill_numbers: ['DM00000060'], reattempts_by: await findDay(0) }
  t.strictSame(
    (await print(both)).body,
    refusal({ reattempts_by: ['Give either the waybill_numbers or reattempts_by.'] }),
  )
  t.strictSame(
    (await print({ reattempts_by: '2026-02-30' })).body,
    refusal({ reattempts_by: ['There is no day 2026-02-30.'] }),
  )
  await rows('update attempts set is_open = false')
  t.strictSame(
    (await print({ reattempts_by: '2026-11-24' })).body,
    refusal({ reattempts_by: ['No parcel is to be delivered again by 2026-11-24.'] }),
  )
})

t.test('pages list each failed delivery once, and a request repeated with its key acts once', async t => {
  await fail(['DM00000065', 'DM00000066', 'DM00000067', 'DM00000068', 'DM00000069'])
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null && seen.length < 100; ) {
    const { data, next_cursor }: { data: { waybill_number: string }[]; next_cursor: string | null } = (
      await get(`/order/failed-deliveries?limit=2&cursor=${cursor}`)
    ).body
    seen.push(...data.map(row => row.waybill_number))
    cursor = next_cursor
  }
  t.equal(new Set(seen).size, seen.length)
  t.strictSame(
    seen,
    (await listFailures('?limit=200')).map((row: { waybill_number: string }) => row.waybill_number),
  )
  await fail(['DM00000070'])
  const once = { headers: { 'idempotency-key': 'instruct' } }
  const [first, again] = [
    await instruct('DM00000070', { action: 'return' }, once),
    await instruct('DM00000070', { action: 'return' }, once),
  ]
  t.strictSame([again.status, again.body, again.headers['idempotency-replayed']], [200, first.body, 'true'])
  t.equal((await readOrder('DM00000070')).instructions.length, 1)
})

t.test('shows the history of a recipient with three finished parcels or more, without a name', async t => {
  const phone = '0779990001'
  const waybills = ['DM00000081', 'DM00000082', 'DM00000083']
  await make(waybills, { initial_status_key: 'key_2', customer_phone: phone })
  for (const key of onTheWay) await move(waybills, key)
  await move(waybills.slice(0, 2), 'key_13')
  const read = async () => (await get(`/recipient/${encodeURIComponent('+94 77 999 0001')}`)).body
  t.strictSame(await read(), { data: { delivered: null, returned: null, is_known: false } })
  for (const key of ['key_15', 'key_17', 'key_18']) await move(waybills.slice(2), key)
  t.strictSame(await read(), { data: { delivered: 2, returned: 1, is_known: true } })
  t.match(await rows(`select actor_kind, object_id from audit where action = 'recipient.read'`), [
    { actor_kind: 'merchant', object_id: 'history' },
  ])
  t.equal((await get('/recipient/abc')).status, 422)
  await rows(`update tenants set recipient_history = false`)
  t.equal((await get(`/recipient/${phone}`)).status, 404)
})
