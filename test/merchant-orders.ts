import type { Test } from 'tap'
import { expectRefusal, listSentences, type MerchantClient } from './merchant-client.ts'

const parcel = {
  customer_name: 'Nimali Perera',
  customer_address: '24/3 Temple Road',
  customer_phone: '0770000177',
  destination_city_id: '1525',
  cod: 1500,
  weight: 0.5,
}
const general_data = { merchant_business_id: '7290', origin_city_id: '1511' }
const makeBatch = (...order_data: unknown[]) => ({ general_data, order_data })
const created = 'Orders Created Successfully'

/** Holds the same parcel in every legal spelling that clients send. */
const spellings: Record<string, object> = {
  'ids as numbers': { destination_city_id: 1525 },
  'optional fields as null': { order_no: null, description: null, remark: null, customer_secondary_phone: null },
  'optional fields as ""': { order_no: '', description: '', remark: '', initial_status_key: '', customer_email: '' },
  'no waybill of its own': { waybill_number: '' },
  'cod as a numeric string': { cod: '1500' },
  'cod as a numeric string with a zero fraction': { cod: '1500.0' },
  'weight as a numeric string': { weight: '0.5' },
  'nothing to collect': { cod: 0 },
  'unknown fields': { origin_warehouse_id: 3, pickup_address_id: '9', order_flag_id: '1', x: { y: [] } },
  'the city by its name': {
    destination_city_id: '',
    destination_city_name: '  mahaRAGAMA ',
    destination_state_name: 'COLOMBO ',
  },
  'a phone without its 0': { customer_phone: '770000177' },
  'a phone with its country': { customer_phone: '94770000177' },
  'a phone with a plus, blanks and dashes': { customer_phone: '+94 77 000-01 77' },
  'confirmed at once': { initial_status_key: 'key_2' },
}

export const testOrders = async (t: Test, client: MerchantClient): Promise<void> => {
  await t.test('books every legal spelling of a parcel, alone and in a batch', async t => {
    const parcels = Object.values(spellings).map(spelling => ({ ...parcel, ...spelling }))
    for (const [index, name] of Object.keys(spellings).entries()) {
      const { status, body } = await client.createOrder(makeBatch(parcels[index]))
      t.match({ status, body }, { status: 200, body: { message: created, data: [/^DM\d{8}$/] } }, name)
      // Repeating the same parcel gives warnings.
      const { warnings: _, ...rest } = body
      t.strictSame(Object.keys(rest), ['message', 'data'])
    }
    const { status, body } = await client.createOrders(makeBatch(...parcels))
    t.equal(status, 200)
    t.equal(body.message, created)
    t.equal(new Set(body.data).size, parcels.length, 'each parcel has its own waybill')
    for (const [index, waybill] of body.data.entries()) await checkParcel(t, client, waybill, parcels[index])
  })

  await t.test('accepts every spelling of the origin', async t => {
    const named = { origin_city_id: null, origin_city_name: 'colombo 11 ', origin_state_name: ' colombo' }
    for (const origin of [{ merchant_business_id: 7290, origin_city_id: 1511 }, named]) {
      const response = await client.createOrders({
        general_data: { ...general_data, ...origin, warehouse: 1 },
        order_data: [parcel],
        source: 'a shop',
      })
      t.equal(response.status, 200)
      await checkParcel(t, client, response.body.data[0])
    }
  })

  await t.test('cod is an integer in every spelling', async t => {
    const text = JSON.stringify(makeBatch(parcel)).replace('"cod":1500', '"cod":1500.0')
    const whole = await client.createOrdersText(text)
    t.equal(whole.status, 200, '1500.0')
    await checkParcel(t, client, whole.body.data[0])
    for (const cod of [1500.5, '1500.50', 'much', null, ''])
      expectRefusal(t, await client.createOrders(makeBatch({ ...parcel, cod })), {
        errors: { 'order_data.0.cod': /cod/ },
      })
  })

  await t.test('an order begins as a draft or confirmed; a single order is exactly one order', async t => {
    const selected = { 'order_data.0.initial_status_key': /^The selected initial status key is invalid\./ }
    for (const initial_status_key of ['key_3', 'key_13', 'DRAFT'])
      expectRefusal(t, await client.createOrder(makeBatch({ ...parcel, initial_status_key })), { errors: selected })
    for (const items of [[], [parcel, parcel]])
      expectRefusal(t, await client.createOrder(makeBatch(...items)), { errors: { order_data: /order data/ } })
  })

  await t.test('lists the missing fields of a form', async t => {
    const [customer_name, customer_address, customer_phone] = ['', null, '  ']
    const blank = { ...parcel, customer_name, customer_address, customer_phone, destination_city_id: '' }
    const response = await client.createOrders({ general_data: {}, order_data: [parcel, blank] })
    const required = /^The [a-z ]+ field is required\.$/
    const requiredWithout = /^The [a-z ]+ field is required when [a-z ]+ city id is not present\.$/
    expectRefusal(t, response, {
      errors: {
        'general_data.merchant_business_id': required,
        'general_data.origin_city_name': requiredWithout,
        'general_data.origin_state_name': requiredWithout,
        'order_data.1.customer_name': required,
        'order_data.1.customer_address': required,
        'order_data.1.customer_phone': required,
        'order_data.1.destination_city_name': requiredWithout,
        'order_data.1.destination_state_name': requiredWithout,
      },
    })
  })

  await t.test('a response names each error in a batch', async t => {
    const response = await client.createOrders({
      general_data: { merchant_business_id: 7300, origin_city_name: 'Atlantis', origin_state_name: 'Nowhere' },
      order_data: [parcel, { ...parcel, destination_city_id: 999 }],
    })
    expectRefusal(t, response, {
      errors: {
        'general_data.merchant_business_id': /^The selected merchant business id is invalid\./,
        'general_data.origin_city_name': /^The selected origin city name is invalid\./,
        'general_data.origin_state_name': /^The selected origin state name is invalid\./,
        'order_data.1.destination_city_id': /^The selected destination city id is invalid\./,
      },
    })
    t.match(listSentences(response), ['The given data was invalid.', ...Array(4).fill(/ is invalid\./)])
  })
}

