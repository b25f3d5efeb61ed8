import t from 'tap'
import { serviceToken } from '../../test/build.ts'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'

const { make, makeOfBooks, moveAlong, cancel, request, get, staffGet, rows, apply, tenant, ...rest } =
  await tenantFixture(t)
const { pool, staffToken, booksToken } = rest

const edit = (waybill: string, body: unknown, options = {}) =>
  request('PATCH', `/api/public/merchant/order/${waybill}`, body, options)
const staffEdit = (waybill: string, body: unknown, options = {}) =>
  request('PATCH', `/api/staff/order/${waybill}`, body, { token: staffToken, ...options })
const ifMatch = (tag: unknown) => ({ headers: { 'if-match': String(tag) } })
const readOrder = async (waybill: string) => (await get(`/order/${waybill}`)).body.data
const confirmed = { initial_status_key: 'key_2' }

t.test('a merchant changes an order; its edits, changes and audit name the fields and hold no values', async t => {
  await make(['DM00000001'])
  const before = await readOrder('DM00000001')
  const response = await edit('DM00000001', {
    customer_phone: ' 0770000199 ',
    customer_address: '99 Lake Road',
    customer_name: 'Nimali Perera',
    cod: '700',
    description: '',
  })
  t.equal(response.status, 200)
  const fields = ['customer_address', 'customer_phone', 'cod']
  t.strictSame(response.body, {
    message: 'Order Updated Successfully',
    data: { waybill_number: 'DM00000001', fields, delivery_charge: 540.5, currency: 'LKR' },
  })
  const { edits, ...after } = await readOrder('DM00000001')
  t.match(after, { customer_phone: '0770000199', customer_address: '99 Lake Road', cod: 700, timeline: [{}] })
  t.strictSame(after.timeline[0].date_time, before.timeline[0].date_time)
  t.match(edits, [{ fields, user: { first_name: 'Lanka Shoes', last_name: '' } }])
  t.notOk('reason' in edits[0])
  const { data: changes } = (await get('/order/changes')).body
  t.match(changes.at(-1), {
    ...{ type: 'order.edited', waybill_number: 'DM00000001', status: { key: 'key_1' } },
    ...{ by: 'merchant', fields },
  })
  t.match(await rows(`select actor_kind, action, object_id from audit where action = 'order.edited'`), [
    { actor_kind: 'merchant', action: 'order.edited', object_id: 'DM00000001: customer_address, customer_phone, cod' },
  ])
  t.equal((await get('/order?phone=0770000199')).body.data.length, 1, 'the list finds the new number')
})

t.test('an edit is not a status: tracking does not show it', async t => {
  await make(['DM00000005'])
  const status = (await get('/order/DM00000005/status')).body.data.date_time
  await edit('DM00000005', { cod: 1 })
  t.equal((await get('/order/tracking-info?waybill_number=DM00000005')).body.data.length, 1)
  const tracking = { waybill_number: 'DM00000005' }
  t.equal((await request('POST', '/api/public/order/tracking-info', tracking)).body.data.timeline.length, 1)
  t.equal((await get('/order/DM00000005/status')).body.data.date_time, status)
})

t.test('the notifier reads the edits of an order', async t => {
  const [waybill = ''] = await make(['DM00000090'])
  await rows(
    `insert into order_edits (tenant_id, waybill_number, fields, edited_at, staff_name, reason)
      values ('${tenant}', $1, array['cod'], '2026-02-19T20:14:00Z', 'Ruwan', 'the shop called')`,
    [waybill],
  )
  const { body } = await request('GET', `/internal/orders/${tenant}/${waybill}`, undefined, { token: serviceToken })
  t.strictSame(body.data.edits, [
    {
      ...{ fields: ['cod'], at: '2026-02-19T20:14:00.000Z', staff_name: 'Ruwan', by: 'staff' },
      ...{ reason: 'the shop called', previous: null },
    },
  ])
})

t.test('each edit, whoever makes it, is an event for the notifier if the company uses messaging', async t => {
  await make(['DM00000006'])
  const countEvents = async () => {
    const events = await rows(`select status_keys, happened_at from outbox where type = 'order.edited'
      and waybill_numbers = '{DM00000006}' order by outbox_id`)
    return events.length
  }
  await edit('DM00000006', { cod: 1 })
  await staffEdit('DM00000006', { customer_phone: '0770000150', reason: 'The customer called' })
  t.equal(await countEvents(), 2)
  const action = { id: 'msg_edit 0', waybill_number: 'DM00000006', action: 'change_address', address: '9 Lake Road' }
  const actions = [{ ...action, happened_at: new Date().toISOString() }]
  await request('POST', '/internal/customer-actions', { tenant, actions }, { token: serviceToken })
  t.equal(await countEvents(), 3)
  t.equal((await edit('DM00000006', { cod: 1 })).status, 200)
  t.equal((await edit('DM00000006', { customer_phone: '' })).status, 422)
  t.equal(await countEvents(), 3, 'neither the same values nor a refused edit makes an event')
  await rows(`update tenants set messaging = false`)
  t.teardown(() => rows(`update tenants set messaging = true`))
  await edit('DM00000006', { cod: 2 })
  t.equal(await countEvents(), 3)
})

