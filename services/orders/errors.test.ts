import { setTimeout as delay } from 'node:timers/promises'
import { revokeTokenById } from '@courier/shared/cli/token-commands.ts'
import t, { type Test } from 'tap'
import { createTokenFor } from './core/access/token-commands.ts'
import { build } from './test/build.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const file = tenantFile()
const namesakes = ['Kandya', 'Kandyb', 'Kandyc', 'Kandyd'].map((name, index) => ({ id: 4000 + index, name }))
file.states.push({ id: 4, name: 'Kandy', cities: namesakes })
const { app, bulk, rows, pool, apply, token, createToken } = await build(t, { file })
await apply(tenantFile({ id: 'other' }))
await bulk(batch([order({ waybill_number: 'DM00000077' })]))
const booksToken = await createToken('books@example.com')

type FieldErrors = Record<string, string[]>
type Fields = Record<string, unknown>
const to = (city: string, state: string) => ({
  destination_city_id: undefined,
  destination_city_name: city,
  destination_state_name: state,
})
const from = (city: string, state: string) => ({
  origin_city_id: undefined,
  origin_city_name: city,
  origin_state_name: state,
})
const general = (fields: Fields) => batch([order()], fields)
const second = (fields: Fields) => batch([order(), order(fields)])
const thousand = (fields: Fields) => batch(Array.from({ length: 1000 }, () => order(fields)))
const selected = (path: string): FieldErrors => ({
  [path]: [`The selected ${path.replace(/.*\./, '').replaceAll('_', ' ')} is invalid.`],
})
const misfit = (...waybills: [waybill: string, index: number][]): FieldErrors => ({
  errors: waybills.map(
    ([waybill, index]) =>
      `The waybill ${waybill} does not match the requested format. Waybills look like DM########, where # is a digit. It is in order_data.${index}.`,
  ),
})
const lacking = (...combinations: [cities: string, withStates: string, orders: string][]): FieldErrors => ({
  'rate_card.destination_city_id': combinations.map(
    ([cities, withStates, orders]) =>
      `No rate card is assigned for the combination ${cities}. It is from ${withStates}, for ${orders}.`,
  ),
})
const kotteToJaffna = (orders: string): [string, string, string] => [
  'Kotte to Jaffna',
  'Kotte in Colombo to Jaffna in Jaffna',
  orders,
]
const taken = { 'order_data.1.waybill_number': ['The waybill number has already been taken.'] }
const noName = (name: string, end: string) => [`The ${name} field is required when ${end} city id is not present.`]