/** Checks that a spelling created the same parcel, which it reads by a request that merchants' programs do not send. */
const checkParcel = async (t: Test, client: MerchantClient, waybill: string, sent: Record<string, unknown> = {}) => {
  const { body } = await client.send(`/api/public/merchant/order/${waybill}`)
  t.match(body.data, {
    merchant_business_id: 7290,
    origin_city_id: 1511,
    customer_phone: String(sent.customer_phone ?? parcel.customer_phone),
    destination_city_id: 1525,
    cod: sent.cod === 0 ? 0 : 1500,
    weight: 0.5,
    status: { key: sent.initial_status_key || 'key_1' },
  })
  const { order_no, description, remark, customer_secondary_phone, customer_email } = body.data
  const optional = [order_no, description, remark, customer_secondary_phone, customer_email]
  t.ok(
    optional.every(value => value === null),
    'fields that were not sent are null',
  )
}

/** Checks errors for a merchant whose rate card covers one city, in a tenant whose merchants number their parcels. */
export const testKnownKeys = async (t: Test, client: MerchantClient): Promise<void> => {
  const book = (more: object) =>
    client.createOrders({
      general_data: { merchant_business_id: 7300, origin_city_id: 1511 },
      order_data: [{ ...parcel, destination_city_id: 1512, ...more }],
    })
  const [numbered, taken] = [{ waybill_number: 'MC00000002' }, { waybill_number: 'MC00000001' }]
  t.strictSame((await book(taken)).body, { message: created, data: ['MC00000001'] })
  const refusals: [object, Record<string, RegExp>][] = [
    [{}, { 'order_data.0.waybill_number': /^The waybill number field is required\./ }],
    [taken, { 'order_data.0.waybill_number': /has already been taken/ }],
    [{ waybill_number: 'nonsense' }, { errors: /waybill nonsense does not match the requested format/i }],
    [{ ...numbered, destination_city_id: 1525 }, { 'rate_card.destination_city_id': /Colombo 11 to Maharagama/i }],
  ]
  for (const [more, errors] of refusals) expectRefusal(t, await book(more), { errors })
}
