import { hash } from 'node:crypto'
import http from 'node:http'
import t from 'tap'
import { ordersFixture, refusal } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { timeAgo } from './order-view.ts'
import { maskName, maskPhone } from './public-view.ts'

const fixture = await ordersFixture(t)
const { app, request, get, make, makeOfBooks, move, rows, token, booksToken, staffToken, apply, createToken } = fixture
await apply(tenantFile({ id: 'other' }))
const track = '/api/public/merchant/order/tracking-info'
const publicTrack = '/api/public/order/tracking-info'
const unknown = { message: 'The requested waybill does not exist in the system', code: 'not_found' }
const missing = refusal({ waybill_number: ['The waybill number field is required.'] })

await make(['DM00000001'], { initial_status_key: 'key_2', customer_secondary_phone: '0112345678' })
await move(['DM00000001'], 'key_5', { note: 'Van 7' })
await makeOfBooks(['DM00000002'])

t.test('the timeline is newest first, whoever moved the order', async t => {
  const { status, body } = await get('/order/tracking-info?waybill_number=DM00000001')
  t.equal(status, 200)
  const [latest, first, ...more] = body.data
  t.strictSame(more, [])
  t.match(latest.date_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  t.ok(Math.abs(Date.parse(latest.date_time) - Date.now()) < 60_000)
  t.ok(first.date_time < latest.date_time)
  t.match(latest.date_time_ago, /^\d+ (second|minute)s? ago$/)
  t.strictSame(latest, {
    status: { key: 'key_5', name: 'PICKUP RIDER ASSIGNED', color: 'info' },
    date_time: latest.date_time,
    date_time_ago: latest.date_time_ago,
    user: { first_name: 'Kamal', last_name: 'Perera' },
  })
  t.strictSame(first.user, { first_name: 'Lanka Shoes', last_name: '' })
  t.strictSame(first.status, { key: 'key_2', name: 'CONFIRMED', color: 'primary' })
})

/** Sends a GET with a body, as some clients do, over a real connection. */
const getWithBody = (address: string, body: string | Buffer, headers: Record<string, string> = {}, query = '') =>
  new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    const options = {
      method: 'GET',
      headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json', ...headers },
    }
    const request = http.request(`${address}${track}${query}`, options, async response => {
      const chunks = await response.toArray()
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) })
    })
    request.on('error', reject)
    if (body.length > 0 && !headers['transfer-encoding']) request.setHeader('content-length', Buffer.byteLength(body))
    request.end(body)
  })

t.test('the waybill may be in the query, or in the body of a GET or POST', async t => {
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const { body: expected } = await get('/order/tracking-info?waybill_number=DM00000001')
  const keys = expected.data.map((event: { date_time: string }) => event.date_time)
  const named = JSON.stringify({ waybill_number: ' DM00000001 ' })
  const responses = [
    await getWithBody(address, named),
    await getWithBody(address, named, { 'transfer-encoding': 'chunked' }),
    await getWithBody(address, named, { 'content-type': 'text/plain' }),
    await getWithBody(address, '', {}, '?waybill_number=DM00000001'),
    await getWithBody(address, 'nonsense', {}, '?waybill_number=DM00000001'),
    await request('POST', track, { waybill_number: 'DM00000001' }),
    await request('POST', `${track}?waybill_number=DM00000001`),
    await request('POST', `${track}?waybill_number=`, { waybill_number: 'DM00000001' }),
  ]
  for (const { status, body } of responses) {
    t.equal(status, 200)
    t.strictSame(
      (body as typeof expected).data.map((event: { date_time: string }) => event.date_time),
      keys,
    )
  }
  t.strictSame(await getWithBody(address, '{'), {
    status: 400,
    body: {
      message: 'The body is not valid JSON: at position 1 (line 1 column 2).',
      code: 'malformed_request',
    },
  })
  t.strictSame(await getWithBody(address, Buffer.from([0xff])), {
    status: 400,
    body: { message: 'The body is not valid UTF-8.', code: 'malformed_request' },
  })
  t.match(await getWithBody(address, `{"waybill_number": "${'x'.repeat(20_000)}"}`), { status: 413 })
  t.match(await request('POST', track, { waybill_number: 'x'.repeat(20_000) }), { status: 413 })
  t.strictSame(await getWithBody(address, '{}'), { status: 422, body: missing })
})

t.test('an invalid content type gets 415, and the OpenAPI document lists it', async t => {
  const { paths } = (await app.inject('/openapi.json')).json()
  for (const url of [track, publicTrack])
    for (const type of ['/', 'a/b/c']) {
      const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': type }
      const { statusCode } = await app.inject({
        method: 'POST',
        url,
        headers,
        payload: '{"waybill_number": "DM00000001"}',
      })
      t.equal(statusCode, 415, `${url} ${type}`)
      t.ok(paths[url].post.responses[415], url)
    }
})

