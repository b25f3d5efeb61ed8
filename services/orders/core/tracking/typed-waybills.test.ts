import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

t.test('finds a waybill number in lower case or with spaces, in every request of the core', async t => {
  const { request, make, move, cancel, get, staffGet } = await tenantFixture(t)
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
  const tracked = await request('POST', '/api/public/order/tracking-info', { waybill_number: typed }, { token: '' })
  t.equal(tracked.body.data.order.waybill_number, waybill)
  t.match((await request('POST', `${merchant}/order/lookup`, { waybill_numbers: [typed, ' dm 9'] })).body, {
    data: [{ waybill_number: waybill }],
    missing: ['dm9'],
  })
  t.strictSame((await move([typed], 'key_2')).body.data, [waybill])
  t.match((await move([typed, 'DM00000001'], 'key_5')).body.errors, { 'waybill_numbers.1': [/duplicate/] })
  t.strictSame((await cancel(['dm00000002', typed])).body.data, [other, waybill])
  t.equal((await get(`/order/${waybill}`)).body.data.status.key, 'key_3')
})

t.test('prefers the exact spelling of two numbers that differ in letter case', async t => {
  const manual = (format: string) => tenantFile({ waybills: { mode: 'manual', format } })
  const { apply, bulk, request } = await buildTenant(t, { file: manual('dm##') })
  const make = (waybill_number: string) => bulk(batch([order({ waybill_number })]))
  const lookUp = async (typed: string) =>
    (await request('/order/lookup', { waybill_numbers: [typed] })).body.data.map(
      (each: { waybill_number: string }) => each.waybill_number,
    )
  await make('dm01')
  t.strictSame(await lookUp('d m01'), ['dm01'])
  await apply(manual('DM##'))
  await make('DM01')
  await make('DM02')
  t.strictSame([await lookUp('dm01'), await lookUp('DM01'), await lookUp('dm02')], [['dm01'], ['DM01'], ['DM02']])
})
