import t from 'tap'
import { expectTypedWaybills, merchant, path, typed } from './test/expect-typed-waybills.ts'
import { tenantFixture } from './test/orders-fixture.ts'

t.test('finds a waybill number in lower case or with spaces, in every request of the core', async t =>
  expectTypedWaybills(t, await tenantFixture(t)),
)

t.test('and in every request of the capabilities', async t => {
  const { app, tenant, request, make, get, token, staffToken } = await tenantFixture(t)
  const [waybill] = await make(['DM00000001'])
  t.equal((await get(`/order/waybill-finance-status?waybill_number=${path}`)).status, 200)
  t.equal((await app.inject(`/t/${tenant}/${path}`)).statusCode, 200)
  const fetched = [
    { method: 'GET', url: `${merchant}/order/${path}/label`, token },
    { method: 'POST', url: `${merchant}/order/labels`, payload: { waybill_numbers: [typed] }, token },
    { method: 'POST', url: '/api/staff/order/run-sheet', payload: { waybill_numbers: [typed] }, token: staffToken },
  ] as const
  for (const { token, ...wanted } of fetched) {
    const headers = { 'x-tenant': tenant, authorization: `Bearer ${token}` }
    t.equal((await app.inject({ ...wanted, headers })).statusCode, 200, wanted.url)
  }
  const edit = { customer_address: '14 Temple Road' }
  t.match((await request('PATCH', `${merchant}/order/${path}`, edit)).body.data, { waybill_number: waybill })
})
