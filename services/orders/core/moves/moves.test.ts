import t from 'tap'
import { connectTo } from '../../../../dev/test-database.ts'
import { ordersFixture, refusal } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { untilWaiting } from '../../test/waiting.ts'

const fixture = await ordersFixture(t)
const { app, make, makeOfBooks, move, rows, request, token, staffOf, staffToken, apply, database } = fixture
await apply(tenantFile({ id: 'other' }))

const readStatus = async (waybill: string): Promise<string> =>
  (await rows('select status_key from orders where waybill_number = $1', [waybill]))[0].status_key
const readEvents = (waybill: string) =>
  rows(`select status_key, staff_name, note from order_events where waybill_number = $1 order by event_id`, [waybill])
const readOutbox = (waybill: string) =>
  rows(
    `select type, waybill_numbers, status_keys, note from outbox where $1 = any(waybill_numbers) order by outbox_id`,
    [waybill],
  )
const unknown = ['The requested waybill does not exist in the system.']

t.test('a move writes the orders, their timelines and one outbox row', async t => {
  await make(['DM10000001', 'DM10000002'], { initial_status_key: 'key_2' })
  const response = await move(['DM10000002', ' DM10000001 '], 'key_5', { note: ' Van 7 ' })
  t.equal(response.status, 200)
  t.strictSame(response.body, { message: 'Order Status Updated Successfully', data: ['DM10000002', 'DM10000001'] })
  for (const waybill of ['DM10000001', 'DM10000002']) {
    t.equal(await readStatus(waybill), 'key_5')
    t.strictSame(await readEvents(waybill), [
      { status_key: 'key_2', staff_name: null, note: null },
      { status_key: 'key_5', staff_name: 'Kamal Perera', note: 'Van 7' },
    ])
  }
  const [created, moved, ...more] = await readOutbox('DM10000001')
  t.equal(created.type, 'order.created')
  t.strictSame(moved, {
    type: 'order.status_changed',
    waybill_numbers: ['DM10000001', 'DM10000002'],
    status_keys: ['key_5', 'key_5'],
    note: 'Van 7',
  })
  t.strictSame(more, [])
})

t.test('refuses an illegal move, names the legal ones, and moves no order in the list', async t => {
  await make(['DM10000010', 'DM10000011'], { initial_status_key: 'key_2' })
  await make(['DM10000012'])
  await makeOfBooks(['DM10000013'], { initial_status_key: 'key_2' })
  await move(['DM10000011'], 'key_3')
  const response = await move(['DM10000010', 'DM10000011', 'DM10000012', 'DM19999999', 'DM10000013'], 'key_5')
  t.equal(response.status, 422)
  t.strictSame(
    response.body,
    refusal({
      'waybill_numbers.1': ['DM10000011 is key_3 CANCELLED: it may not move any more.'],
      'waybill_numbers.2': ['DM10000012 is key_1 DRAFT: it may move to key_2 CONFIRMED.'],
      'waybill_numbers.3': unknown,
    }),
  )
  t.equal(await readStatus('DM10000010'), 'key_2')
  t.equal((await readEvents('DM10000010')).length, 1)
  t.equal((await readOutbox('DM10000010')).length, 1)
  t.strictSame(
    (await move(['DM10000010'], 'key_10')).body,
    refusal({
      'waybill_numbers.0': [
        'DM10000010 is key_2 CONFIRMED: it may move to key_3 CANCELLED, key_4 DEFAULT WAREHOUSE CHANGE, ' +
          'key_5 PICKUP RIDER ASSIGNED, key_9 RECEIVED TO ORIGIN WAREHOUSE.',
      ],
    }),
  )
})

t.test('refuses an unknown field of a move and suggests the nearest known one', async t => {
  await make(['DM10000015'], { initial_status_key: 'key_2' })
  const { status, body } = await move(['DM10000015'], 'key_5', { notes: 'Van 7' })
  t.equal(status, 422)
  t.strictSame(body, refusal({ notes: ['The notes field is not known. Did you mean note?'] }))
  const ofCapabilities = await move(['DM10000015'], 'key_5', { collected: [], reason_code: 'not_home' })
  t.strictSame(
    ofCapabilities.body,
    refusal({
      collected: ['The collected field is not known.'],
      reason_code: ['The reason code field is not known.'],
    }),
  )
  t.equal(await readStatus('DM10000015'), 'key_2')
})