t.test('a missing waybill is a validation error, and a malformed one gets 404', async t => {
  for (const nothing of [undefined, {}, null, [], 'x', { waybill_number: null }, { waybill_number: ' ' }]) {
    const response = await request('POST', track, nothing === undefined ? undefined : JSON.stringify(nothing))
    t.strictSame([response.status, response.body], [422, missing], JSON.stringify(nothing))
  }
  t.strictSame((await get('/order/tracking-info')).body, missing)
  const malformed = ['a\u0000b', '\ud800', 'x'.repeat(300), 1e300, '%', "' or 1=1 --", 'DM0000000１']
  for (const waybill_number of malformed) {
    const response = await request('POST', track, { waybill_number })
    t.strictSame([response.status, response.body], [404, unknown], JSON.stringify(waybill_number).slice(0, 40))
  }
  for (const waybill_number of [['DM00000001'], { a: 1 }, true])
    t.equal((await request('POST', track, { waybill_number })).status, 422)
  t.equal((await get('/order/tracking-info?waybill_number=%00')).status, 404)
  t.equal((await get('/order/tracking-info?waybill_number=DM00000001&waybill_number=DM00000002')).status, 422)
})

t.test('an order of another merchant or tenant gets 404', async t => {
  const abroad = { token: await createToken('shop@example.com', 'other'), tenant: 'other' }
  const url = '/order/tracking-info?waybill_number=DM00000001'
  t.equal((await get(url)).status, 200)
  for (const options of [{ token: booksToken }, abroad]) {
    const response = await get(url, options)
    t.strictSame([response.status, response.body], [404, unknown])
  }
  t.equal((await get(url, { token: staffToken })).status, 401)
})

t.test('anyone may track a parcel, with masked recipients and without names of staff', async t => {
  const headers = { authorization: '' }
  const response = await request('POST', publicTrack, { waybill_number: 'DM00000001' }, { headers })
  t.equal(response.status, 200)
  const { timeline, order } = response.body.data
  t.strictSame(order, {
    waybill_number: 'DM00000001',
    status: { key: 'key_5', name: 'PICKUP RIDER ASSIGNED', color: 'info' },
    merchant_business_name: 'Lanka Shoes Online',
    origin_city_name: 'Kotte',
    ...{ destination_city_name: null, destination_state_name: null, cod: null, currency: 'LKR' },
    customer_name: 'N*** P***',
    customer_phone: '***01',
    created_at: order.created_at,
    company: { name: 'Demo Couriers', contact: null },
  })
  t.strictSame(
    timeline.map(({ status, user }: { status: { key: string }; user: unknown }) => [status.key, user]),
    [
      ['key_5', { first_name: 'Demo Couriers', last_name: '' }],
      ['key_2', { first_name: 'Lanka Shoes', last_name: '' }],
    ],
  )
  t.notMatch(JSON.stringify(response.body), /Nimali|Temple|0770000101|0112345678|Kamal|Van 7/)
})

t.test('shows amount and city only with the code of the signed link, which cannot be guessed', async t => {
  const [row] = await rows("select secret from tracking_keys where tenant_id = 'demo'")
  const sign = (waybill: string) => hash('sha256', row.secret + waybill, 'base64url').slice(0, 11)
  const tracked = async (tracking_code: unknown) => {
    const body = { waybill_number: 'dm 00000001', tracking_code }
    const { order } = (await request('POST', publicTrack, body, { headers: { authorization: '' } })).body.data
    return [order.cod, order.destination_city_name]
  }
  t.strictSame(await tracked(sign('DM00000001')), [4500, 'Galle'])
  for (const code of [sign('DM00000002'), '', null, 7, ['x'], sign('DM00000001').toLowerCase()])
    t.strictSame(await tracked(code), [null, null], String(code))
})

t.test('public tracking shows an unknown tenant like an unknown waybill', async t => {
  for (const tenant of ['demo', 'nobody', 'other', "x' or true", 'A']) {
    const response = await request(
      'POST',
      publicTrack,
      { waybill_number: 'DM09999999' },
      { tenant, headers: { authorization: '' } },
    )
    t.strictSame([response.status, response.body], [404, unknown], tenant)
  }
  t.equal((await request('POST', publicTrack, { waybill_number: 'DM00000001' }, { tenant: 'other' })).status, 404)
  t.strictSame((await request('POST', publicTrack, {})).body, missing)
  t.equal((await request('POST', publicTrack, { waybill_number: 'X' }, { tenant: '' })).status, 400)
})

t.test('requests without a token are limited per address and minute', async t => {
  const { request } = await ordersFixture(t, { publicRequestsPerMinute: 3 })
  const statuses: number[] = []
  for (let round = 0; round < 5; round++)
    statuses.push((await request('POST', publicTrack, { waybill_number: 'X' }, { token: '' })).status)
  t.strictSame(statuses, [404, 404, 404, 429, 429])
  t.equal((await request('GET', `${track}?waybill_number=X`)).status, 404, 'merchants have a limit of their own')
})

t.test('shows a status that is no longer in the set by its key', async t => {
  await make(['DM00000009'])
  await rows(`update order_events set status_key = 'former' where waybill_number = 'DM00000009'`)
  const { body } = await get('/order/tracking-info?waybill_number=DM00000009')
  t.strictSame(body.data[0].status, { key: 'former', name: 'former', color: 'secondary' })
})

