import { once } from 'node:events'
import http from 'node:http'
import t, { type Test } from 'tap'
import { build } from './test/build.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

type Fields = Record<string, unknown>
const [longState, longCity] = ['s'.repeat(255), 'c'.repeat(255)]
const file = tenantFile({ waybills: { mode: 'auto', format: '#'.repeat(50) } })
file.states.push({ id: 9, name: longState, cities: [{ id: 9000, name: longCity }] })
file.states.push({ id: 10, name: 'Nuwara Eliya', cities: [{ id: 9100, name: 'Hatton  Town' }] })
const { app, apply, bulk, rows, token, createToken } = await build(t, { file })
await apply(tenantFile({ id: 'plain', secondary_phone: false }))
const plain = { tenant: 'plain', token: await createToken('shop@example.com', 'plain') }

/** Posts one order and reads its row back. */
const stored = async (fields: Fields, general: Fields = {}, options = {}) => {
  const { status, body } = await bulk(batch([order(fields)], general), options)
  if (status !== 200) return body
  const [row] = await rows('select * from orders where waybill_number = $1', body.data)
  return row
}
const refusal = async (fields: Fields, general: Fields = {}) => {
  const { status, body } = await bulk(batch([order(fields)], general))
  return status === 422 ? body.errors : { status }
}
const expectExact = async (t: Test, fields: Fields) => {
  const row = await stored(fields)
  t.strictSame(Object.fromEntries(Object.keys(fields).map(name => [name, row[name]])), fields)
}
const named = (city: string, state: string) => ({
  destination_city_id: undefined,
  destination_city_name: city,
  destination_state_name: state,
})
const originNamed = (city: string, state: string) => ({
  origin_city_id: null,
  origin_city_name: city,
  origin_state_name: state,
})

t.test('header names are case-insensitive', async t => {
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const spellings = [
    ['X-tenant', 'Authorization', 'Content-Type'],
    ['X-Tenant', 'authorization', 'content-type'],
    ['x-tenant', 'AUTHORIZATION', 'CONTENT-TYPE'],
  ]
  for (const [tenant = '', authorization = '', type = ''] of spellings) {
    const headers = { [tenant]: 'demo', [authorization]: `Bearer ${token}`, [type]: 'application/json; charset=utf-8' }
    const request = http.request(`${address}/api/public/merchant/order/bulk`, { method: 'POST', headers })
    request.end(JSON.stringify(batch()))
    const [response] = await once(request, 'response')
    t.equal(response.statusCode, 200)
    response.resume()
  }
})

t.test('ids may be numbers or strings, and an id takes precedence over names', async t => {
  const same = { business_id: 7290, origin_city_id: 1500, destination_city_id: 2100 }
  for (const form of [Number, String, (id: number) => ` ${id} `]) {
    const ids = { merchant_business_id: form(7290), origin_city_id: form(1500) }
    t.match(await stored({ destination_city_id: form(2100) }, ids), same)
    const names = { destination_city_name: 'Atlantis', destination_state_name: 'Lemuria' }
    t.match(
      await stored({ destination_city_id: form(2100), ...names }, { ...originNamed('Galle', 'Atlantis'), ...ids }),
      same,
    )
  }
})

t.test('optional fields that are absent, null, empty or blank have no value', async t => {
  const optional = ['waybill_number', 'order_no', 'customer_secondary_phone', 'customer_email', 'description', 'remark']
  const left = [...optional, 'initial_status_key', 'destination_city_name', 'destination_state_name']
  const filled = (names: string[], value: unknown) => Object.fromEntries(names.map(name => [name, value]))
  const origin = (value: unknown) => filled(['origin_city_name', 'origin_state_name'], value)
  for (const value of [undefined, null, '', '  ']) {
    const row = await stored(filled(left, value), origin(value))
    t.match(row, { ...filled(optional.slice(1), null), status_key: 'key_1', waybill_number: /^\d{50}$/ })
    const ids = { ...named('Galle', 'Galle'), destination_city_id: value }
    t.match(await stored(ids, { ...originNamed('Kotte', 'Colombo'), origin_city_id: value }), {
      origin_city_id: 1500,
      destination_city_id: 2100,
    })
  }
})

