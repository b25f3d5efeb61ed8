import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { batch, order } from '../../test/tenant.ts'

t.test('a batch becomes orders with waybills, in the order of the batch', async t => {
  const { bulk, rows } = await buildTenant(t)
  const response = await bulk(batch([order({ order_no: 'A' }), order({ order_no: 'B' })]))
  t.equal(response.status, 200)
  t.same(response.body, { message: 'Orders Created Successfully', data: ['DM00000001', 'DM00000002'] })
  const orders = await rows('select waybill_number, order_no, status_key from orders order by waybill_number')
  t.same(orders, [
    { waybill_number: 'DM00000001', order_no: 'A', status_key: 'key_1' },
    { waybill_number: 'DM00000002', order_no: 'B', status_key: 'key_1' },
  ])
})
