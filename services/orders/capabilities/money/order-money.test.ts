import t from 'tap'
import { addOther } from '../../test/build-tenant.ts'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'

const fixture = await tenantFixture(t)
const { app, request, get, make, rows, pool, token, booksToken, staffToken, tenant } = fixture
await make(['DM00000001'])
const prefix = '/api/public/merchant'
const unknown = { message: 'The requested waybill does not exist in the system', code: 'not_found' }
const pending = {
  data: { waybill_number: 'DM00000001', finance_status: 'Pending', invoice_ref_no: null, invoice_no: null },
}

t.test('the finance status is pending under both path prefixes', async t => {
  for (const prefix of ['/api/public/merchant', '/api/merchant']) {
    const response = await request('GET', `${prefix}/order/waybill-finance-status?waybill_number=DM00000001`)
    t.strictSame(response.body, pending)
  }
  t.equal((await request('GET', '/api/merchant/order/waybill-finance-status', undefined, { token: 'no' })).status, 401)
})

t.test('POST serves the finance status too, with the waybill in the query or the body', async t => {
  for (const path of [prefix, '/api/merchant']) {
    const url = `${path}/order/waybill-finance-status`
    const table: [string, unknown, number][] = [
      ['', { waybill_number: 'DM00000001' }, 200],
      ['?waybill_number=DM00000001', {}, 200],
      ['?waybill_number=DM00000001', '', 200],
      ['', { waybill_number: 'DM00000009' }, 404],
      ['', {}, 422],
      ['', { waybill_number: [] }, 422],
      ['', '{"waybill_number"', 400],
    ]
    for (const [query, body, status] of table) {
      const response = await request('POST', url + query, body)
      t.equal(response.status, status, `${query} ${JSON.stringify(body)}`)
      if (status === 200) t.strictSame(response.body, pending)
    }
    const { body } = await request('POST', url, { waybill_number: [] })
    t.strictSame(body.errors, { waybill_number: ['The waybill number field is required.'] })
  }
  const payload = 'x'.repeat(20_000)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant, 'content-type': 'application/json' }
  const large = await app.inject({ method: 'POST', url: `${prefix}/order/waybill-finance-status`, headers, payload })
  t.equal(large.statusCode, 413)
})

t.test('the finance status of a missing waybill is a validation error, and of an order of others unknown', async t => {
  const missing = refusal({ waybill_number: ['The waybill number field is required.'] })
  for (const query of ['', '?waybill_number='])
    t.strictSame((await get(`/order/waybill-finance-status${query}`)).body, missing)
  const url = '/order/waybill-finance-status?waybill_number=DM00000001'
  t.equal((await get(url)).status, 200)
  for (const options of [{ token: booksToken }, await addOther(fixture)]) {
    const response = await get(url, options)
    t.strictSame([response.status, response.body], [404, unknown])
  }
  t.equal((await get(url, { token: staffToken })).status, 401)
})

t.test('a page reads the money of all its orders in one statement, if any of them has money', async t => {
  await rows(`insert into orders (tenant_id, waybill_number, merchant_id, business_id, status_key, order_no,
      customer_name, customer_address, customer_phone, origin_city_id, destination_city_id, cod, weight,
      delivery_charge, created_at)
    select tenant_id, 'X' || number, merchant_id, business_id, status_key, number, customer_name, customer_address,
      customer_phone, origin_city_id, destination_city_id, cod, weight, delivery_charge,
      created_at - number * interval '1 ms'
    from orders, generate_series(1, 1000) as number where waybill_number = 'DM00000001'`)
  let count = 0
  const onAcquire = () => count++
  pool.on('acquire', onAcquire)
  t.teardown(() => pool.off('acquire', onAcquire))
  const readPage = async (size: number) => {
    count = 0
    const { data } = (await get(`/order?per_page=${size}`)).body
    return { data, connections: count }
  }
  for (const size of [1, 1000]) {
    const { data, connections } = await readPage(size)
    t.strictSame([connections, data.length], [2, size], 'one reads the page, the other counts')
    t.match(data[size - 1], {
      finance_status: 'Pending',
      finance_state: 'none',
      invoice_ref_no: null,
      invoice_no: null,
    })
  }
  await rows(`
    insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, method, booked_on)
    select tenant_id, waybill_number, 1, gen_random_uuid(), merchant_id, 'delivered', 'cash', current_date
    from orders order by created_at desc, waybill_number desc limit 20`)
  const { data, connections } = await readPage(1000)
  t.equal(connections, 3, 'one reads the page, one counts, one reads the money')
  t.match([data[0].finance_state, data[20].finance_state], ['with_rider', 'none'])
  await rows('delete from money_lines')
})
