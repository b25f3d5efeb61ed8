import t from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { tenantFile } from '../../test/tenant.ts'

const file = tenantFile()
const [kotte, dehiwala] = file.states[0]?.cities ?? []
Object.assign(kotte ?? {}, { aliases: ['Sri Jayawardenepura Kotte'] })
Object.assign(dehiwala ?? {}, { aliases: ['දෙහිවල'] })
const { apply, ordersOptions, request, token, createToken } = await build(t, { file })
const resolve = (places: unknown, rest = {}, options = {}) => request('/city/resolve', { places, ...rest }, options)
const dehiwalaCity = { id: 1501, name: 'Dehiwala', state: 'Colombo', postal_code: '10350' }

t.test('each place gets its city with a confidence, in the order sent', async t => {
  const { status, body } = await resolve([
    { city_name: 'kotte', state_name: 'Colombo' },
    { text: 'දෙහිවල' },
    { text: '12 Temple Road, Dehivala, Sri Lanka' },
    { text: 'Colombo' },
    { city_name: 'London', state_name: null, postal_code: '' },
  ])
  t.equal(status, 200)
  const kotteCity = { id: 1500, name: 'Kotte', state: 'Colombo', postal_code: '10100' }
  const withoutOrigin = { alternatives: [], served: null, rate: null }
  t.strictSame(body.data, [
    { confidence: 'exact', city: kotteCity, ...withoutOrigin },
    { confidence: 'alias', city: dehiwalaCity, ...withoutOrigin },
    { confidence: 'likely', city: dehiwalaCity, ...withoutOrigin },
    { confidence: 'ambiguous', city: null, ...withoutOrigin, alternatives: [kotteCity, dehiwalaCity] },
    { confidence: 'none', city: null, ...withoutOrigin },
  ])
})

t.test('finds a place by its postal code alone, and none by an unknown code', async t => {
  const { status, body } = await resolve([{ postal_code: '10350' }, { postal_code: '99999', text: '' }])
  t.equal(status, 200)
  t.match(body.data, [
    { confidence: 'likely', city: dehiwalaCity },
    { confidence: 'none', city: null },
  ])
})

t.test("with an origin, the response shows the rate in the merchant's card", async t => {
  const places = [{ text: 'Galle' }, { text: 'Jaffna' }, { text: 'Nowhere' }]
  const listRates = async (origin_city_id: unknown, options = {}) =>
    (await resolve(places, { origin_city_id }, options)).body.data.map(({ served, rate }: Record<string, unknown>) => [
      served,
      rate,
    ])
  const rate = { first_kg: 450, each_extra_kg: 90.5, currency: 'LKR' }
  for (const id of [1500, '1500', ' 1500 '])
    t.strictSame(await listRates(id), [
      [true, rate],
      [false, null],
      [null, null],
    ])
  const nothing = [null, null]
  for (const id of [null, '', undefined]) t.strictSame(await listRates(id), [nothing, nothing, nothing])
  const withoutCard = { token: await createToken('books@example.com') }
  t.strictSame(await listRates(1500, withoutCard), [[false, null], [false, null], nothing])
})

t.test('refuses malformed places and lists every error', async t => {
  const errors = async (places: unknown, rest = {}) => {
    const { status, body } = await resolve(places, rest)
    t.equal(status, 422)
    return body.errors
  }
  const either = ['Give either text or city_name.']
  t.strictSame(await errors([{ text: 'Galle' }, {}, { text: ' ' }, { text: 'Galle', city_name: 'Galle' }]), {
    'places.1.text': either,
    'places.2.text': either,
    'places.3.text': either,
  })
  t.strictSame(await errors([]), { places: ['The places field is required.'] })
  const tooMany = await errors(Array.from({ length: 1001 }, () => ({ text: 'Galle' })))
  t.strictSame(tooMany, { places: ['The places field must not have more than 1000 items.'] })
  t.strictSame(await errors([{ text: 'x'.repeat(256), postal_code: 7 }]), {
    'places.0.text': ['The text field must not be greater than 255 characters.'],
    'places.0.postal_code': ['The postal code field must be a string.'],
  })
  t.strictSame(await errors([{ text: 'Galle' }], { origin_city_id: 9 }), {
    origin_city_id: ['The selected origin city id is invalid.'],
  })
  t.equal((await request('/city/resolve', { places: [{ text: 'Galle' }] }, { token: '' })).status, 401)
})

t.test('a thousand places are resolved at once, whatever is in them', async t => {
  const texts = ['\u0000', '\ud800', '\ufdfa'.repeat(255), 'ka '.repeat(85), 'Galle,'.repeat(42), '1'.repeat(255)]
  const places = Array.from({ length: 1000 }, (_, n) => texts[n % texts.length] ?? '')
  const { status, body } = await resolve(places.map(text => ({ text, state_name: text, postal_code: '1' })))
  t.equal(status, 200)
  t.equal(body.data.length, 1000)
})

t.test("another tenant's aliases are unknown: only the sounds of names match", async t => {
  await apply(tenantFile({ id: 'other' }))
  const other = { tenant: 'other', token: await createToken('shop@example.com', 'other') }
  const { body } = await resolve([{ text: 'දෙහිවල' }, { text: 'Sri Jayawardenepura Kotte' }], {}, other)
  t.strictSame(
    body.data.map(({ confidence }: { confidence: string }) => confidence),
    ['likely', 'likely'],
    'by their sounds alone',
  )
})

t.test('a change of the tenant file shows in the next response of every process', async t => {
  const { app } = await createOrders(ordersOptions)
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const elsewhere = async () => {
    const payload = { places: [{ text: 'Little England' }] }
    const response = await app.inject({ method: 'POST', url: '/api/public/merchant/city/resolve', headers, payload })
    return response.json().data[0].confidence
  }
  t.equal(await elsewhere(), 'none')
  Object.assign(dehiwala ?? {}, { aliases: ['Little England'] })
  await apply(file)
  t.equal(await elsewhere(), 'alias')
})

t.test('asks a merchant with many concurrent requests to retry some later', async t => {
  const places = Array.from({ length: 1000 }, (_, n) => ({ text: `${n} Temple Road, Dehivala` }))
  const responses = await Promise.all(Array.from({ length: 20 }, () => resolve(places)))
  const refused = responses.filter(({ status }) => status === 503)
  // One request runs and ten wait; the first may end before the last is read.
  t.ok(refused.length > 0 && refused.length <= 20 - 1 - 10, String(refused.length))
  t.equal(responses.filter(({ status }) => status === 200).length, 20 - refused.length)
  for (const { body, headers } of refused) t.match([body.code, headers['retry-after']], ['unavailable', '2'])
})
