import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { batch, order } from '../../test/tenant.ts'

const { request, bulk, rows } = await buildTenant(t)
const single = (body: unknown, { query = '', key }: { query?: string; key?: string } = {}) =>
  request(`/order/single${query}`, body, key === undefined ? {} : { headers: { 'idempotency-key': key } })
const countOrders = async (orderNo: string): Promise<number> =>
  (await rows('select count(*)::int from orders where order_no = $1', [orderNo]))[0].count

t.test('creates one order as the bulk request does', async t => {
  const { status, body } = await single(batch([order({ order_no: 'one' })]))
  t.equal(status, 200)
  t.match(body, { message: 'Orders Created Successfully', data: [/^DM\d{8}$/] })
  t.match(await rows(`select waybill_number, status_key from orders where order_no = 'one'`), [
    { waybill_number: body.data[0], status_key: 'key_1' },
  ])
})

t.test('reports no order, or more than one, under order_data', async t => {
  const table: [unknown, string][] = [
    [[], 'The order data field is required.'],
    [undefined, 'The order data field is required.'],
    [[order({ order_no: 'two' }), order()], 'The order data field must be a list of exactly one order.'],
    [order({ order_no: 'two' }), 'The order data field must be a list of exactly one order.'],
  ]
  for (const [order_data, sentence] of table) {
    const { status, body } = await single({ ...batch(), order_data })
    t.equal(status, 422)
    t.strictSame(body.errors, { order_data: [sentence] })
  }
  t.equal(await countOrders('two'), 0)
})

t.test('the errors of the order are under its path', async t => {
  const { status, body } = await single(batch([order({ cod: -1, destination_city_id: 9 })]))
  t.equal(status, 422)
  t.strictSame(Object.keys(body.errors), ['order_data.0.cod'])
  t.strictSame((await single(batch([order({ destination_city_id: 9 })]))).body.errors, {
    'order_data.0.destination_city_id': ['The selected destination city id is invalid.'],
  })
})

t.test('a dry run creates nothing', async t => {
  const { status, body } = await single(batch([order({ order_no: 'dry' })]), { query: '?dry_run=1' })
  t.equal(status, 200)
  t.match(body.data, [{ order_no: 'dry', delivery_charge: 540.5, currency: 'LKR' }])
  t.equal(await countOrders('dry'), 0)
})

t.test('a repeated request runs once, and its key is not the bulk request’s', async t => {
  const body = batch([order({ order_no: 'again' })])
  const first = await single(body, { key: 'again' })
  const second = await single(body, { key: 'again' })
  t.strictSame(second.body, first.body)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.match((await single(batch(), { key: 'again' })).body, { errors: { 'idempotency-key': [String] } })
  t.equal(await countOrders('again'), 1)
  const inBulk = await bulk(body, { headers: { 'idempotency-key': 'again' } })
  t.equal(inBulk.headers['idempotency-replayed'], undefined)
  t.notSame(inBulk.body.data, first.body.data)
  t.equal(await countOrders('again'), 2)
})
