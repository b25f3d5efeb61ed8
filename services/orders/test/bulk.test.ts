import t from 'tap'
import { build } from './build.ts'
import { batch, order } from './tenant.ts'

t.test('a batch becomes orders with waybills, in the order they came', async t => {
  const { bulk, rows } = await build(t)
  const answer = await bulk(batch([order({ order_no: 'A' }), order({ order_no: 'B' })]))
  t.equal(answer.status, 200)
  t.same(answer.body, { message: 'Orders Created Successfully', data: ['DM00000001', 'DM00000002'] })
  const orders = await rows('select waybill_number, order_no, status_key from orders order by waybill_number')
  t.same(orders, [
    { waybill_number: 'DM00000001', order_no: 'A', status_key: 'key_1' },
    { waybill_number: 'DM00000002', order_no: 'B', status_key: 'key_1' },
  ])
})
