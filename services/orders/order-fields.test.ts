import t from 'tap'
import { tenantFixture } from './test/orders-fixture.ts'

const { get, staffGet, make, move, request } = await tenantFixture(t)

t.test('a merchant reads its order as it sent it, with names and timeline', async t => {
  await make(['DM00000200'], {
    order_no: 'LS-200',
    customer_secondary_phone: '0112345678',
    customer_email: 'nimali@example.com',
    description: 'Shoes "red" \\ 40',
    remark: '',
    weight: 1.25,
  })
  await move(['DM00000200'], 'key_2', { note: 'By phone' })
  const { status, body } = await get('/order/DM00000200')
  t.equal(status, 200)
  const { timeline, edits, created_at, merchant, ...order } = body.data
  t.strictSame(edits, [])
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  t.match(merchant, { id: Number, name: 'Lanka Shoes' })
  t.strictSame(order, {
    editable: 'all',
    failed_attempts: 0,
    awaits_instruction: false,
    instructions: [],
    waybill_number: 'DM00000200',
    order_no: 'LS-200',
    merchant_business_id: 7290,
    merchant_business_name: 'Lanka Shoes Online',
    origin_city_id: 1500,
    origin_city_name: 'Kotte',
    origin_state_name: 'Colombo',
    destination_city_id: 2100,
    destination_city_name: 'Galle',
    destination_state_name: 'Galle',
    customer_name: 'Nimali Perera',
    customer_address: '12 Temple Road, Galle',
    customer_phone: '0770000101',
    customer_secondary_phone: '0112345678',
    customer_email: 'nimali@example.com',
    cod: 4500,
    weight: 1.25,
    description: 'Shoes "red" \\ 40',
    remark: null,
    delivery_charge: 540.5,
    currency: 'LKR',
    status: { key: 'key_2', name: 'CONFIRMED', color: 'primary' },
    ...{ finance_status: 'Pending', finance_state: 'none', invoice_ref_no: null, invoice_no: null },
  })
  t.strictSame(
    timeline.map(({ status, user, note }: Record<string, unknown>) => ({ status, user, note })),
    [
      { status: order.status, user: { first_name: 'Kamal', last_name: 'Perera' }, note: undefined },
      {
        status: { key: 'key_1', name: 'DRAFT', color: 'secondary' },
        user: { first_name: 'Lanka Shoes', last_name: '' },
        note: undefined,
      },
    ],
  )
  const ofStaff = (await staffGet('/order/DM00000200')).body.data
  t.strictSame(
    ofStaff.timeline.map(({ note }: { note: unknown }) => note),
    ['By phone', null],
  )
  t.match(ofStaff.moves[0], { status_key: 'key_3', name: 'CANCELLED', color: 'danger' })
  const { moves: _, ...rest } = ofStaff
  t.strictSame(
    { ...rest, timeline: null },
    {
      ...{ ...body.data, timeline: null, requests: [] },
      ...{ rider: null, rider_changes: [], rider_acts: [] },
    },
  )
})

t.test('an order has the methods of its edits', async t => {
  await make(['DM00000001'])
  const post = await request('POST', '/api/public/merchant/order/DM00000001', {})
  t.strictSame([post.status, post.headers.allow], [405, 'GET, HEAD, PATCH'])
})