t.test('a new city or weight reprices the order; other edits keep the price', async t => {
  await make(['DM00000010'])
  t.match((await edit('DM00000010', { weight: 3 })).body.data, {
    fields: ['weight', 'delivery_charge'],
    delivery_charge: 631,
  })
  const city = { destination_city_name: 'dehiwala', destination_state_name: 'Colombo' }
  t.match((await edit('DM00000010', city)).body.data, {
    fields: ['destination_city_id', 'delivery_charge'],
    delivery_charge: 400,
  })
  t.match(await readOrder('DM00000010'), { destination_city_name: 'Dehiwala', delivery_charge: 400, weight: 3 })
  const dearer = tenantFile()
  for (const merchant of dearer.merchants) merchant.rate_card = 'standard'
  for (const rate of dearer.rate_cards[0]?.rates ?? []) rate.first_kg = 1000
  await apply(dearer)
  t.equal((await edit('DM00000010', { cod: 1, weight: 3, ...city })).body.data.delivery_charge, 400)
  t.equal((await edit('DM00000010', { weight: 1 })).body.data.delivery_charge, 1000, 'with the current rates')
  t.match(await edit('DM00000010', { destination_city_id: 3000 }), {
    status: 422,
    body: { errors: { 'rate_card.destination_city_id': [/^No rate card is assigned for .* Kotte to Jaffna/] } },
  })
  t.match((await edit('DM00000010', { destination_city_name: 'Gale', destination_state_name: 'Galle' })).body, {
    errors: { destination_city_name: ['The selected destination city name is invalid.'] },
    suggestions: { destination_city_name: [{ id: 2100, name: 'Galle', state: 'Galle' }] },
  })
  t.match(await readOrder('DM00000010'), { destination_city_id: 1501, delivery_charge: 1000 })
})

