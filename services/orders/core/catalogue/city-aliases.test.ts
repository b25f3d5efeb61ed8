import t from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'

/** Builds the small tenant's file with these aliases, by the id of the city. */
const buildFile = (aliases: Record<number, string[]>, settings = {}): TenantFile => {
  const file = tenantFile(settings)
  for (const { cities } of file.states) for (const city of cities) city.aliases = aliases[city.id] ?? []
  return file
}

const file = buildFile({ 1501: ['Mount', 'දෙහිවල', 'Galle'], 2101: ['Hikka', 'Mount'] })
const { apply, bulk, ordersOptions, request, token, createToken } = await build(t, { file })
const to = (destination_city_name: string, destination_state_name: string) =>
  batch([order({ destination_city_id: undefined, destination_city_name, destination_state_name })])
const quoteCity = async (city: string, state: string) => {
  const { status, body } = await bulk(to(city, state), { query: '?dry_run=true' })
  return status === 200 ? body.data[0].destination_city : body.errors
}
const unknown = { 'order_data.0.destination_city_name': ['The selected destination city name is invalid.'] }

t.test('booking accepts an exact alias of origin and destination, but no misspelling', async t => {
  for (const name of ['Mount', ' mOUNT ', 'දෙහිවල']) t.equal(await quoteCity(name, 'Colombo'), 'Dehiwala', name)
  t.equal(await quoteCity('mount', 'Galle'), 'Hikkaduwa')
  for (const name of ['Mount.', 'Mt', 'Hikka', 'Dehiwela'])
    t.strictSame(await quoteCity(name, 'Colombo'), unknown, name)
  const origin = { origin_city_id: undefined, origin_city_name: 'mount', origin_state_name: 'colombo' }
  const { status, body } = await bulk(batch([order()], origin))
  t.equal(status, 200)
  t.equal(body.data.length, 1)
})

t.test('an order by alias shows the city under its own name', async t => {
  const [waybill] = (await bulk(to('Hikka', 'Galle'))).body.data
  const { body } = await request(`/order/${waybill}`)
  t.match(body.data, { destination_city_id: 2101, destination_city_name: 'Hikkaduwa' })
})

t.test('a name wins over an alias; a city with the alias in another state is suggested', async t => {
  t.equal(await quoteCity('Galle', 'Galle'), 'Galle')
  t.equal(await quoteCity('Galle', 'Colombo'), 'Dehiwala')
  const { body } = await bulk(to('Hikka', 'Colombo'))
  t.strictSame(body.errors, unknown)
  t.strictSame(body.suggestions, {
    'order_data.0.destination_city_name': [{ id: 2101, name: 'Hikkaduwa', state: 'Galle' }],
  })
})

t.test("another tenant's aliases are unknown", async t => {
  await apply(tenantFile({ id: 'other' }))
  const token = await createToken('shop@example.com', 'other')
  t.strictSame((await bulk(to('Hikka', 'Galle'), { token, tenant: 'other' })).body.errors, unknown)
})

t.test('a changed alias applies to the next batch of every process', async t => {
  const { app } = await createOrders(ordersOptions)
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const elsewhere = async () =>
    (await app.inject({ method: 'POST', url: '/api/public/merchant/order/bulk', headers, payload: to('Bay', 'Galle') }))
      .statusCode
  t.equal(await elsewhere(), 422)
  await apply(buildFile({ 2101: ['Bay'] }))
  t.equal(await elsewhere(), 200)
  t.strictSame(await quoteCity('Hikka', 'Galle'), unknown)
  await apply(tenantFile())
  t.equal(await elsewhere(), 422)
})