t.test('refuses an invalid body field by field', async t => {
  await make(['DM10000020'])
  const table: [unknown, unknown, Record<string, unknown>, Record<string, string[]>][] = [
    [
      undefined,
      undefined,
      {},
      {
        waybill_numbers: ['The waybill numbers field is required.'],
        status_key: ['The status key field is required.'],
      },
    ],
    [[], 'key_2', {}, { waybill_numbers: ['The waybill numbers field is required.'] }],
    ['DM10000020', 'key_2', {}, { waybill_numbers: ['The waybill numbers field must be an array.'] }],
    [
      Array(1001).fill('DM10000020'),
      'key_2',
      {},
      {
        waybill_numbers: ['The waybill numbers field must not have more than 1000 items.'],
      },
    ],
    [
      ['DM10000020', 7, 'a\u0000'],
      'key_2',
      {},
      {
        'waybill_numbers.1': ['The waybill_numbers.1 field must be a waybill number.'],
        'waybill_numbers.2': ['The waybill_numbers.2 field must be a waybill number.'],
      },
    ],
    [
      ['DM10000020', 'DM10000020 '],
      'key_2',
      {},
      {
        'waybill_numbers.1': ['The waybill_numbers.1 field has a duplicate value.'],
      },
    ],
    [['DM10000020'], 2, {}, { status_key: ['The status key field must be a string.'] }],
    [
      ['DM10000020'],
      'key_2',
      { note: 'x'.repeat(1001) },
      {
        note: ['The note field must be text of at most 1000 characters without a null character.'],
      },
    ],
    [
      ['DM10000020'],
      'key_2',
      { note: '\ud800' },
      {
        note: ['The note field must be text of at most 1000 characters without a null character.'],
      },
    ],
  ]
  for (const [waybills, key, rest, errors] of table) {
    const response = await move(waybills, key, rest)
    t.equal(response.status, 422)
    t.strictSame(response.body, refusal(errors))
  }
  for (const key of ['key_99', 'a\u0000b', '\ud800', 'constructor']) {
    const { body } = await move(['DM10000020'], key)
    t.match(body.errors.status_key, [/^The selected status key is invalid\. It may be key_1, key_2, .*, key_21\.$/])
  }
  t.equal((await move(['DM10000020'], 'key_2', { note: 'To 🚚' })).status, 200)
})

t.test('only staff of the tenant move orders', async t => {
  await make(['DM10000030'])
  const options = [{ token }, { token: await staffOf('Abroad', 'other') }, { token: 'nonsense' }]
  for (const option of options) {
    const response = await move(['DM10000030'], 'key_2', {}, option)
    t.equal(response.status, 401)
    t.strictSame(response.body, { message: 'Unauthenticated.', code: 'unauthenticated' })
  }
  const abroad = await move(['DM10000030'], 'key_2', {}, { token: await staffOf('Abroad', 'other'), tenant: 'other' })
  t.strictSame(abroad.body, refusal({ 'waybill_numbers.0': unknown }))
  t.equal((await request('POST', '/api/public/merchant/order/bulk', {}, { token: staffToken })).status, 401)
})

t.test('with an Idempotency-Key a request runs once', async t => {
  await make(['DM10000040'])
  const options = { headers: { 'idempotency-key': 'move 40' } }
  const first = await move(['DM10000040'], 'key_2', {}, options)
  const again = await move(['DM10000040'], 'key_2', {}, options)
  t.strictSame([first.status, first.headers['idempotency-replayed']], [200, undefined])
  t.strictSame([again.status, again.headers['idempotency-replayed'], again.body], [200, 'true', first.body])
  t.equal((await readEvents('DM10000040')).length, 2)
  const other = await move(['DM10000040'], 'key_3', {}, options)
  t.strictSame(Object.keys(other.body.errors), ['idempotency-key'])
})

t.test('the Idempotency-Keys of two members of staff are two keys', async t => {
  await make(['DM10000041', 'DM10000042'])
  const token = await staffOf('Ruwan')
  const headers = { 'idempotency-key': '1' }
  t.equal((await move(['DM10000041'], 'key_2', {}, { headers })).status, 200)
  const other = await move(['DM10000042'], 'key_2', {}, { headers, token })
  t.strictSame([other.status, other.headers['idempotency-replayed']], [200, undefined])
  const again = await move(['DM10000041'], 'key_2', {}, { headers: { 'idempotency-key': '2' } })
  const alike = await move(['DM10000041'], 'key_2', {}, { headers, token: await staffOf('Sunil') })
  t.strictSame([alike.status, alike.body.errors], [422, again.body.errors], 'the same body of a third person runs')
  const same = await move(['DM10000041'], 'key_2', {}, { headers, token })
  t.match(same.body.errors, { 'idempotency-key': [/came with another body before/] })
  t.equal((await move(['DM10000041'], 'key_2', {}, { headers })).headers['idempotency-replayed'], 'true')
})

