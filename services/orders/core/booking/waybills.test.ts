import t from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { refusal } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { WaybillFormat } from '../catalogue/waybill-format.ts'

const { apply, bulk, ordersOptions, rows, token, createToken } = await build(t)

/** Applies a tenant with a mask of its own; `post` books orders with these waybills, undefined for none. */
const addTenant = async (id: string, format: string, mode: 'auto' | 'manual' = 'auto') => {
  // The orders here differ only in their waybills.
  await apply(tenantFile({ id, waybills: { mode, format }, checks: { duplicate: 'off' } }))
  const options = { tenant: id, token: await createToken('shop@example.com', id) }
  const post = (...waybills: (string | undefined)[]) =>
    bulk(batch(waybills.map(waybill_number => order({ waybill_number }))), options)
  const count = async () => (await rows('select count(*)::int from orders where tenant_id = $1', [id]))[0].count
  return { post, count, options }
}
const none = (count: number): undefined[] => Array.from({ length: count })
const created = (...data: string[]) => ({ message: 'Orders Created Successfully', data })

const numbers: [mask: string, capacity: number, waybills: Record<number, string>][] = [
  ['DM########', 1e8, { 0: 'DM00000000', 1: 'DM00000001', 99999999: 'DM99999999' }],
  ['@@', 676, { 0: 'AA', 25: 'AZ', 26: 'BA', 675: 'ZZ' }],
  ['**', 1296, { 0: '00', 9: '09', 10: '0A', 35: '0Z', 36: '10', 1295: 'ZZ' }],
  ['A-#@*.x', 9360, { 0: 'A-0A0.x', 35: 'A-0AZ.x', 36: 'A-0B0.x', 936: 'A-1A0.x', 9359: 'A-9ZZ.x' }],
  ['#'.repeat(50), Number.MAX_SAFE_INTEGER, { 42: '42'.padStart(50, '0') }],
]
for (const [mask, capacity, waybills] of numbers)
  t.test(`the mask ${mask} counts through its wildcards`, async t => {
    const format = new WaybillFormat(mask)
    t.equal(format.capacity, capacity)
    for (const [number, waybill] of Object.entries(waybills)) {
      t.equal(format.waybill(Number(number)), waybill)
      t.ok(format.matches(waybill))
    }
  })

t.test('a mask matches its wildcards by kind, and every other character literally', async t => {
  const cases: [mask: string, fits: string[], misfits: string[]][] = [
    ['A#', ['A0', 'A9'], ['AA', 'a1', 'B1', 'A10', 'A', ' A1', 'A1\n', 'A٣']],
    ['@', ['A', 'Z'], ['a', '1', 'É', '', 'AA']],
    ['*', ['0', 'Z'], ['a', '-', '']],
    ['.^$+?()[]{}|\\#', ['.^$+?()[]{}|\\1'], ['x^$+?()[]{}|\\1', '.^$+?()[]{}|\\x']],
  ]
  for (const [mask, fits, misfits] of cases) {
    const format = new WaybillFormat(mask)
    for (const waybill of fits) t.ok(format.matches(waybill), `${mask} accepts ${waybill}`)
    for (const waybill of misfits) t.notOk(format.matches(waybill), `${mask} refuses ${JSON.stringify(waybill)}`)
  }
})

t.test('describes a mask by its wildcards', async t => {
  const description = (mask: string) => new WaybillFormat(mask).description
  t.equal(description('DM##'), 'DM##, where # is a digit')
  t.equal(description('*#@'), '*#@, where # is a digit and @ is a capital letter and * is a digit or a capital letter')
})

t.test('numbers are in sequence from batch to batch', async t => {
  const { post } = await addTenant('sequence', 'DM########')
  t.strictSame((await post(...none(2))).body, created('DM00000001', 'DM00000002'))
  t.strictSame((await post(...none(1))).body, created('DM00000003'))
})

t.test('a given waybill is honoured among generated ones', async t => {
  const { post } = await addTenant('given', 'DM########')
  const { body } = await post(undefined, ' DM00005000 ', undefined)
  t.strictSame(body, created('DM00000001', 'DM00005000', 'DM00000002'))
})

t.test('a number that a merchant gave earlier is skipped', async t => {
  const { post, count } = await addTenant('earlier', 'DM########')
  await post('DM00000002')
  const { body } = await post(...none(3))
  t.notOk(body.data.includes('DM00000002'))
  t.equal(new Set(body.data).size, 3)
  t.equal(await count(), 4)
})

t.test('30 given numbers in a row are skipped', async t => {
  const { post, count } = await addTenant('row', 'DM########')
  const given = Array.from({ length: 30 }, (_, index) => `DM000000${String(index + 1).padStart(2, '0')}`)
  t.equal((await post(...given)).status, 200)
  t.match((await post(...none(1))).body.data[0], /^DM0000(00[3-9]|0[1-9])\d$/)
  const { body } = await post(...none(5))
  t.equal(new Set([...given, ...body.data]).size, 35)
  t.equal(await count(), 36)
})

