import t from 'tap'
import { expectOrder } from './test/expect-order.ts'
import { tenantFixture } from './test/orders-fixture.ts'

const fixture = await tenantFixture(t)

t.test('a merchant reads its order as it sent it, with names, timeline and what the capabilities add', t =>
  expectOrder(t, fixture, {
    merchant: {
      editable: 'all',
      failed_attempts: 0,
      awaits_instruction: false,
      instructions: [],
      edits: [],
      ...{ finance_status: 'Pending', finance_state: 'none', invoice_ref_no: null, invoice_no: null },
    },
    staff: { requests: [], rider: null, rider_changes: [], rider_acts: [] },
  }),
)

t.test('an order has the methods of its edits', async t => {
  const [waybill] = await fixture.make(['DM00000001'])
  const post = await fixture.request('POST', `/api/public/merchant/order/${waybill}`, {})
  t.strictSame([post.status, post.headers.allow], [405, 'GET, HEAD, PATCH'])
})