const table: Record<string, [body: unknown, errors: FieldErrors, token?: string]> = {
  'an unknown business': [
    general({ merchant_business_id: '9999' }),
    { 'general_data.merchant_business_id': ['The selected merchant business id is invalid.'] },
  ],
  'a business of another merchant': [
    general({ merchant_business_id: '7300' }),
    selected('general_data.merchant_business_id'),
  ],
  'a waybill that misses the format': [second({ waybill_number: 'dm00000001' }), misfit(['dm00000001', 1])],
  'two waybills that miss the format': [
    batch([order({ waybill_number: 'A1' }), order({ waybill_number: 'DM1234567' })]),
    misfit(['A1', 0], ['DM1234567', 1]),
  ],
  'a waybill that exists': [second({ waybill_number: 'DM00000077' }), taken],
  'only a waybill that exists': [
    batch([order({ waybill_number: 'DM00000077' })]),
    { 'order_data.0.waybill_number': ['The waybill number has already been taken.'] },
  ],
  'a waybill twice': [
    batch([order({ waybill_number: 'DM00000500' }), order({ waybill_number: 'DM00000500' })]),
    { 'order_data.1.waybill_number': ['The waybill number field has a duplicate value.'] },
  ],
  'an unknown origin_city_id': [general({ origin_city_id: '9' }), selected('general_data.origin_city_id')],
  'an unknown origin_city_name': [general(from('Atlantis', 'Colombo')), selected('general_data.origin_city_name')],
  'an unknown origin_state_name': [general(from('Kotte', 'Atlantis')), selected('general_data.origin_state_name')],
  'an unknown destination_city_id': [second({ destination_city_id: 9 }), selected('order_data.1.destination_city_id')],
  'an unknown destination_city_name': [second(to('Atlantis', 'Galle')), selected('order_data.1.destination_city_name')],
  'an unknown destination_state_name': [
    second(to('Hikkaduwa', 'Atlantis')),
    selected('order_data.1.destination_state_name'),
  ],
  'a merchant who has no rate card': [
    general({ merchant_business_id: '7300' }),
    { merchant_rate_card: ['Please assign a rate card to the merchant.'] },
    booksToken,
  ],
  'a combination that the card lacks': [
    batch([order({ destination_city_id: 3000 }), order({ destination_city_id: 3000 })]),
    lacking(kotteToJaffna('order_data.0, order_data.1')),
  ],
  'two combinations that the card lacks': [
    batch([order(), order({ destination_city_id: 3000 }), order()], { origin_city_id: 2101 }),
    lacking(
      ['Hikkaduwa to Galle', 'Hikkaduwa in Galle to Galle in Galle', 'order_data.0, order_data.2'],
      ['Hikkaduwa to Jaffna', 'Hikkaduwa in Galle to Jaffna in Jaffna', 'order_data.1'],
    ),
  ],
  'a combination lacking for many orders': [
    batch(Array.from({ length: 15 }, () => order({ destination_city_id: 3000 }))),
    lacking(kotteToJaffna(`${Array.from({ length: 10 }, (_, index) => `order_data.${index}`).join(', ')} and 5 more`)),
  ],
  'errors of several kinds': [
    batch(
      [
        order({ waybill_number: 'XX' }),
        order({ waybill_number: 'DM00000077', destination_city_id: 3000 }),
        order(to('Atlantis', 'Lemuria')),
        order({ waybill_number: 'DM00000077' }),
      ],
      { merchant_business_id: 1 },
    ),
    {
      ...selected('general_data.merchant_business_id'),
      ...selected('order_data.2.destination_state_name'),
      ...selected('order_data.2.destination_city_name'),
      ...misfit(['XX', 0]),
      'order_data.3.waybill_number': ['The waybill number field has a duplicate value.'],
      ...lacking(kotteToJaffna('order_data.1')),
      ...taken,
    },
  ],
  'schema errors and data errors in its other orders': [
    batch(
      [
        order({ cod: 'much', destination_city_id: 9 }),
        order({ destination_city_id: 9 }),
        order({ waybill_number: 'DM00000077' }),
        order({ waybill_number: 'XX' }),
        'an order',
      ],
      { merchant_business_id: 1 },
    ),
    {
      'order_data.0.cod': ['The cod field must be an integer from 0 to 2147483647.'],
      'order_data.4': ['The order_data.4 field must be an object.'],
      ...selected('general_data.merchant_business_id'),
      ...selected('order_data.1.destination_city_id'),
      ...misfit(['XX', 3]),
      'order_data.2.waybill_number': ['The waybill number has already been taken.'],
    },
  ],
  'a schema error in general_data and a data error in its order': [
    batch([order({ destination_city_id: 9 })], { origin_city_id: true }),
    {
      'general_data.origin_city_id': ['The origin city id field must be a string or a number.'],
      ...selected('order_data.0.destination_city_id'),
    },
  ],
  'schema errors in every order that has a data error': [
    batch([order({ cod: 'much' }), order({ customer_name: '', weight: undefined, destination_city_id: 9 })]),
    {
      'order_data.0.cod': ['The cod field must be an integer from 0 to 2147483647.'],
      'order_data.1.customer_name': ['The customer name field is required.'],
      'order_data.1.weight': ['The weight field is required.'],
    },
  ],
  'nothing in it': [
    {},
    { general_data: ['The general data field is required.'], order_data: ['The order data field is required.'] },
  ],
  'neither ids nor names of its cities': [
    batch([order({ destination_city_id: null })], { origin_city_id: '' }),
    {
      'general_data.origin_city_name': noName('origin city name', 'origin'),
      'general_data.origin_state_name': noName('origin state name', 'origin'),
      'order_data.0.destination_city_name': noName('destination city name', 'destination'),
      'order_data.0.destination_state_name': noName('destination state name', 'destination'),
    },
  ],
}

const counts = () =>
  rows(`select (select count(*)::int from orders) as orders, (select count(*)::int from order_events) as events,
    (select count(*)::int from idempotency_keys) as keys`)

for (const [name, [body, errors, as = token]] of Object.entries(table))
  t.test(`a batch with ${name} is refused and nothing is written`, async t => {
    const before = await counts()
    const response = await bulk(body, { token: as, headers: { 'idempotency-key': name } })
    t.equal(response.status, 422)
    t.equal(response.body.message, 'The given data was invalid.')
    t.strictSame(response.body.errors, errors)
    t.match(response.headers, { 'content-type': /^application\/json/, 'x-request-id': /^[0-9a-f-]{36}$/ })
    t.strictSame(await counts(), before)
  })