t.test('accepts its ETag as a proxy that compresses responses passes it on', async t => {
  await make(['DM00000016'])
  let { etag } = (await get('/order/DM00000016')).headers
  const other = '"AAAAAAAAAAAAAAAAAAAAAAAAAAA"'
  const forms = [
    (tag: string) => `W/${tag}`,
    (tag: string) => tag.replace(/"$/, '-gzip"'),
    (tag: string) => `W/${tag.replace(/"$/, '--br"')}`,
    (tag: string) => `"x",${tag.replace(/"$/, ';zstd"')} , W/"y"`,
  ]
  for (const [index, form] of forms.entries()) {
    t.equal((await edit('DM00000016', { cod: 10 + index }, ifMatch(form(other)))).status, 412)
    const edited = await edit('DM00000016', { cod: 10 + index }, ifMatch(form(String(etag))))
    t.equal(edited.status, 200, form(String(etag)))
    etag = edited.headers.etag
  }
  for (const odd of [`w/${etag}`, `W/W/${etag}`, `W/ ${etag}`, String(etag).replace(/"$/, 'gzip"'), 'W/*'])
    t.equal((await edit('DM00000016', { cod: 99 }, ifMatch(odd))).status, 412, odd)
})

t.test('refuses a stale If-Match with the current ETag, and changes nothing', async t => {
  await make(['DM00000015'])
  const first = (await get('/order/DM00000015')).headers.etag
  t.match(first, /^"[\w-]{27}"$/)
  t.equal((await staffGet('/order/DM00000015')).headers.etag, first)
  const edited = await edit('DM00000015', { cod: 1 }, ifMatch(first))
  t.equal(edited.status, 200)
  t.equal((await get('/order/DM00000015')).headers.etag, edited.headers.etag)
  const stale = await edit('DM00000015', { cod: 2 }, ifMatch(first))
  t.match(stale, { status: 412, body: { code: 'precondition_failed' }, headers: { etag: edited.headers.etag } })
  t.equal((await edit('DM00000015', { cod: 2 }, ifMatch(`W/${first}`))).status, 412)
  t.equal((await readOrder('DM00000015')).cod, 1)
  t.equal((await edit('DM00000015', { cod: 3 }, ifMatch(`"other", ${edited.headers.etag}`))).status, 200)
  t.equal((await edit('DM00000015', { cod: 4 }, ifMatch('*'))).status, 200)
  const drafted = (await get('/order/DM00000015')).headers.etag
  await moveAlong('DM00000015', [2])
  t.equal((await edit('DM00000015', { cod: 5 }, ifMatch(drafted))).status, 412, 'a move changes the ETag too')
  t.equal((await edit('DM00000015', { cod: 5 })).status, 200, 'without If-Match nothing is compared')
})

t.test('one of several edits of the same version wins', async t => {
  await make(['DM00000018'])
  const { etag } = (await get('/order/DM00000018')).headers
  const responses = await Promise.all([1, 2, 3, 4].map(cod => edit('DM00000018', { cod }, ifMatch(etag))))
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 412, 412, 412])
})

t.test('merchants edit until pickup; then staff edit the recipient’s contact fields, until delivery', async t => {
  await make(['DM00000020', 'DM00000021'], confirmed)
  await cancel(['DM00000021'])
  for (const key of [4, 5]) {
    await moveAlong('DM00000020', [key])
    t.equal((await edit('DM00000020', { cod: key })).status, 200, `key_${key}`)
  }
  await moveAlong('DM00000020', [6])
  const open =
    'you may only change an order that is key_1 DRAFT or key_2 CONFIRMED or key_4 DEFAULT WAREHOUSE CHANGE or key_5 PICKUP RIDER ASSIGNED.'
  t.strictSame(
    (await edit('DM00000020', { customer_phone: '0770000102' })).body,
    refusal({ customer_phone: [`DM00000020 is key_6 PICKED UP: ${open}`] }),
  )
  t.match(await readOrder('DM00000020'), { editable: 'none' })
  t.match(await edit('DM00000021', { cod: 1 }), { status: 422 })
  const reason = 'The customer called'
  t.equal((await staffEdit('DM00000020', { reason, customer_phone: '0770000102' })).status, 200)
  t.match((await staffEdit('DM00000020', { reason, customer_name: 'N', cod: 1 })).body.errors, {
    cod: [/^DM00000020 is key_6 PICKED UP: only customer_name, .*customer_email may be changed\.$/],
  })
  await moveAlong('DM00000020', [7])
  t.match((await staffEdit('DM00000020', { reason, customer_name: 'N' })).body.errors, {
    customer_name: ['DM00000020 is key_7 DELIVERED BY PICKUP RIDER: it may not be changed any more.'],
  })
})

t.test('staff edit the order of any merchant with a reason, which only staff see', async t => {
  await makeOfBooks(['DM00000030'])
  t.match((await staffEdit('DM00000030', { cod: 5 })).body.errors, { reason: ['The reason field is required.'] })
  t.match((await staffEdit('DM00000030', { cod: 5, reason: ' ' })).body.errors, {
    reason: ['The reason field is required.'],
  })
  const response = await staffEdit('DM00000030', { cod: 5, reason: 'Agreed by phone 📞' })
  t.match(response, { status: 200, body: { data: { fields: ['cod'] } } })
  t.match((await staffGet('/order/DM00000030')).body.data.edits, [
    {
      fields: ['cod'],
      user: { first_name: 'Kamal', last_name: 'Perera' },
      reason: 'Agreed by phone 📞',
      previous: { cod: 4500 },
    },
  ])
  const own = (await get('/order/DM00000030', { token: booksToken })).body.data
  t.match(own.edits, [{ fields: ['cod'], user: { first_name: 'Kamal' } }])
  t.notOk('reason' in own.edits[0] || 'previous' in own.edits[0])
  t.match(
    await rows(`select actor, fields from log where waybill_numbers = '{DM00000030}' and type = 'order.edited'`),
    [{ actor: 'staff', fields: ['cod'] }],
  )
  t.match(await rows(`select actor_kind, actor from audit where object_id = 'DM00000030: cod'`), [
    { actor_kind: 'staff', actor: 'Kamal Perera' },
  ])
})

t.test('refuses edits of missing orders and of the orders of others, and malformed edits', async t => {
  await make(['DM00000040'])
  const gone = { status: 404, body: { code: 'not_found' } }
  t.match(await edit('DM09999999', { cod: 1 }), gone)
  t.match(await edit('DM00000040', { cod: 1 }, { token: booksToken }), gone)
  t.match(await edit('DM0000%00', { cod: 1 }), gone)
  t.equal((await edit('DM00000040', { cod: 1 }, { token: staffToken })).status, 401)
  const wrong: [body: unknown, errors: Record<string, (string | RegExp)[]>][] = [
    [{}, { errors: [/^Give a field to change: customer_name, /] }],
    [{ customer_name: ' ' }, { customer_name: ['The customer name field is required.'] }],
    [{ customer_name: null }, { customer_name: ['The customer name field is required.'] }],
    [{ cod: -1 }, { cod: ['The cod field must be an integer from 0 to 2147483647.'] }],
    [{ weight: '0' }, { weight: ['The weight field must be a number above 0 and at most 1000 kg.'] }],
    [
      { customer_phone: '0'.repeat(51) },
      { customer_phone: ['The customer phone field must not be greater than 50 characters.'] },
    ],
    [{ description: 'a\0b' }, { description: [/must not contain a null character/] }],
    [
      { destination_city_name: 'Atlantis' },
      {
        destination_city_name: ['The selected destination city name is invalid.'],
        destination_state_name: [
          'The destination state name field is required when destination city id is not present.',
        ],
      },
    ],
    [
      { customer_adress: 'x', cod: 1 },
      { customer_adress: ['The customer adress field is not known. Did you mean customer_address?'] },
    ],
    [
      { remark: 'x', currency: 'USD', created_at: 'x', merchant_id: 1, cod: 1 },
      Object.fromEntries(
        ['remark', 'currency', 'created_at', 'merchant_id'].map(name => [name, [/cannot be changed: the booking set/]]),
      ),
    ],
    [
      { status_key: 'key_2', cod: 1 },
      { status_key: [/^The status key field cannot be changed: an order moves with POST/] },
    ],
    [
      { waybill_number: 'DM1', order_no: 'A', origin_city_id: 1500, cod: 'x' },
      {
        waybill_number: [/^The waybill number field cannot be changed: labels and messages carry it\./],
        order_no: [/cannot be changed/],
        origin_city_id: [/cannot be changed: the price and the pickup follow from it\./],
        cod: [/must be/],
      },
    ],
    [{ reason: 'mine', cod: 1 }, { reason: [/is not known/] }],
    [[], { '': [/must be an object/] }],
  ]
  for (const [body, errors] of wrong)
    t.match(await edit('DM00000040', body), { status: 422, body: { errors } }, JSON.stringify(body).slice(0, 40))
  t.match(await readOrder('DM00000040'), { cod: 4500, edits: [], editable: 'all' })
})

t.test('an edit that changes nothing leaves no trace', async t => {
  await make(['DM00000050'])
  const same = await edit('DM00000050', { cod: 4500, destination_city_id: '2100', weight: '1.20', customer_email: '' })
  t.match(same, { status: 200, body: { data: { fields: [] } } })
  t.strictSame((await readOrder('DM00000050')).edits, [])
})

t.test('the newest fifty edits are shown', async t => {
  await make(['DM00000060'])
  for (let cod = 0; cod < 51; cod++) await edit('DM00000060', { cod })
  t.equal((await readOrder('DM00000060')).edits.length, 50)
})

t.test('gives up after two seconds on an order that another request has locked', async t => {
  await make(['DM00000070'])
  const client = await pool.connect()
  await client.query(`begin; select set_config('app.tenant', '${tenant}', true)`)
  await client.query(`select from orders where waybill_number = 'DM00000070' for update`)
  const held = await edit('DM00000070', { cod: 1 })
  await client.query('rollback')
  client.release()
  t.match(held, { status: 503, body: { code: 'unavailable' } })
  t.ok(held.headers['retry-after'])
})

t.test('refuses a second phone where the company keeps none; a stored one may stay or go', async t => {
  await make(['DM00000080'], { customer_secondary_phone: '0112345678' })
  await apply(tenantFile({ secondary_phone: false }))
  t.match(await edit('DM00000080', { customer_secondary_phone: '0112345679', cod: 1 }), {
    status: 422,
    body: { errors: { customer_secondary_phone: [/cannot be set: the courier company keeps one phone number/] } },
  })
  t.equal((await edit('DM00000080', { customer_secondary_phone: '0112345678', cod: 2 })).status, 200)
  t.match(await readOrder('DM00000080'), { cod: 2, customer_secondary_phone: '0112345678' })
  t.match((await edit('DM00000080', { customer_secondary_phone: '' })).body.data.fields, ['customer_secondary_phone'])
  t.equal((await readOrder('DM00000080')).customer_secondary_phone, null)
})

t.test('a company that starts to refuse unusual phones lets a stored one stay', async t => {
  await make(['DM00000081'], { customer_phone: '12345' })
  await apply(tenantFile({ checks: { phone: 'refuse' } }))
  t.equal((await edit('DM00000081', { customer_phone: '12345', cod: 3 })).status, 200)
  t.equal((await edit('DM00000081', { customer_phone: '12346', cod: 4 })).status, 422)
  t.match(await readOrder('DM00000081'), { cod: 3, customer_phone: '12345' })
})

t.test('an edit warns of characters that labels print as code points', async t => {
  const waybill = 'DM00000082'
  await make([waybill], confirmed)
  const { status, body } = await edit(waybill, { customer_address: '12 中 Road', customer_name: 'ıŒœ නිමාලි' })
  const warning = 'Labels have no letter for 中 (U+4E2D): they print the code in its place.'
  t.strictSame([status, body.warnings], [200, { customer_address: [warning] }])
})
