import t from 'tap'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'

const { make, makeOfBooks, cancel, request, get, rows, booksToken, staffToken } = await tenantFixture(t)
const confirm = (waybill_numbers: unknown, options = {}) =>
  request('POST', '/api/public/merchant/order/confirm', { waybill_numbers }, options)
const readStatuses = async (waybills: string[]) =>
  (await rows('select status_key from orders where waybill_number = any($1) order by waybill_number', [waybills])).map(
    row => row.status_key,
  )

t.test('a merchant confirms its own drafts: timeline, events and changes show the move', async t => {
  await make(['DM00000001', 'DM00000002'])
  const response = await confirm(['DM00000002', ' DM00000001 '])
  t.equal(response.status, 200)
  t.strictSame(response.body, { message: 'Orders Confirmed Successfully', data: ['DM00000002', 'DM00000001'] })
  t.strictSame(await readStatuses(['DM00000001', 'DM00000002']), ['key_2', 'key_2'])
  const { timeline } = (await get('/order/DM00000001')).body.data
  t.match(timeline, [{ status: { key: 'key_2' }, user: { first_name: 'Lanka Shoes' } }, { status: { key: 'key_1' } }])
  t.strictSame(await rows(`select waybill_numbers, status_keys from outbox where type = 'order.status_changed'`), [
    { waybill_numbers: ['DM00000001', 'DM00000002'], status_keys: ['key_2', 'key_2'] },
  ])
  t.match(await rows(`select waybill_numbers, actor from log where type = 'order.status_changed'`), [
    { waybill_numbers: ['DM00000001', 'DM00000002'], actor: 'merchant' },
  ])
})

t.test('refuses orders that are not drafts of the merchant, and confirms none', async t => {
  await make(['DM00000010', 'DM00000011', 'DM00000012'])
  await makeOfBooks(['DM00000013'])
  await confirm(['DM00000011'])
  await cancel(['DM00000012'])
  const response = await confirm(['DM00000010', 'DM00000011', 'DM00000012', 'DM00000013', 'DM00000010'])
  t.equal(response.status, 422)
  t.strictSame(
    response.body,
    refusal({
      'waybill_numbers.1': ['DM00000011 is key_2 CONFIRMED: you may only confirm an order that is key_1 DRAFT.'],
      'waybill_numbers.2': ['DM00000012 is key_3 CANCELLED: you may only confirm an order that is key_1 DRAFT.'],
      'waybill_numbers.3': ['The requested waybill does not exist in the system.'],
      'waybill_numbers.4': ['The waybill_numbers.4 field has a duplicate value.'],
    }),
  )
  t.strictSame(await readStatuses(['DM00000010', 'DM00000013']), ['key_1', 'key_1'])
  t.equal((await confirm(['DM00000010'], { token: staffToken })).status, 401)
  t.equal((await confirm([])).status, 422)
  t.equal((await confirm(Array.from({ length: 1001 }, (_, n) => `DM${n}`))).status, 422)
})

t.test(
  'a repeated request with its Idempotency-Key gets the first response; cancelling has keys of its own',
  async t => {
    await make(['DM00000020'])
    const options = { headers: { 'idempotency-key': 'once' } }
    const first = await confirm(['DM00000020'], options)
    const again = await confirm(['DM00000020'], options)
    t.strictSame([again.status, again.body, again.headers['idempotency-replayed']], [200, first.body, 'true'])
    t.equal((await confirm(['DM00000020'], { ...options, token: booksToken })).status, 422)
    t.match((await cancel(['DM00000020'], options)).body, { message: 'Orders Cancelled Successfully' })
  },
)
