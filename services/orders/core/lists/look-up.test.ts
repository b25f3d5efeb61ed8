import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

const file = tenantFile()
const { request, bulk, createToken } = await buildTenant(t, { file })
const create = async (numbers: (string | null)[]): Promise<string[]> =>
  (await bulk(batch(numbers.map(order_no => order({ order_no }))))).body.data
const lookUp = (body: unknown, token?: string) => request('/order/lookup', body, token === undefined ? {} : { token })

t.test('finds orders by waybill, in the sequence of the request, and lists the missing ones', async t => {
  const [first = '', second = ''] = await create(['A-1', null])
  await request('/order/cancel', { waybill_numbers: [second] })
  const { status, body } = await lookUp({ waybill_numbers: [second, 'DM99999999', ` ${first} `, second] })
  t.equal(status, 200)
  t.match(body, {
    data: [
      { waybill_number: second, order_no: null, status: { key: 'key_3' } },
      { waybill_number: first, order_no: 'A-1', status: { key: 'key_1', name: 'DRAFT' }, currency: 'LKR' },
    ],
    missing: ['DM99999999'],
  })
  t.equal(body.data.length, 2)
  const [one] = body.data
  const whole = (await request(`/order/${second}`)).body.data
  t.equal(one.date_time, whole.timeline[0].date_time)
  t.strictSame([one.cod, one.delivery_charge, one.created_at], [whole.cod, whole.delivery_charge, whole.created_at])
})

t.test('finds the ten newest orders with an order number, newest first', async t => {
  const waybills = await create(Array.from({ length: 12 }, () => 'B-1'))
  const later = await create(['B-1', 'B-2'])
  const { body } = await lookUp({ order_nos: ['B-2', 'B-3', 'B-1'] })
  t.equal(body.data[0].waybill_number, later[1])
  t.equal(body.data[1].waybill_number, later[0])
  t.equal(body.data.length, 11)
  t.ok(
    body.data.slice(2).every(({ waybill_number: waybill }: { waybill_number: string }) => waybills.includes(waybill)),
  )
  t.strictSame(body.missing, ['B-3'])
})

t.test("another merchant's orders are missing", async t => {
  const [waybill = ''] = await create(['C-1'])
  const other = await createToken(file.merchants[1]?.email ?? '')
  t.strictSame((await lookUp({ waybill_numbers: [waybill] }, other)).body, { data: [], missing: [waybill] })
  t.strictSame((await lookUp({ order_nos: ['C-1'] }, other)).body, { data: [], missing: ['C-1'] })
})

t.test('lists impossible numbers as missing and refuses malformed look-ups', async t => {
  t.strictSame((await lookUp({ order_nos: ['a\0b', '\ud800'] })).body, { data: [], missing: ['a\0b', '\ud800'] })
  const either = { waybill_numbers: ['Give either waybill_numbers or order_nos.'] }
  t.match(await lookUp({}), { status: 422, body: { errors: either } })
  t.match(await lookUp({ waybill_numbers: ['A'], order_nos: ['A'] }), { status: 422, body: { errors: either } })
  for (const body of [null, [], 5])
    t.match(await lookUp(body), { status: 422, body: { errors: { '': [/must be an object/] } } })
  const tooMany = Array.from({ length: 501 }, (_, n) => `DM${n}`)
  for (const waybill_numbers of [[], [''], [1], tooMany, 'DM1'])
    t.equal((await lookUp({ waybill_numbers })).status, 422, JSON.stringify(waybill_numbers).slice(0, 20))
})