const wrongCod = { 'order_data.0.cod': ['The cod field must be an integer from 0 to 2147483647.'] }
const wrongWeight = { 'order_data.0.weight': ['The weight field must be a number above 0 and at most 1000 kg.'] }
const absent = (name: string) => ({ [`order_data.0.${name}`]: [`The ${name} field is required.`] })

t.test('cod is an integer or its digits', async t => {
  for (const cod of ['1500.0', '1500', '"1500"', '"1500.0"', '" 1500 "']) {
    const text = JSON.stringify(batch([order({ cod: 'COD' })])).replace('"COD"', cod)
    const { body } = await bulk(text)
    t.strictSame(await rows('select cod from orders where waybill_number = $1', body.data), [{ cod: 1500 }], cod)
  }
  for (const cod of [0, '0', 2147483647, '2147483647']) t.equal((await stored({ cod })).cod, Number(cod))
  for (const cod of [1500.5, '1500.50', -1, '-1', 2147483648, '2147483648', '1e3', '٣', 'abc', true, [1], {}])
    t.strictSame(await refusal({ cod }), wrongCod, JSON.stringify(cod))
  for (const cod of [undefined, null, '', ' ']) t.strictSame(await refusal({ cod }), absent('cod'))
})

t.test('weight is a number or its digits, above 0 and at most 1000 kg', async t => {
  for (const weight of [0.5, '0.5', '.5', '5e-1', 1000, '1000', 0.001])
    t.equal((await stored({ weight })).weight, Number(weight))
  for (const weight of [0, '0', -1, '-1', 1000.01, '1000.01', '1e4', '1e-999', 'abc', '0x10', 'Infinity', false, [1]])
    t.strictSame(await refusal({ weight }), wrongWeight, JSON.stringify(weight))
  for (const weight of [undefined, null, '', ' ']) t.strictSame(await refusal({ weight }), absent('weight'))
})

t.test('phone numbers are stored as written', async t => {
  for (const phone of ['0770000101', '770000101', '94770000101', '+94 77 000 01 01', '077-000-0101'])
    await expectExact(t, { customer_phone: phone, customer_secondary_phone: phone })
})

t.test('a secondary phone is kept only where the tenant allows it', async t => {
  t.equal((await stored({ customer_secondary_phone: '0112' }, {}, plain)).customer_secondary_phone, null)
})

t.test('unknown fields are ignored, whatever their names and values', async t => {
  const { waybill_number: _, created_at: __, ...expected } = await stored({})
  const unknown = '"order_flag_id":"7","__proto__":{"customer_name":"P","cod":-1},"constructor":{"prototype":null},'
  const odd = `${unknown}"toString":1,"note":"\\u0000 \\ud800","customer":{"name":"\\udc00"},`
  const text = JSON.stringify(batch()).replaceAll('{', `{${odd}"origin_warehouse_id":null,`)
  const { status, body } = await bulk(text)
  t.equal(status, 200)
  const [{ waybill_number, created_at, ...row }] = await rows(
    'select * from orders where waybill_number = $1',
    body.data,
  )
  t.strictSame(row, expected)
  t.equal(waybill_number, body.data[0])
  t.equal(Object.hasOwn(Object.prototype, 'customer_name'), false)
  t.ok(created_at)
})

t.test('names of cities and states match in any letter case, with extra white space', async t => {
  const destination = named(' hATTON \t town', 'NUWARA   eliya ')
  t.match(await stored(destination, originNamed('  kotte', 'COLOMBO\n')), {
    origin_city_id: 1500,
    destination_city_id: 9100,
  })
})

const limits: [limit: number, ...fields: string[]][] = [
  [50, 'waybill_number', 'customer_phone', 'customer_secondary_phone'],
  [100, 'order_no'],
  [255, 'customer_name', 'customer_email'],
  [1000, 'customer_address', 'description', 'remark'],
]
for (const [limit, ...fields] of limits)
  for (const name of fields)
    t.test(`${name} has at most ${limit} characters`, async t => {
      t.equal(
        (await stored({ [name]: '7'.repeat(limit - 1) + (limit % 10) }))[name],
        '7'.repeat(limit - 1) + (limit % 10),
      )
      t.strictSame(await refusal({ [name]: '7'.repeat(limit + 1) }), {
        [`order_data.0.${name}`]: [
          `The ${name.replaceAll('_', ' ')} field must not be greater than ${limit} characters.`,
        ],
      })
    })

