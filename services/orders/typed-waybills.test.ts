import t from 'tap'
import { ordersFixture } from './test/orders-fixture.ts'

t.test('finds a waybill number in lower case or with spaces, in every request', async t => {
  const { app, request, make, move, cancel, get, staffGet, token, staffToken } = await ordersFixture(t)
  const [waybill = '', other = ''] = await make(['DM00000001', 'DM00000002'])
  const typed = ' dm 0000\t0001'
  const path = encodeURIComponent(typed)
  const merchant = '/api/public/merchant'

  for (const each of [get, staffGet]) {
    t.equal((await each(`/order/${path}`)).body.data.waybill_number, waybill)
    for (const field of ['waybill_number', 'filter[waybill_number]'])
      t.match((await each(`/order?${field}=${path}`)).body, { data: [{ waybill_number: waybill }], meta: { total: 1 } })
  }
  t.equal((await get(`/order/${path}/status`)).body.data.waybill_number, waybill)
  t.equal((await get(`/order/tracking-info?waybill_number=${path}`)).status, 200)
  t.equal((await get(`/order/waybill-finance-status?waybill_number=${path}`)).status, 200)
  const tracked = await request('POST', '/api/public/order/tracking-info', { waybill_number: typed }, { token: '' })
  t.equal(tracked.body.data.order.waybill_number, waybill)
  t.equal((await app.inject(`/t/demo/${path}`)).statusCode, 200)
  t.match((await request('POST', `${merchant}/order/lookup`, { waybill_numbers: [typed, ' dm 9'] })).body, {
    data: [{ waybill_number: waybill }],
    missing: ['dm9'],
  })
  const fetched = [
    { method: 'GET', url: `${merchant}/order/${path}/label`, token },
    { method: 'POST', url: `${merchant}/order/labels`, payload: { waybill_numbers: [typed] }, token },
    { method: 'POST', url: '/api/staff/order/run-sheet', payload: { waybill_numbers: [typed] }, token: staffToken },
  ] as const
  for (const { token, ...wanted } of fetched) {
    const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
    t.equal((await app.inject({ ...wanted, headers })).statusCode, 200, wanted.url)
  }
  const edit = { customer_address: '14 Temple Road' }
  t.match((await request('PATCH', `${merchant}/order/${path}`, edit)).body.data, { waybill_number: waybill })
  t.strictSame((await move([typed], 'key_2')).body.data, [waybill])
  t.match((await move([typed, 'DM00000001'], 'key_5')).body.errors, { 'waybill_numbers.1': [/duplicate/] })
  t.strictSame((await cancel(['dm00000002', typed])).body.data, [other, waybill])
  t.equal((await get(`/order/${waybill}`)).body.data.status.key, 'key_3')
})