t.test('a number given in the same batch is skipped', async t => {
  const { post } = await addTenant('same', 'DM########')
  const { status, body } = await post(undefined, 'DM00000002', undefined, 'DM00000001', undefined)
  t.equal(status, 200)
  t.strictSame([body.data[1], body.data[3]], ['DM00000002', 'DM00000001'])
  t.equal(new Set(body.data).size, 5)
})

t.test('a waybill that occurs twice in a batch is an error at the later order', async t => {
  const { post, count } = await addTenant('twice', 'DM########')
  const { status, body } = await post('DM00000007', undefined, 'DM00000007', ' DM00000007')
  t.equal(status, 422)
  const duplicate = ['The waybill number field has a duplicate value.']
  t.strictSame(body, refusal({ 'order_data.2.waybill_number': duplicate, 'order_data.3.waybill_number': duplicate }))
  t.equal(await count(), 0)
})

t.test('manual mode requires a waybill in the format', async t => {
  const { post, count } = await addTenant('manual', 'M-##', 'manual')
  t.strictSame(
    (await post('M-01', undefined, 'M-001')).body,
    refusal({
      'order_data.1.waybill_number': ['The waybill number field is required.'],
      errors: [
        'The waybill M-001 does not match the requested format. Waybills look like M-##, where # is a digit. It is in order_data.2.',
      ],
    }),
  )
  t.equal(await count(), 0)
  t.strictSame((await post('M-02', 'M-01')).body, created('M-02', 'M-01'))
  t.strictSame(
    (await post('M-03', 'M-01')).body,
    refusal({ 'order_data.1.waybill_number': ['The waybill number has already been taken.'] }),
  )
  t.equal(await count(), 2)
})

t.test('two tenants may have the same waybill', async t => {
  for (const id of ['one', 'two']) {
    const { post } = await addTenant(id, 'SAME####')
    t.strictSame((await post('SAME0007')).body, created('SAME0007'))
    t.strictSame((await post(undefined)).body, created('SAME0001'))
  }
})

const noneLeft = (mask: string) =>
  refusal({
    errors: [
      `Fewer waybill numbers of the format ${mask} are left than the batch needs. Ask the courier company for a longer format.`,
    ],
  })

t.test('a batch that needs more numbers than are left creates nothing', async t => {
  const { post, count } = await addTenant('short', 'Z#')
  t.equal((await post(...none(9))).body.data.length, 9)
  for (const size of [2, 1, 1]) {
    const response = await post('Z0', ...none(size))
    t.equal(response.status, 422)
    t.strictSame(response.body, noneLeft('Z#'))
  }
  t.equal(await count(), 9)
  t.equal((await post('Z0')).status, 200)
})

t.test('the last number of a format is found after given ones', async t => {
  const { post } = await addTenant('last', 'Z#')
  t.equal((await post('Z0', 'Z1', 'Z2', 'Z3', 'Z4', 'Z5', 'Z6', 'Z7', 'Z8')).status, 200)
  t.strictSame((await post(undefined)).body, created('Z9'))
  t.strictSame((await post(undefined)).body, noneLeft('Z#'))
})

t.test('a longer format continues at once, with unused numbers', async t => {
  const { post, options } = await addTenant('grown', 'Z#')
  await post(...none(9))
  t.strictSame((await post(undefined)).body, noneLeft('Z#'))
  await apply(tenantFile({ id: 'grown', waybills: { mode: 'auto', format: 'Z####' } }))
  t.match((await bulk(batch(), options)).body.data, [/^Z\d{4}$/])
})

t.test('two processes never assign the same number', async t => {
  const { app: another } = await createOrders(ordersOptions)
  t.teardown(() => another.close())
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const payload = JSON.stringify(batch(Array.from({ length: 30 }, () => order())))
  const post = async () =>
    (await another.inject({ method: 'POST', url: '/api/public/merchant/order/bulk', headers, payload })).json()
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, round) => (round % 2 ? post() : bulk(payload).then(({ body }) => body))),
  )
  t.equal(new Set(responses.flatMap(({ data }) => data)).size, 600)
})

t.test('a replay or a refused batch uses up no numbers', async t => {
  const { options } = await addTenant('spare', 'S#')
  const post = (body: unknown, key?: string) =>
    bulk(body, { ...options, ...(key && { headers: { 'idempotency-key': key } }) })
  const one = batch([order()])
  t.strictSame((await post(one, 'first')).body, created('S1'))
  for (let round = 0; round < 30; round++) t.equal((await post(one, 'first')).headers['idempotency-replayed'], 'true')
  for (let round = 0; round < 30; round++)
    t.equal((await post(batch([order({ waybill_number: 'S1' }), order()]))).status, 422)
  for (let number = 2; number <= 9; number++) t.strictSame((await post(one)).body, created(`S${number}`))
})