t.test('lists the statuses with the moves to and from each', async t => {
  for (const query of ['', '?noPagination=1']) {
    const { status, body } = await get(`/order/status-list${query}`)
    const created_at = body.data[2]?.created_at
    t.match(created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/)
    t.equal(status, 200)
    t.equal(body.data.length, 21)
    t.strictSame(body.data[2], {
      id: 3,
      key: 'key_3',
      name: 'CANCELLED',
      original_name: null,
      description: 'The order was cancelled before it was picked up.',
      color: 'danger',
      icon: null,
      is_merchant_status: 1,
      is_finance_status: 0,
      is_core_status: true,
      is_branch_status: true,
      is_walking_status: 1,
      is_reversal_status: true,
      before_statuses: ['key_1', 'key_2'],
      after_statuses: [],
      created_at,
      updated_at: created_at,
    })
    t.strictSame(body.data[0].after_statuses, ['key_2', 'key_3'], 'a merchant may cancel a draft')
    t.strictSame(body.data[1].after_statuses, ['key_3', 'key_4', 'key_5', 'key_9'])
    t.strictSame(body.data[8].before_statuses, ['key_2', 'key_4', 'key_8'])
    t.equal(body.data[8].is_merchant_status, 1)
    t.equal('meta' in body, query === '')
  }
  const second = await get('/order/status-list?per_page=10&page=3')
  t.strictSame(
    second.body.data.map(({ key }: { key: string }) => key),
    ['key_21'],
  )
})

t.test('the status of an order is read without its timeline', async t => {
  await make(['DM00000010'], { order_no: 'LS-7', initial_status_key: 'key_2' })
  const { status, body } = await get('/order/DM00000010/status')
  t.equal(status, 200)
  t.match(body.data, {
    waybill_number: 'DM00000010',
    order_no: 'LS-7',
    status: { key: 'key_2', name: 'CONFIRMED', color: 'primary' },
    date_time: /^\d{4}-.*\.\d{6}Z$/,
    date_time_ago: /ago$/,
  })
  const unknown = { message: 'The requested waybill does not exist in the system', code: 'not_found' }
  for (const waybill of ['DM99999999', '%00', 'X'.repeat(60)])
    t.match(await get(`/order/${waybill}/status`), { status: 404, body: waybill === '%00' ? {} : unknown }, waybill)
  const books = await get('/order/DM00000010/status', { token: booksToken })
  t.match(books, { status: 404, body: unknown }, "another merchant's order is unknown")
})

t.test('the age of a time is in the largest whole unit', async t => {
  const now = '2026-03-31T12:00:00Z'
  const table: [string, string, string?][] = [
    ['2026-03-31T12:00:00Z', '0 seconds ago'],
    ['2026-03-31T11:59:59Z', '1 second ago'],
    ['2026-03-31T11:59:00.001Z', '59 seconds ago'],
    ['2026-03-31T11:59:00Z', '1 minute ago'],
    ['2026-03-31T11:00:01Z', '59 minutes ago'],
    ['2026-03-31T11:00:00Z', '1 hour ago'],
    ['2026-03-30T12:00:01Z', '23 hours ago'],
    ['2026-03-30T12:00:00Z', '1 day ago'],
    ['2026-03-24T12:00:01Z', '6 days ago'],
    ['2026-03-24T12:00:00Z', '1 week ago'],
    ['2026-03-02T12:00:00Z', '4 weeks ago'],
    ['2026-02-28T12:00:01Z', '1 month ago'],
    ['2026-02-19T19:06:23Z', '1 month ago'],
    ['2026-01-31T12:00:00Z', '2 months ago'],
    ['2025-04-01T00:00:00Z', '11 months ago'],
    ['2025-03-31T12:00:00Z', '1 year ago'],
    ['2020-01-01T00:00:00Z', '6 years ago'],
    ['2026-03-31T12:00:05Z', '0 seconds ago'],
    ['2026-02-28T00:00:00Z', '1 month ago', '2026-03-28T00:00:00Z'],
    ['2026-02-28T00:00:01Z', '3 weeks ago', '2026-03-28T00:00:00Z'],
  ]
  for (const [then, words, at = now] of table) t.equal(timeAgo(new Date(then), new Date(at)), words, `${then} at ${at}`)
})

t.test('masks names and phones, and short ones completely', async t => {
  const names = {
    'Nimali Perera': 'N*** P***',
    ' X ': '***',
    'A de': '*** d***',
    නිමාලි: 'න***',
    '😀b': '😀***',
    '': '***',
  }
  for (const [name, masked] of Object.entries(names)) t.equal(maskName(name), masked)
  const phones = {
    '+94 77 000 0101': '***01',
    '0770101': '***01',
    '119': '***',
    'call me': '***',
    '٠٧٧٠٠٠٠١٠١': '***01',
  }
  for (const [phone, masked] of Object.entries(phones)) t.equal(maskPhone(phone), masked)
})
