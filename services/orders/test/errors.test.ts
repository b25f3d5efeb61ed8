import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createTokenFor, revokeTokenById } from '../access/token-commands.ts'
import { build } from './build.ts'
import { batch, order, tenantFile } from './tenant.ts'

const file = tenantFile()
const namesakes = ['Kandya', 'Kandyb', 'Kandyc', 'Kandyd'].map((name, index) => ({ id: 4000 + index, name }))
file.states.push({ id: 4, name: 'Kandy', cities: namesakes })
const { app, bulk, rows, pool, apply, token, tokenOf } = await build(t, { file })
await apply(tenantFile({ id: 'other' }))
await bulk(batch([order({ waybill_number: 'DM00000077' })]))
const booksToken = await tokenOf('books@example.com')

type Faults = Record<string, string[]>
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
const selected = (path: string): Faults => ({
  [path]: [`The selected ${path.replace(/.*\./, '').replaceAll('_', ' ')} is invalid.`],
})
const misfit = (...waybills: string[]): Faults => ({
  errors: waybills.map(
    waybill =>
      `The waybill ${waybill} does not match the requested format. Waybills look like DM########, where # is a digit.`,
  ),
})
const lacking = (...combinations: string[]): Faults => ({
  'rate_card.destination_city_id': combinations.map(
    cities => `No rate card is assigned for the combination ${cities}.`,
  ),
})
const taken = { 'order_data.1.waybill_number': ['The waybill number has already been taken.'] }
const noName = (name: string, end: string) => [`The ${name} field is required when ${end} city id is not present.`]

