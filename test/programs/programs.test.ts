import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../../dev/settings.ts'
import { build } from '../../services/orders/test/build.ts'
import { axios, dart, laravel, type Program, programs } from './programs.ts'

const file = JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
const { app } = await build(t, { file })
const base = await app.listen({ host: '127.0.0.1', port: 0 })
const prefix = '/api/public/merchant'

const logIn = async (program: Program): Promise<string> => {
  const credentials = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
  const { status, body } = await program.send(base, 'POST', `${prefix}/login`, { body: credentials })
  if (status !== 200) throw new Error(`${program.name} cannot log in: ${status} ${JSON.stringify(body)}`)
  return body.token
}

/** Builds an order as these programs send it: numbers as text and as numbers, optional fields absent, null and "". */
const order = (fields: object) => ({
  customer_name: 'Nimali Perera / සිංහල',
  customer_address: '12/3 Temple Road',
  customer_phone: '0770000101',
  customer_secondary_phone: '',
  customer_email: null,
  order_flag_id: '1',
  cod: '1500',
  weight: '0.5',
  remark: '',
  ...fields,
})

/** Logs in, looks up ids, books one order and several, and reads errors and lists, as most clients do. */
const testProgram = async (t: Test, program: Program): Promise<void> => {
  const token = await logIn(program)
  const get = (path: string, query: object = {}) =>
    program.send(base, 'GET', prefix + path, { token, query: { ...query } })
  const post = (path: string, body: object) => program.send(base, 'POST', prefix + path, { token, body })

  const states = await get('/state', program.wholeList)
  t.strictSame(Object.keys(states.body), ['data'], 'the whole list has no pages')
  t.equal(states.body.data.length, file.states.length)
  const filter = program.name.includes('fetch') ? { 'filter[name]': 'negom' } : { filter: { name: 'negom' } }
  const [city] = (await get('/city', filter)).body.data
  t.match(city, { name: 'Negombo', state: { name: 'Gampaha' } })
  const business = (await get('/business')).body.data.find((row: { is_default: boolean }) => row.is_default)
  const general_data = { merchant_business_id: business.id, origin_city_id: 1500 }

  const single = await post('/order/single', { general_data, order_data: [order({ destination_city_id: city.id })] })
  t.match(single, { status: 200, body: { message: 'Orders Created Successfully', data: [/^DM\d{8}$/] } })
  const waybill = single.body.data[0]
  const named = order({ destination_city_name: ' GALLE ', destination_state_name: 'galle', cod: 1500.0, weight: 1 })
  const bulk = await post('/order/bulk', { general_data, order_data: [named, named] })
  t.equal(bulk.body.data.length, 2)
  const wrong = await post('/order/bulk', {
    general_data,
    order_data: [named, order({ destination_city_name: 'Gale', destination_state_name: 'Galle' })],
  })
  t.match(wrong, { status: 422, body: { message: 'The given data was invalid.' } })
  t.match(wrong.body.errors['order_data.1.destination_city_name'], ['The selected destination city name is invalid.'])

  const list = await get('/order', { per_page: 2, page: 1 })
  t.match(list.body, { data: { length: 2 }, meta: { current_page: 1, per_page: 2 } })
  const statuses = await get('/order/status-list', program.wholeList)
  t.match(
    statuses.body.data.find((row: { name: string }) => row.name === 'DELIVERED'),
    { key: 'key_13', color: 'success' },
  )
  const finance = await program.send(base, 'GET', '/api/merchant/order/waybill-finance-status', {
    token,
    query: { waybill_number: waybill },
  })
  t.strictSame(finance.body, {
    data: { waybill_number: waybill, finance_status: 'Pending', invoice_ref_no: null, invoice_no: null },
  })
  t.match((await get('/order/tracking-info', { waybill_number: waybill })).body.data[0].status, { key: /^key_[12]$/ })
  const gone = await get('/order/tracking-info', { waybill_number: 'DM99999999' })
  t.match(gone, { status: 404, body: { message: 'The requested waybill does not exist in the system' } })
  const bad = await program.send(base, 'GET', `${prefix}/user/get-current`, { token: 'wrong' })
  t.match(bad, { status: 401, body: { message: 'Unauthenticated.' } })
}

for (const program of programs) t.test(`${program.name} books, reads and shows errors`, t => testProgram(t, program))

t.test('programs track a parcel by a JSON body, in a GET and in a POST', async t => {
  for (const program of [laravel, axios, dart]) {
    const token = await logIn(program)
    const { body } = await program.send(base, 'GET', `${prefix}/order`, { token, query: { per_page: 1 } })
    const { waybill_number } = body.data[0]
    for (const method of ['GET', 'POST']) {
      const sent = { token, body: { waybill_number } }
      const tracked = await program.send(base, method, `${prefix}/order/tracking-info`, sent)
      t.match(tracked, { status: 200, body: { data: [{ user: { first_name: 'Lanka Shoes' } }] } }, program.name)
    }
    const anyone = await program.send(base, 'POST', '/api/public/order/tracking-info', { body: { waybill_number } })
    t.match(anyone.body.data, { timeline: [{ status: {} }], order: { waybill_number } })
  }
})
