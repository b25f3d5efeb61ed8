import type { Test } from 'tap'
import type { tenantFixture } from './orders-fixture.ts'

type Fixture = Pick<Awaited<ReturnType<typeof tenantFixture>>, 'get' | 'make' | 'move' | 'staffGet'>
type Fields = Record<string, unknown>

/** Holds the fields that capabilities add to an order: those for everybody, and those for staff alone. */
interface Added {
  merchant?: Fields
  staff?: Fields
}

/** Makes, moves and reads one order, and expects all fields of the core and those that capabilities add, no others. */
export const expectOrder = async (t: Test, { get, make, move, staffGet }: Fixture, added: Added = {}) => {
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
  const { timeline, created_at, merchant, ...order } = body.data
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  t.match(merchant, { id: Number, name: 'Lanka Shoes' })
  t.strictSame(order, { ...ofCore, ...added.merchant })
  t.strictSame(withoutTimes(timeline), [
    { status: order.status, user: { first_name: 'Kamal', last_name: 'Perera' }, note: undefined },
    {
      status: { key: 'key_1', name: 'DRAFT', color: 'secondary' },
      user: { first_name: 'Lanka Shoes', last_name: '' },
      note: undefined,
    },
  ])
  const { moves, ...ofStaff } = (await staffGet('/order/DM00000200')).body.data
  t.strictSame(
    ofStaff.timeline.map(({ note }: Fields) => note),
    ['By phone', null],
  )
  t.match(moves[0], { status_key: 'key_3', name: 'CANCELLED', color: 'danger' })
  t.strictSame({ ...ofStaff, timeline: null }, { ...body.data, ...added.staff, timeline: null })
}

const withoutTimes = (timeline: Fields[]) => timeline.map(({ status, user, note }) => ({ status, user, note }))

const ofCore = {
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
}