const suggestions: Record<string, [body: unknown, path: string, nearest?: Fields[]]> = {
  'a misspelt city': [
    second(to('Hikaduwa', 'Galle')),
    'order_data.1.destination_city_name',
    [{ id: 2101, name: 'Hikkaduwa', state: 'Galle' }],
  ],
  'a misspelt state': [
    general(from('Kotte', 'Colmbo')),
    'general_data.origin_state_name',
    [{ id: 1, name: 'Colombo', state: 'Colombo' }],
  ],
  'a city of another state': [
    second(to('Hikkaduwa', 'Colombo')),
    'order_data.1.destination_city_name',
    [{ id: 2101, name: 'Hikkaduwa', state: 'Galle' }],
  ],
  'a city with four near names': [
    general(from('Kandyx', 'Kandy')),
    'general_data.origin_city_name',
    namesakes.slice(0, 3).map(city => ({ ...city, state: 'Kandy' })),
  ],
  'an unknown id beside a name': [
    second({ destination_city_id: 9, destination_city_name: 'Hikaduwa' }),
    'order_data.1.destination_city_id',
    [{ id: 2101, name: 'Hikkaduwa', state: 'Galle' }],
  ],
  'a city like no other': [second(to('Atlantis', 'Galle')), 'order_data.1.destination_city_name'],
}

for (const [name, [body, path, nearest]] of Object.entries(suggestions))
  t.test(`the error for ${name} keeps its shape beside up to three nearest names`, async t => {
    const refused = { message: 'The given data was invalid.', code: 'validation_failed', errors: selected(path) }
    t.strictSame((await bulk(body)).body, nearest ? { ...refused, suggestions: { [path]: nearest } } : refused)
  })

const tooMany: Record<string, unknown> = {
  schema: thousand({ customer_name: '', customer_phone: undefined }),
  place: thousand(to('Atlantis', 'Lemuria')),
  waybill: thousand({ destination_city_id: 9, waybill_number: 'X' }),
}
for (const [kind, body] of Object.entries(tooMany))
  t.test(
    `the response to a batch with 2,000 ${kind} errors lists 1,000 of them and says how many more there are`,
    async t => {
      const response = await bulk(body)
      t.equal(response.status, 422)
      t.equal(Object.values(response.body.errors).flat().length, 1000)
      t.equal(response.body.more_errors, 1000)
    },
  )

const url = '/api/public/merchant/order/bulk'
type Headers = Record<string, string | undefined>
const request = async (
  t: Test,
  headers: Headers = {},
  { payload = JSON.stringify(batch()), ...target }: Target = {},
) => {
  const all = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json', ...headers }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  const response = await app.inject({ method: 'POST', url, ...target, headers: given, payload })
  t.match(response.headers, { 'content-type': /^application\/json/, 'x-request-id': /^[0-9a-f-]{36}$/ })
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}
interface Target {
  method?: 'GET' | 'PUT' | 'POST'
  url?: string
  payload?: string | Buffer
}

const staff = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
const strangers: Record<string, Headers> = {
  'no token': { authorization: undefined },
  'a bad token': { authorization: 'Bearer courier_nonsense' },
  'a token in another scheme': { authorization: `Basic ${token}` },
  'a token of another tenant': { authorization: `Bearer ${await createToken('shop@example.com', 'other')}` },
  'the name of another tenant': { 'x-tenant': 'other' },
  'an unknown tenant': { 'x-tenant': 'nowhere' },
  'a staff token': { authorization: `Bearer ${staff.token}` },
}
for (const [name, headers] of Object.entries(strangers))
  t.test(`a request with ${name} is unauthenticated`, async t => {
    const { status, body } = await request(t, headers)
    t.equal(status, 401)
    t.strictSame(body, { message: 'Unauthenticated.', code: 'unauthenticated' })
  })

t.test('a token is refused from the moment it expires', async t => {
  const start = async (milliseconds: number) => {
    const until = Date.now() + milliseconds
    const expires = new Date(until).toISOString()
    const { token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com', expires })
    const headers = { authorization: `Bearer ${token}` }
    return { headers, until, before: await request(t, headers, { payload: '' }), isLate: Date.now() >= until }
  }
  const first = await start(1_000)
  // On a busy machine the first request may come after the end.
  const { headers, until, before } = first.isLate ? await start(15_000) : first
  t.equal(before.status, 400)
  await delay(until - Date.now() + 20)
  t.equal((await request(t, headers)).status, 401)
})

t.test('a revoked token is refused, within 5 s if it was just in use', async t => {
  const [fresh, used] = await Promise.all(
    [1, 2].map(() => createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })),
  )
  if (!fresh || !used) throw new Error('no tokens')
  t.equal((await request(t, { authorization: `Bearer ${used.token}` }, { payload: '' })).status, 400)
  await Promise.all([revokeTokenById(pool, fresh.id), revokeTokenById(pool, used.id)])
  t.equal((await request(t, { authorization: `Bearer ${fresh.token}` })).status, 401)
  const revoked = performance.now()
  const isRefused = async () =>
    (await request(t, { authorization: `Bearer ${used.token}` }, { payload: '' })).status === 401
  while (!(await isRefused()) && performance.now() - revoked < 5_000) await delay(50)
  t.ok(await isRefused())
})