t.test('names of cities and states have at most 255 characters, ids 64', async t => {
  t.match(await stored(named(longCity, longState)), { destination_city_id: 9000 })
  const long = (name: string, limit: number) => [`The ${name} field must not be greater than ${limit} characters.`]
  t.strictSame(await refusal(named(`${longCity}c`, `${longState}s`), originNamed(`${longCity}c`, `${longState}s`)), {
    'general_data.origin_city_name': long('origin city name', 255),
    'general_data.origin_state_name': long('origin state name', 255),
    'order_data.0.destination_city_name': long('destination city name', 255),
    'order_data.0.destination_state_name': long('destination state name', 255),
  })
  const id = '1'.repeat(65)
  t.strictSame(await refusal({ destination_city_id: id }, { merchant_business_id: id, origin_city_id: id }), {
    'general_data.merchant_business_id': long('merchant business id', 64),
    'general_data.origin_city_id': long('origin city id', 64),
    'order_data.0.destination_city_id': long('destination city id', 64),
  })
})

t.test('text that Postgres cannot store is refused with its path', async t => {
  const cannot = (name: string) => [`The ${name} field must not contain a null character or half of a surrogate pair.`]
  for (const bad of ['\0', 'a\0b', '\ud83d', '\ude00\ud83d', '\udfff'])
    t.strictSame(await refusal({ customer_name: bad, remark: bad }, { merchant_business_id: `7290${bad}` }), {
      'general_data.merchant_business_id': cannot('merchant business id'),
      'order_data.0.customer_name': cannot('customer name'),
      'order_data.0.remark': cannot('remark'),
    })
  t.strictSame(await refusal(named('Galle\0', 'Galle')), {
    'order_data.0.destination_city_name': cannot('destination city name'),
  })
})

t.test('any other text is stored exactly, and an order number in NFC', async t => {
  const texts = [
    'නිමාලි පෙරේරා',
    '👩‍👩‍👧 🇱🇰 e\u0301',
    'O\'Neil "x" \\n {a,b} \\"',
    'null',
    '{}',
    ',',
    'a\r\n\tb',
    '<b>&amp;</b>',
    '%s $1',
  ]
  for (const text of texts) {
    await expectExact(t, { customer_name: text, customer_address: text, description: text })
    // Repetitions are found by one comparison, whatever the Unicode form.
    t.equal((await stored({ order_no: text })).order_no, text.normalize('NFC'))
  }
  const escaped = JSON.stringify(batch([order({ customer_name: 'NAME' })])).replace('NAME', '\\ud83d\\ude00\\u0d9a')
  const { body } = await bulk(escaped)
  const kept = await rows('select customer_name from orders where waybill_number = $1', body.data)
  t.strictSame(kept, [{ customer_name: '😀ක' }])
})

t.test('the first status is key_1 or the requested one, and opens the timeline', async t => {
  const keys = [undefined, 'key_1', 'key_2']
  const { body } = await bulk(batch(keys.map(initial_status_key => order({ initial_status_key }))))
  const expected = ['key_1', 'key_1', 'key_2'].map((key, index) => ({ waybill_number: body.data[index], key }))
  const of = (column: string, table: string) =>
    `select waybill_number, ${column} as key from ${table} where waybill_number = any($1) order by 1`
  t.strictSame(await rows(of('status_key', 'orders'), [body.data]), expected)
  t.strictSame(await rows(of('status_key', 'order_events'), [body.data]), expected)
  for (const initial_status_key of ['key_3', 'KEY_1', 1])
    t.strictSame(await refusal({ initial_status_key }), {
      'order_data.0.initial_status_key': ['The selected initial status key is invalid. It may be key_1 or key_2.'],
    })
})

t.test('a batch has at least one order and at most the limit', async t => {
  const small = await build(t, { maxOrdersPerBatch: 3 })
  const responses = [0, 3, 4].map(count => small.bulk(batch(Array.from({ length: count }, () => order()))))
  const [none, three, four] = await Promise.all(responses)
  t.strictSame(none?.body.errors, { order_data: ['The order data field is required.'] })
  t.equal(three?.body.data.length, 3)
  t.strictSame(four?.body.errors, { order_data: ['The order data field must not have more than 3 items.'] })
})

