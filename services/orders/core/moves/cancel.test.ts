import t from 'tap'
import { addOther } from '../../test/build-tenant.ts'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'

const fixture = await tenantFixture(t)
const { make, makeOfBooks, cancel, move, rows, booksToken, staffToken } = fixture
const unknown = ['The requested waybill does not exist in the system.']
const readStatuses = async (waybills: string[]) =>
  (await rows('select status_key from orders where waybill_number = any($1) order by waybill_number', [waybills])).map(
    row => row.status_key,
  )

t.test('a merchant cancels its own drafts and confirmed orders', async t => {
  await make(['DM00000001'])
  await make(['DM00000002'], { initial_status_key: 'key_2' })
  const response = await cancel(['DM00000002', 'DM00000001'])
  t.equal(response.status, 200)
  t.strictSame(response.body, { message: 'Orders Cancelled Successfully', data: ['DM00000002', 'DM00000001'] })
  t.strictSame(await readStatuses(['DM00000001', 'DM00000002']), ['key_3', 'key_3'])
  t.strictSame(
    await rows(`select status_key, staff_name from order_events where waybill_number = 'DM00000001' order by event_id`),
    [
      { status_key: 'key_1', staff_name: null },
      { status_key: 'key_3', staff_name: null },
    ],
  )
  t.strictSame(
    await rows(`select waybill_numbers, status_keys, note from outbox where type = 'order.status_changed'`),
    [{ waybill_numbers: ['DM00000001', 'DM00000002'], status_keys: ['key_3', 'key_3'], note: null }],
  )
})

t.test('refuses orders under way, cancelled or of another merchant, and cancels none', async t => {
  await make(['DM00000010', 'DM00000011', 'DM00000012'], { initial_status_key: 'key_2' })
  await makeOfBooks(['DM00000013'])
  await move(['DM00000011'], 'key_5')
  await cancel(['DM00000012'])
  const outbox = 'select count(*)::int from outbox'
  const before = await rows(outbox)
  const response = await cancel(['DM00000010', 'DM00000011', 'DM00000012', 'DM00000013', 'DM09999999', 'DM00000010'])
  const way = 'you may only cancel an order that is key_1 DRAFT or key_2 CONFIRMED.'
  t.equal(response.status, 422)
  t.strictSame(
    response.body,
    refusal({
      'waybill_numbers.1': [`DM00000011 is key_5 PICKUP RIDER ASSIGNED: ${way}`],
      'waybill_numbers.2': [`DM00000012 is key_3 CANCELLED: ${way}`],
      'waybill_numbers.3': unknown,
      'waybill_numbers.4': unknown,
      'waybill_numbers.5': ['The waybill_numbers.5 field has a duplicate value.'],
    }),
  )
  t.strictSame(await readStatuses(['DM00000010', 'DM00000013']), ['key_2', 'key_1'])
  t.strictSame(await rows(outbox), before)
})

t.test('the account of the same merchant at another courier has no such order', async t => {
  await make(['DM00000020'])
  const abroad = await addOther(fixture)
  t.strictSame((await cancel(['DM00000020'], abroad)).body, refusal({ 'waybill_numbers.0': unknown }))
  t.strictSame((await cancel(['DM00000020'], { token: booksToken })).body, refusal({ 'waybill_numbers.0': unknown }))
  t.equal((await cancel(['DM00000020'], { token: staffToken })).status, 401)
  t.strictSame(await readStatuses(['DM00000020']), ['key_1'])
})

t.test('a repeated request with its Idempotency-Key gets the first response', async t => {
  await make(['DM00000030'])
  const options = { headers: { 'idempotency-key': 'cancel' } }
  const first = await cancel(['DM00000030'], options)
  const again = await cancel(['DM00000030'], options)
  t.strictSame([again.status, again.body, again.headers['idempotency-replayed']], [200, first.body, 'true'])
  const other = await cancel(['DM00000030'], { ...options, token: booksToken })
  t.strictSame(other.body, refusal({ 'waybill_numbers.0': unknown }), 'another merchant has keys of its own')
})

t.test('a missing or empty list of waybills is an error of its field', async t => {
  for (const nothing of [undefined, null, []])
    t.strictSame((await cancel(nothing)).body, refusal({ waybill_numbers: ['The waybill numbers field is required.'] }))
})
