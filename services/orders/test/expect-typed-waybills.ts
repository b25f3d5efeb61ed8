import type { Test } from 'tap'
import type { tenantFixture } from './orders-fixture.ts'

export const merchant = '/api/public/merchant'
/** Is the waybill number DM00000001 as a person may type it. */
export const typed = ' dm 0000\t0001'
export const path = encodeURIComponent(typed)

/** Expects that every request of the core finds a waybill number in lower case or with spaces. */
export const expectTypedWaybills = async (t: Test, fixture: Awaited<ReturnType<typeof tenantFixture>>) => {
  const { request, make, move, cancel, get, staffGet } = fixture
  const [waybill = '', other = ''] = await make(['DM00000001', 'DM00000002'])
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
}