t.test('a body of the wrong shape is refused with the path of each error', async t => {
  const shapes: [unknown, unknown][] = [
    [
      { general_data: [1], order_data: {} },
      { general_data: 'an object', order_data: 'an array' },
    ],
    [
      { general_data: 'x', order_data: 7 },
      { general_data: 'an object', order_data: 'an array' },
    ],
    [
      batch([order({ customer_name: 5, order_no: {} })]),
      { 'order_data.0.customer_name': 'a string', 'order_data.0.order_no': 'a string' },
    ],
    [batch([order(), 'x']), { 'order_data.1': 'an object' }],
  ]
  for (const [body, expected] of shapes) {
    const errors = Object.entries(expected as Record<string, string>).map(([path, kind]) => {
      const name = /\d$/.test(path) ? path : path.split('.').at(-1)?.replaceAll('_', ' ')
      return [path, [`The ${name} field must be ${kind}.`]]
    })
    t.strictSame((await bulk(JSON.stringify(body))).body.errors, Object.fromEntries(errors))
  }
  for (const body of ['[]', '5', 'null', '"x"'])
    t.strictSame(Object.keys((await bulk(body)).body.errors), ['general_data', 'order_data'])
  const sentence = 'The body must be an object with general_data and order_data, not a list.'
  t.strictSame((await bulk('[]')).body.errors.order_data, ['The order data field is required.', sentence])
})

/** PHP encodes an empty map as an empty list. */
t.test('an empty list for an optional field means that it is not given', async t => {
  const optional = ['waybill_number', 'initial_status_key', 'order_no', 'customer_secondary_phone', 'customer_email']
  const others = ['destination_city_name', 'destination_state_name', 'description', 'remark']
  const empty = Object.fromEntries([...optional, ...others].map(name => [name, []]))
  const row = await stored(empty, { origin_city_name: [], origin_state_name: [] })
  const { status_key, order_no, customer_secondary_phone, customer_email, description, remark } = row
  t.strictSame([status_key, order_no, customer_secondary_phone, customer_email], ['key_1', null, null, null])
  t.strictSame([description, remark, row.origin_city_id], [null, null, 1500])
  const namedCity = { ...named('Galle', 'Galle'), destination_city_id: [] }
  t.match(await stored(namedCity, { ...originNamed('Kotte', 'Colombo'), origin_city_id: [] }), {
    origin_city_id: 1500,
    destination_city_id: 2100,
  })
  const { body } = await bulk(batch([order(), order(empty), order({ remark: [] })]), { query: '?dry_run=1' })
  t.equal(body.data.length, 3)
})

t.test('an empty list for a required field, and a list with something in it, are refused', async t => {
  t.strictSame(await refusal({ customer_name: [], cod: [], remark: ['x'], order_no: [[]] }), {
    'order_data.0.customer_name': ['The customer name field is required.'],
    'order_data.0.cod': ['The cod field is required.'],
    'order_data.0.remark': ['The remark field must be a string.'],
    'order_data.0.order_no': ['The order no field must be a string.'],
  })
  t.strictSame(await refusal({}, { origin_city_id: [], merchant_business_id: [] }), {
    'general_data.merchant_business_id': ['The merchant business id field is required.'],
    'general_data.origin_city_name': ['The origin city name field is required when origin city id is not present.'],
    'general_data.origin_state_name': ['The origin state name field is required when origin city id is not present.'],
  })
})

t.test('an id alone names a city, for every check and price', async t => {
  const byId = { destination_city_id: 2100, destination_city_name: undefined, destination_state_name: undefined }
  const ids: [origin: unknown, destination: unknown][] = [
    [1500, 2100],
    ['1500', ' 2100 '],
    [1500.0, '2100'],
  ]
  for (const [origin_city_id, destination_city_id] of ids) {
    const general = { origin_city_id, origin_city_name: undefined, origin_state_name: undefined }
    t.match(await stored({ ...byId, destination_city_id }, general), {
      origin_city_id: 1500,
      destination_city_id: 2100,
      delivery_charge: '540.5000',
    })
  }
  const general = { origin_city_id: 2100 }
  t.match(await refusal({ ...byId, destination_city_id: 1500 }, general), {
    'rate_card.destination_city_id': [/^No rate card is assigned for the combination Galle to Kotte\./],
  })
  t.strictSame(await refusal(byId, { origin_city_id: 77 }), {
    'general_data.origin_city_id': ['The selected origin city id is invalid.'],
  })
})