t.test('a key that version 0.2.0 stored repeats its response for the same body, and blocks no other', async t => {
  await make(['DM10000043', 'DM10000044'])
  const headers = { 'idempotency-key': 'old' }
  t.equal((await move(['DM10000043'], 'key_2', {}, { headers })).status, 200)
  t.strictSame(
    (await rows(`select scope from idempotency_keys where idempotency_key = 'old' order by scope`)).map(
      row => row.scope,
    ),
    ['staff order/status', 'staff order/status by Kamal Perera'],
    'a process of 0.2.0 finds the key, too',
  )
  await rows(`delete from idempotency_keys where scope like '% by %' and idempotency_key = 'old'`)
  t.equal((await move(['DM10000043'], 'key_2', {}, { headers })).headers['idempotency-replayed'], 'true')
  t.equal((await move(['DM10000044'], 'key_2', {}, { headers })).status, 200)
})

t.test('one of several conflicting moves wins, the others see its result, and no move deadlocks', async t => {
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const post = async (waybill_numbers: string[], status_key: string) => {
    const response = await fetch(`${address}/api/staff/order/status`, {
      method: 'POST',
      headers: { authorization: `Bearer ${staffToken}`, 'x-tenant': 'demo', 'content-type': 'application/json' },
      body: JSON.stringify({ waybill_numbers, status_key }),
    })
    return { status: response.status, body: (await response.json()) as { errors?: Record<string, string[]> } }
  }
  for (let round = 0; round < 10; round++) {
    const waybills = Array.from({ length: 100 }, (_, index) => `DM2${String(round * 100 + index).padStart(7, '0')}`)
    await make(waybills, { initial_status_key: 'key_2' })
    const opposite = waybills.toReversed()
    const responses = await Promise.all([
      post(waybills, 'key_5'),
      post(opposite, 'key_3'),
      post(waybills, 'key_3'),
      post(opposite, 'key_5'),
    ])
    t.strictSame(responses.map(({ status }) => status).sort(), [200, 422, 422, 422])
    const events = await rows(
      `select distinct statuses from (select array_agg(status_key order by event_id) as statuses
        from order_events where waybill_number = any($1) group by waybill_number) timelines`,
      [waybills],
    )
    t.equal(events.length, 1, 'all orders in the list went the same way')
    t.equal(events[0].statuses.length, 2)
  }
  t.strictSame(
    await rows(
      `select count(*)::int as backwards from (select happened_at < lag(happened_at)
        over (partition by waybill_number order by event_id) as is_backwards from order_events) steps
          where is_backwards`,
    ),
    [{ backwards: 0 }],
  )
})

t.test('the outbox has the events of a waybill in the order of their moves', async t => {
  await make(['DM10000050'], { initial_status_key: 'key_2' })
  for (const key of ['key_5', 'key_6', 'key_8', 'key_9']) t.equal((await move(['DM10000050'], key)).status, 200)
  t.strictSame(
    (await readOutbox('DM10000050')).map(row => row.status_keys[0]),
    ['key_2', 'key_5', 'key_6', 'key_8', 'key_9'],
  )
})

t.test('a move waits for a locked order for a limited time', async t => {
  await make(['DM10000060'])
  const client = await connectTo(t, database.ownerUrl)
  await client.query(`select set_config('app.tenant', 'demo', false)`)
  await client.query('begin')
  await client.query(`select from orders where waybill_number = 'DM10000060' for update`)
  const response = await move(['DM10000060'], 'key_2')
  t.equal(response.status, 503)
  t.equal(response.headers['retry-after'], '1')
  await client.query('rollback')
  t.equal((await move(['DM10000060'], 'key_2')).status, 200)
})

t.test('checks a move that waited for another against the result of the other', async t => {
  await make(['DM10000070'])
  const client = await connectTo(t, database.ownerUrl)
  await client.query(`select set_config('app.tenant', 'demo', false)`)
  await client.query('begin')
  await client.query(`update orders set status_key = 'key_3' where waybill_number = 'DM10000070'`)
  const waiting = move(['DM10000070'], 'key_2')
  await untilWaiting(client)
  await client.query('commit')
  t.strictSame(
    (await waiting).body,
    refusal({
      'waybill_numbers.0': ['DM10000070 is key_3 CANCELLED: it may not move any more.'],
    }),
  )
})

t.test('moves a thousand orders at once', async t => {
  const waybills = Array.from({ length: 1000 }, (_, index) => `DM3${String(index).padStart(7, '0')}`)
  await make(waybills)
  const response = await move(waybills, 'key_2')
  t.equal(response.status, 200)
  t.strictSame(response.body.data, waybills)
  t.strictSame(
    await rows(
      `select count(*)::int from outbox where waybill_numbers @> array[$1] and type = 'order.status_changed'`,
      [waybills[500]],
    ),
    [{ count: 1 }],
  )
  t.strictSame(await rows(`select count(*)::int from order_events where waybill_number like 'DM3%'`), [{ count: 2000 }])
})