const broken: Record<string, [status: number, message: string | RegExp, headers: Headers, target?: Target]> = {
  'no X-tenant': [400, 'The X-tenant header is required.', { 'x-tenant': undefined }],
  'broken JSON': [400, 'The body is not valid JSON.', {}, { payload: '{"general_data": nope}' }],
  'half a body': [
    400,
    'The body is not valid JSON: at position 18 (line 1 column 19).',
    {},
    { payload: '{"general_data": {' },
  ],
  'bad UTF-8': [400, 'The body is not valid UTF-8.', {}, { payload: Buffer.from([0x7b, 0xff, 0x7d]) }],
  'an empty body': [400, 'The body is not valid JSON: it ends too early.', {}, { payload: '' }],
  'a malformed address': [400, 'The address is malformed.', {}, { url: '/api/%zz' }],
  'an unknown path': [404, 'There is nothing at this address.', {}, { url: `${url}s` }],
  'a form as body': [
    415,
    'Send the body as application/json.',
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
  'text as body': [415, 'Send the body as application/json.', { 'content-type': 'text/plain' }],
  'a compressed body': [415, 'Send the body without content-encoding.', { 'content-encoding': 'gzip' }],
  'a body without a type': [415, 'Send the body as application/json.', { 'content-type': undefined }],
}
for (const [name, [status, message, headers, target]] of Object.entries(broken))
  t.test(`a request with ${name} gets ${status}`, async t => {
    const response = await request(t, headers, target)
    t.equal(response.status, status)
    t.strictSame(Object.keys(response.body), ['message', 'code'])
    if (typeof message === 'string') t.equal(response.body.message, message)
    else t.match(response.body.message, message)
  })

for (const address of [url, `${url}/`])
  for (const method of ['GET', 'PUT'] as const)
    t.test(`${method} ${address} gets 405 with the allowed method`, async t => {
      const response = await request(t, {}, { method, url: address })
      t.equal(response.status, 405)
      t.equal(response.headers.allow, 'POST')
      t.strictSame(response.body, {
        message: `The ${method} method is not supported here; use POST.`,
        code: 'method_not_allowed',
      })
    })

t.test('a body above the limit gets 413', async t => {
  const small = await build(t, { maxBodyBytes: 1_000 })
  const response = await small.bulk(thousand({}))
  t.equal(response.status, 413)
  t.strictSame(response.body, {
    message: 'The body is too large. Send it in smaller parts.',
    code: 'payload_too_large',
  })
  t.match(response.headers, { 'content-type': /^application\/json/, 'x-request-id': /./ })
})

t.test('a request above the rate of its merchant gets 429 with Retry-After', async t => {
  const slow = await build(t, { requestsPerMinute: 2 })
  const statuses = [await slow.bulk(batch()), await slow.bulk('')].map(({ status }) => status)
  t.strictSame(statuses, [200, 400])
  const response = await slow.bulk(batch())
  t.equal(response.status, 429)
  t.strictSame(response.body, { message: 'Too Many Attempts.', code: 'rate_limited' })
  t.ok(Number(response.headers['retry-after']) > 0 && Number(response.headers['retry-after']) <= 60)
  t.match(response.headers, { 'content-type': /^application\/json/, 'x-request-id': /./ })
  t.equal((await slow.bulk(batch(), { token: await slow.createToken('shop@example.com') })).status, 429)
  t.strictSame(await slow.rows('select count(*)::int as orders from orders'), [{ orders: 1 }])
})

for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
  t.test(`a wrong method is reported before an invalid body: ${method}`, async t => {
    for (const payload of ['', '{"a'])
      t.equal(
        (await app.inject({ method, url, headers: { 'content-type': 'application/json' }, payload })).statusCode,
        405,
      )
  })

t.test('skips a byte order mark before the body', async t => {
  t.equal((await request(t, {}, { payload: `\uFEFF${JSON.stringify(batch())}` })).status, 200)
})

t.test('a batch whose JSON has a key twice in an order is refused, and nothing is created', async t => {
  const [{ count }] = await rows('select count(*) from orders')
  const payload = JSON.stringify(batch([order(), order({ cod: 100 })])).replace(
    '"cod":100',
    '"cod":100,"c\\u006fd":200',
  )
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const response = await app.inject({ method: 'POST', url: '/api/public/merchant/order/bulk', headers, payload })
  t.equal(response.statusCode, 400)
  t.match(response.json(), { message: 'The body has the field cod twice in one object.', code: 'malformed_request' })
  t.same(await rows('select count(*) from orders'), [{ count }])
})
