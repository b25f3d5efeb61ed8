import fc from 'fast-check'
import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

const file = tenantFile()
Object.assign(file.states[1]?.cities[0] ?? {}, { aliases: ['ගාල්ල'] })
const { bulk, request, createToken } = await buildTenant(t, { file })
const quote = (body: unknown, options = {}) => request('/order/quote', body, options)
const from = { origin_city_id: '1500' }

t.test('parcels are priced in the order sent, by ids, names and aliases', async t => {
  const { status, body } = await quote({
    general_data: { origin_city_name: 'kotte', origin_state_name: 'COLOMBO' },
    order_data: [
      { destination_city_id: 1501, weight: '0.5' },
      { destination_city_name: 'ගාල්ල', destination_state_name: 'Galle', weight: 2.1 },
    ],
  })
  t.equal(status, 200)
  t.strictSame(body.data, [
    {
      ...{ destination_city_id: 1501, destination_city: 'Dehiwala', destination_state: 'Colombo' },
      ...{ delivery_charge: 300, currency: 'LKR', rate: { first_kg: 300, each_extra_kg: 50, currency: 'LKR' } },
    },
    {
      ...{ destination_city_id: 2100, destination_city: 'Galle', destination_state: 'Galle' },
      ...{ delivery_charge: 631, currency: 'LKR', rate: { first_kg: 450, each_extra_kg: 90.5, currency: 'LKR' } },
    },
  ])
})

t.test('a quote and a dry run have the same charges, for any cities and weights', async t => {
  const weight = fc.oneof(
    fc.double({ min: 0.001, max: 1000, noNaN: true }),
    fc.integer({ min: 1, max: 1000 }),
    fc.constantFrom('1', ' 2.0', '.5', '1e2', 1.0000001),
  )
  const parcel = fc.record({ destination_city_id: fc.constantFrom(1500, 1501, 2100, 2101), weight })
  const parcels = fc.array(parcel, { minLength: 1, maxLength: 20 })
  const same = fc.asyncProperty(fc.constantFrom(1500, '1501'), parcels, async (origin_city_id, orders) => {
    const body = batch(orders.map(order), { origin_city_id })
    const dry = await bulk(body, { query: '?dry_run=true' })
    const quoted = await quote(body)
    const joinCharges = ({ status, body: { data } }: typeof dry) =>
      [status, ...data.map((each: { delivery_charge: number }) => each.delivery_charge)].join()
    return joinCharges(dry) === joinCharges(quoted)
  })
  await t.resolves(fc.assert(same, { numRuns: 30 }))
})

t.test('lists every error at once, with the paths and sentences of the bulk request', async t => {
  const orders = [
    order({ destination_city_id: 9 }),
    order({ destination_city_id: null, destination_city_name: 'Gale', destination_state_name: 'Galle' }),
    order({ destination_city_id: 3000 }),
    order({ weight: 0 }),
    order({ weight: '2000' }),
    order({ destination_city_id: '', destination_city_name: 'Galle' }),
    'Galle',
    order({ destination_city_name: 7, destination_city_id: [] }),
  ]
  for (const general of [{}, { origin_city_id: 9 }, { origin_city_id: null }, { origin_city_name: [] }]) {
    const body = batch(orders, general)
    const [one, other] = [await quote(body), await bulk(body)]
    t.equal(one.status, 422)
    t.strictSame(one.body, other.body)
  }
  const withoutCard = { token: await createToken('books@example.com') }
  t.strictSame(
    (await quote({ general_data: from, order_data: [{ destination_city_id: 2100, weight: 1 }] }, withoutCard)).body
      .errors,
    {
      merchant_rate_card: ['Please assign a rate card to the merchant.'],
    },
  )
})

t.test('refuses a malformed quote', async t => {
  for (const body of [
    {},
    [],
    'null',
    { general_data: from },
    { general_data: from, order_data: [] },
    { order_data: {} },
  ])
    t.equal((await quote(body)).status, 422, JSON.stringify(body))
  const tooMany = Array.from({ length: 1001 }, () => ({ destination_city_id: 2100, weight: 1 }))
  t.strictSame((await quote({ general_data: from, order_data: tooMany })).body.errors, {
    order_data: ['The order data field must not have more than 1000 items.'],
  })
  t.equal((await quote({ general_data: from, order_data: tooMany.slice(1) })).body.data.length, 1000)
  t.equal((await quote('{"general_data"')).status, 400)
  t.equal((await quote({}, { token: '' })).status, 401)
})