const faults: Record<string, [body: unknown, errors: Faults, token?: string]> = {
  'an unknown business': [
    general({ merchant_business_id: '9999' }),
    { 'general_data.merchant_business_id': ['The selected merchant business id is invalid.'] },
  ],
  'a business of another merchant': [
    general({ merchant_business_id: '7300' }),
    selected('general_data.merchant_business_id'),
  ],
  'a waybill that misses the format': [second({ waybill_number: 'dm00000001' }), misfit('dm00000001')],
  'two waybills that miss the format': [
    batch([order({ waybill_number: 'A1' }), order({ waybill_number: 'DM1234567' })]),
    misfit('A1', 'DM1234567'),
  ],
  'a waybill that exists': [second({ waybill_number: 'DM00000077' }), taken],
  'nothing but a waybill that exists': [
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
    { 'rate_card.destination_city_id': ['No rate card is assigned for the combination Kotte to Jaffna.'] },
  ],
  'two combinations that the card lacks': [
    batch([order(), order({ destination_city_id: 3000 }), order()], { origin_city_id: 2101 }),
    lacking('Hikkaduwa to Galle', 'Hikkaduwa to Jaffna'),
  ],
  'faults of several kinds': [
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
      ...misfit('XX'),
      'order_data.3.waybill_number': ['The waybill number field has a duplicate value.'],
      ...lacking('Kotte to Jaffna'),
      ...taken,
    },
  ],
  'schema faults, before any fault of its data': [
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
  'neither ids nor names of its places': [
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

for (const [name, [body, errors, as = token]] of Object.entries(faults))
  t.test(`a batch with ${name} is refused and nothing is written`, async t => {
    const before = await counts()
    const answer = await bulk(body, { token: as, headers: { 'idempotency-key': name } })
    t.equal(answer.status, 422)
    t.equal(answer.body.message, 'The given data was invalid.')
    t.strictSame(answer.body.errors, errors)
    t.match(answer.headers, { 'content-type': /^application\/json/, 'x-request-id': /^[0-9a-f-]{36}$/ })
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
  'a city like no other': [second(to('Atlantis', 'Galle')), 'order_data.1.destination_city_name'],
}

for (const [name, [body, path, nearest]] of Object.entries(suggestions))
  t.test(`the error of ${name} keeps its shape beside up to three nearest names`, async t => {
    const refused = { message: 'The given data was invalid.', errors: selected(path) }
    t.strictSame((await bulk(body)).body, nearest ? { ...refused, suggestions: { [path]: nearest } } : refused)
  })

const tooMany: Record<string, unknown> = {
  schema: thousand({ customer_name: '', customer_phone: undefined }),
  place: thousand(to('Atlantis', 'Lemuria')),
  waybill: thousand({ destination_city_id: 9, waybill_number: 'X' }),
}
for (const [kind, body] of Object.entries(tooMany))
  t.test(`an answer to 2,000 ${kind} faults lists 1,000 of them`, async t => {
    const answer = await bulk(body)
    t.equal(answer.status, 422)
    t.equal(Object.values(answer.body.errors).flat().length, 1000)
  })

const url = '/api/public/merchant/order/bulk'
type Headers = Record<string, string | undefined>
const call = async (t: Test, headers: Headers = {}, { payload = JSON.stringify(batch()), ...target }: Target = {}) => {
  const all = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json', ...headers }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  const answer = await app.inject({ method: 'POST', url, ...target, headers: given, payload })
  t.match(answer.headers, { 'content-type': /^application\/json/, 'x-request-id': /^[0-9a-f-]{36}$/ })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
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
  'a token of another tenant': { authorization: `Bearer ${await tokenOf('shop@example.com', 'other')}` },
  'the name of another tenant': { 'x-tenant': 'other' },
  'an unknown tenant': { 'x-tenant': 'nowhere' },
  'a staff token': { authorization: `Bearer ${staff.token}` },
}
for (const [name, headers] of Object.entries(strangers))
  t.test(`a call with ${name} is unauthenticated`, async t => {
    const { status, body } = await call(t, headers)
    t.equal(status, 401)
    t.strictSame(body, { message: 'Unauthenticated.' })
  })

t.test('a token is refused from the moment it expires', async t => {
  const expires = new Date(Date.now() + 1_000).toISOString()
  const brief = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com', expires })
  const headers = { authorization: `Bearer ${brief.token}` }
  t.equal((await call(t, headers, { payload: '' })).status, 400)
  await delay(1_000)
  t.equal((await call(t, headers)).status, 401)
})

t.test('a revoked token is refused, within 5 s if it was just in use', async t => {
  const [fresh, used] = await Promise.all(
    [1, 2].map(() => createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })),
  )
  if (!fresh || !used) throw new Error('no tokens')
  t.equal((await call(t, { authorization: `Bearer ${used.token}` }, { payload: '' })).status, 400)
  await Promise.all([revokeTokenById(pool, fresh.id), revokeTokenById(pool, used.id)])
  t.equal((await call(t, { authorization: `Bearer ${fresh.token}` })).status, 401)
  await delay(4_500)
  t.equal((await call(t, { authorization: `Bearer ${used.token}` })).status, 401)
})

const broken: Record<string, [status: number, message: string | RegExp, headers: Headers, target?: Target]> = {
  'no X-tenant': [400, 'The X-tenant header is required.', { 'x-tenant': undefined }],
  'broken JSON': [400, /^The body is not valid JSON: (?!it ends too early)/, {}, { payload: '{"general_data": nope}' }],
  'half a body': [400, /^The body is not valid JSON: /, {}, { payload: '{"general_data": {' }],
  'bad UTF-8': [400, 'The body is not valid UTF-8.', {}, { payload: Buffer.from([0x7b, 0xff, 0x7d]) }],
  'an empty body': [400, /^The body is not valid JSON: /, {}, { payload: '' }],
  'a malformed address': [400, 'The address is malformed.', {}, { url: '/api/%zz' }],
  'an unknown path': [404, 'There is nothing at this address.', {}, { url: `${url}s` }],
  'a form as body': [
    415,
    'Send the body as application/json.',
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
  'text as body': [415, 'Send the body as application/json.', { 'content-type': 'text/plain' }],
  'a packed body': [415, 'Send the body without content-encoding.', { 'content-encoding': 'gzip' }],
  'a body of no type': [415, 'Send the body as application/json.', { 'content-type': undefined }],
}
for (const [name, [status, message, headers, target]] of Object.entries(broken))
  t.test(`a call with ${name} is answered ${status}`, async t => {
    const answer = await call(t, headers, target)
    t.equal(answer.status, status)
    t.strictSame(Object.keys(answer.body), ['message'])
    if (typeof message === 'string') t.equal(answer.body.message, message)
    else t.match(answer.body.message, message)
  })

for (const address of [url, `${url}/`])
  for (const method of ['GET', 'PUT'] as const)
    t.test(`${method} ${address} is answered 405 with the method that is allowed`, async t => {
      const answer = await call(t, {}, { method, url: address })
      t.equal(answer.status, 405)
      t.equal(answer.headers.allow, 'POST')
      t.strictSame(answer.body, { message: `The ${method} method is not supported here; use POST.` })
    })

t.test('a body above the limit is answered 413', async t => {
  const small = await build(t, { maxBodyBytes: 1_000 })
  const answer = await small.bulk(thousand({}))
  t.equal(answer.status, 413)
  t.strictSame(answer.body, { message: 'The body is too large. Send it in smaller parts.' })
  t.match(answer.headers, { 'content-type': /^application\/json/, 'x-request-id': /./ })
})

t.test('a call above the rate of its merchant is answered 429 with a pause', async t => {
  const slow = await build(t, { callsPerMinute: 2 })
  const statuses = [await slow.bulk(batch()), await slow.bulk('')].map(({ status }) => status)
  t.strictSame(statuses, [200, 400])
  const answer = await slow.bulk(batch())
  t.equal(answer.status, 429)
  t.strictSame(answer.body, { message: 'Too Many Attempts.' })
  t.ok(Number(answer.headers['retry-after']) > 0 && Number(answer.headers['retry-after']) <= 60)
  t.match(answer.headers, { 'content-type': /^application\/json/, 'x-request-id': /./ })
  t.equal((await slow.bulk(batch(), { token: await slow.tokenOf('shop@example.com') })).status, 429)
  t.strictSame(await slow.rows('select count(*)::int as orders from orders'), [{ orders: 1 }])
})

for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
  t.test(`a wrong method is told before a wrong body: ${method}`, async t => {
    for (const payload of ['', '{"a'])
      t.equal(
        (await app.inject({ method, url, headers: { 'content-type': 'application/json' }, payload })).statusCode,
        405,
      )
  })

t.test('a byte order mark before the body is passed over', async t => {
  t.equal((await call(t, {}, { payload: `\uFEFF${JSON.stringify(batch())}` })).status, 200)
})
