import t, { type Test } from 'tap'
import { expectOrder } from '../../test/expect-order.ts'
import { ordersFixture, refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { type Position, selectCount, selectOrders } from './list-orders.ts'
import type { OrderFilter } from './order-filter.ts'

const fixture = await ordersFixture(t, { publicUrl: 'http://localhost:80' })
const { get, staffGet, make, makeOfBooks, rows, booksToken, staffToken, token, staffOf, apply, createToken, request } =
  fixture
await apply(tenantFile({ id: 'other' }))

/**
 * Names one of ten orders, made in the order of their numbers, a day apart. The even ones are confirmed; the last two
 * belong to Ceylon Books.
 */
const number = (index: number): string => `DM0000000${index}`
const makeOne = async (index: number): Promise<void> => {
  const initial_status_key = index % 2 ? 'key_1' : 'key_2'
  const fields = { initial_status_key, order_no: `LS-${index % 5}`, customer_phone: `+94 (77) 000-010${index}` }
  if (index < 8) await make([number(index)], fields)
  else await makeOfBooks([number(index)], fields)
  // 18:00 UTC is half past eleven in the evening in Colombo.
  await rows(`update orders set created_at = $1::date + time '18:00:00.123456' where waybill_number = $2`, [
    `2026-02-0${index + 1}`,
    number(index),
  ])
}
for (let index = 0; index < 10; index++) await makeOne(index)

type Row = { waybill_number: string }
const readNumbers = (body: { data: Row[] }): number[] => body.data.map(row => Number(row.waybill_number.slice(2)))
const listed = async (query: string, from = get): Promise<number[]> => {
  const { status, body } = await from(`/order?${query}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return readNumbers(body)
}

t.test('a merchant lists its own orders, newest first; staff list the orders of all merchants', async t => {
  t.strictSame(await listed(''), [7, 6, 5, 4, 3, 2, 1, 0])
  t.strictSame(await listed('', staffGet), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
  t.strictSame(readNumbers((await get('/order', { token: booksToken })).body), [9, 8])
  const abroad = { token: await createToken('shop@example.com', 'other'), tenant: 'other' }
  t.strictSame((await get('/order', abroad)).body.data, [])
  const staffAbroad = { token: await staffOf('Abroad', 'other'), tenant: 'other' }
  t.strictSame((await staffGet('/order', staffAbroad)).body.data, [])
  t.equal((await get('/order', { token: staffToken })).status, 401)
  t.equal((await staffGet('/order', { token })).status, 401)
})

t.test('filters narrow the list, in either spelling and together', async t => {
  const merchants = await rows('select email, merchant_id from merchants where tenant_id = $1', ['demo'])
  const books = merchants.find(({ email }) => email === 'books@example.com').merchant_id
  const table: [string, number[], number[]?][] = [
    ['status=key_2', [6, 4, 2, 0], [8, 6, 4, 2, 0]],
    ['status=key_21', []],
    ['order_no=LS-3', [3], [8, 3]],
    ['order_no=ls-3', []],
    ['waybill_number=DM00000004', [4]],
    ['waybill_number=DM00000009', [], [9]],
    ['waybill_number=%C3%9F', []],
    ['phone=0770000105', [5]],
    ['phone=%2B94770000105', [5]],
    ['phone=+94 77 000 0105', [5]],
    ['phone=0770000109', [], [9]],
    ['phone=5', []],
    ['created_from=2026-02-07', [7, 6], [9, 8, 7, 6]],
    ['created_to=2026-02-02', [1, 0]],
    ['created_from=2026-02-03&created_to=2026-02-04', [3, 2]],
    ['created_from=2026-02-03T18:00:00.123Z&created_to=2026-02-04T18:00:00.123Z', [2]],
    ['created_from=2026-02-03T18:00:00.123457Z&created_to=2026-02-04T18:00:00.123456Z', [3]],
    ['created_at=2026-02-03T23:30:00.123456%2B05:30', [2]],
    ['created_from=2026-02-03T23:30:01%2B05:30&created_to=2026-02-05T23:31+05:30', [4, 3]],
    ['status=key_2&created_from=2026-02-04&order_no=LS-1', [6]],
    ['business_id=7290', [7, 6, 5, 4, 3, 2, 1, 0]],
    ['business_id=7291', []],
    ['business_id=7300', [], [9, 8]],
    ['business_id=999999999999999999', []],
    ['business_id=7300&status=key_2', [], [8]],
  ]
  for (const [query, ofMerchant, ofAll = ofMerchant] of table) {
    t.strictSame(await listed(query), ofMerchant, query)
    t.strictSame(await listed(query, staffGet), ofAll, `staff ${query}`)
    const bracketed = query.replace(/(^|&)(\w+)=/g, '$1filter[$2]=')
    t.strictSame(await listed(bracketed), ofMerchant, bracketed)
  }
  t.strictSame(await listed(`merchant_id=${books}`, staffGet), [9, 8])
  t.strictSame(
    await listed(`merchant_id=${books}`),
    [7, 6, 5, 4, 3, 2, 1, 0],
    'a merchant gets only its own orders, whatever it requests',
  )
  t.strictSame(await listed('status=&created_from=&phone= &filter[order_no]='), [7, 6, 5, 4, 3, 2, 1, 0])
})

t.test('pages have the usual shape', async t => {
  const { body } = await get('/order?per_page=3&page=2&status=key_2&x=1')
  const address = 'http://localhost:80/api/public/merchant/order'
  t.strictSame(readNumbers(body), [0])
  t.strictSame(body.links, {
    first: `${address}?per_page=3&status=key_2&x=1&page=1`,
    last: `${address}?per_page=3&status=key_2&x=1&page=2`,
    prev: `${address}?per_page=3&status=key_2&x=1&page=1`,
    next: null,
  })
  t.strictSame(body.meta, {
    current_page: 2,
    from: 4,
    last_page: 2,
    path: address,
    per_page: 3,
    to: 4,
    total: 4,
    next_cursor: null,
  })
  const beyond = await get('/order?per_page=3&page=9')
  t.strictSame([beyond.body.data, beyond.body.meta.total], [[], 8])
  t.equal((await get('/order?page=667')).status, 200)
  t.strictSame(
    (await get('/order?page=668')).body,
    refusal({
      page: ['The page field must lie within the first 10000 orders. Go on with the next_cursor of a page.'],
    }),
  )
})

t.test('a cursor continues where a page ended, even when orders arrive meanwhile', async t => {
  const seen: number[] = []
  let { body } = await get('/order?per_page=3&created_to=2026-02-28')
  seen.push(...readNumbers(body))
  await make(['DM00000100'])
  await rows(`update orders set created_at = '2026-02-20' where waybill_number = 'DM00000100'`)
  for (let page = 0; body.meta.next_cursor && page < 9; page++) {
    const path = body.links.next?.includes('cursor=') ? body.links.next.replace(/^.*\/order/, '/order') : undefined
    body = (await get(path ?? `/order?per_page=3&created_to=2026-02-28&cursor=${body.meta.next_cursor}`)).body
    t.strictSame(Object.keys(body.meta), ['path', 'per_page', 'next_cursor'])
    seen.push(...readNumbers(body))
  }
  t.strictSame(seen, [7, 6, 5, 4, 3, 2, 1, 0])
  await rows(`delete from orders where waybill_number = 'DM00000100'`)
})

t.test('orders created at the same time are sorted by waybill, and each is on one page only', async t => {
  const { get, make } = await tenantFixture(t)
  const waybills = Array.from({ length: 10 }, (_, index) => number(index))
  await make(waybills)
  const seen: number[] = []
  let cursor = ''
  for (let page = 0; page < 5; page++) {
    const { body } = await get(`/order?per_page=2${cursor && `&cursor=${cursor}`}`)
    seen.push(...readNumbers(body))
    cursor = body.meta.next_cursor
  }
  t.strictSame(seen, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
  t.equal(cursor, null)
})

t.test('a merchant reads its order as it sent it, with names and timeline', t => expectOrder(t, fixture))

t.test("another merchant's order gets 404, like an unknown one", async t => {
  const unknown = { message: 'The requested waybill does not exist in the system', code: 'not_found' }
  const staffAbroad = { token: await staffOf('Abroad', 'other'), tenant: 'other' }
  const responses = [
    await get('/order/DM00000009'),
    await get('/order/DM00000001', { token: booksToken }),
    await get('/order/DM00000001', { token: await createToken('shop@example.com', 'other'), tenant: 'other' }),
    await staffGet('/order/DM00000001', staffAbroad),
    await get('/order/DM%00X'),
    await get('/order/%F0%9F%9A%9A1'),
    await staffGet(`/order/${'X'.repeat(200)}`),
  ]
  for (const { status, body } of responses) t.strictSame([status, body], [404, unknown])
  t.equal((await get('/order/%FF1')).status, 400)
  t.equal((await staffGet('/order/DM00000009')).status, 200)
})

t.test('other addresses below /order keep their methods', async t => {
  for (const [path, allow] of Object.entries({ bulk: 'POST', single: 'POST', cancel: 'POST' })) {
    const response = await get(`/order/${path}`)
    t.strictSame([response.status, response.headers.allow], [405, allow], path)
  }
  t.equal((await staffGet('/order/status')).status, 405)
  const post = await request('POST', '/api/public/merchant/order/DM00000001', {})
  t.strictSame([post.status, post.headers.allow], [405, 'GET, HEAD'])
})

const date = (name: string) =>
  `The created ${name} field must be a date such as 2026-02-19 or a time such as 2026-02-19T08:00:00Z.`
const cursor = 'The cursor field must be the next_cursor of a page.'
const encodeCursor = (text: string): string => Buffer.from(text).toString('base64url')

t.test('refuses malformed input and names its field', async t => {
  const table: [string, string, string][] = [
    ['created_from=2026-02-30', 'created_from', date('from')],
    ['created_to=2026-13-01', 'created_to', date('to')],
    ['created_to=0000-01-01', 'created_to', date('to')],
    ['created_to=99999-01-01', 'created_to', date('to')],
    ['filter[created_to]=yesterday', 'filter[created_to]', date('to')],
    ['created_from=2026-02-19T25:00:00Z', 'created_from', date('from')],
    ['created_from=2026-02-19T08:00:00', 'created_from', date('from')],
    ['created_from=%00', 'created_from', date('from')],
    ['phone=abc', 'phone', 'The phone field must be a phone number.'],
    ['phone=-', 'phone', 'The phone field must be a phone number.'],
    ['business_id=1e9', 'business_id', 'The business id field must be an id.'],
    [`business_id=${'+'.repeat(10_000)}7`, 'business_id', 'The business id field must be an id.'],
    ['business_id=99999999999999999999', 'business_id', 'The business id field must be an id.'],
    ['page=0', 'page', 'The page field must be a whole number, 1 or more.'],
    ['page=1e9', 'page', 'The page field must be a whole number, 1 or more.'],
    ['per_page=0', 'per_page', 'The per page field must be a whole number, 1 or more.'],
    ['cursor=x', 'cursor', cursor],
    ['cursor=%00', 'cursor', cursor],
    [`cursor=${encodeCursor('2026-02-30T08:00:00.000000Z DM1')}`, 'cursor', cursor],
    [`cursor=${encodeCursor('2026-02-19T08:00:00.000000Z \u0000')}`, 'cursor', cursor],
  ]
  for (const [query, field, sentence] of table)
    for (const from of [get, staffGet]) {
      const { status, body } = await from(`/order?${query}`)
      t.strictSame([status, body], [422, refusal({ [field]: [sentence] })], query)
    }
  for (const query of [
    'status=%00',
    'order_no=%00',
    'waybill_number=%00',
    'status=a&status=b',
    'cursor=a&cursor=b',
    'page=999999999',
  ])
    t.equal((await get(`/order?${query}`)).status, 422, query)
  for (const query of ['status=%ED%A0%80', 'order_no=%FF', 'constructor=1', '__proto__=1', 'filter=1', 'filter[]=1'])
    t.ok((await get(`/order?${query}`)).status < 500, query)
})

/** Opens a fixture with one order and 10,100 older copies of it, a second apart. */
const openLargeList = async (t: Test) => {
  const large = await ordersFixture(t)
  await large.make(['DM00000001'])
  await large.rows(`insert into orders (tenant_id, waybill_number, merchant_id, business_id, status_key, order_no,
      customer_name, customer_address, customer_phone, origin_city_id, destination_city_id, cod, weight,
        delivery_charge,
      created_at)
    select tenant_id, 'X' || number, merchant_id, business_id, status_key, number, customer_name, customer_address,
      '077' || 1000000 + number, origin_city_id, destination_city_id, cod, weight, delivery_charge,
      created_at - number * interval '1 s'
    from orders, generate_series(1, 10100) as number`)
  return large
}

t.test('a list is counted up to 10,000, and continues by cursor', async t => {
  const { get } = await openLargeList(t)
  const { body } = await get('/order?per_page=1000&page=10')
  t.strictSame([body.meta.total, body.meta.last_page, body.data.length, body.links.next], [10_000, 10, 1000, null])
  t.equal((await get('/order')).body.meta.total, 10_000, 'a repetition returns the same count')
  t.equal((await get('/order?created_from=2999-01-01')).body.meta.total, 0)
  for (const last of [body, (await get('/order?per_page=15&page=667')).body]) {
    t.equal(last.meta.to, 10_000)
    const next = await get(`/order?per_page=1000&cursor=${last.meta.next_cursor}`)
    t.strictSame([next.body.data.length, next.body.data[0].waybill_number], [101, 'X10000'])
    t.strictSame([next.body.meta.next_cursor, next.body.links.next], [null, null])
  }
})

t.test('with row-level security, each filter that has an index still uses it', async t => {
  const { pool, rows } = await openLargeList(t)
  await rows('analyze orders')
  const client = await pool.connect()
  t.teardown(() => client.release(true))
  await client.query(`select set_config('app.tenant', 'demo', false)`)
  /** Explains a prepared statement for any values, as Postgres may run it. */
  const explain = async ({ text, values, name }: { text: string; values: unknown[]; name?: string }) => {
    const { rows } = await client.query(name ? `explain (generic_plan) ${text}` : `explain ${text}`, name ? [] : values)
    return rows.map(row => row['QUERY PLAN']).join(' ')
  }
  const after = { createdAt: '2026-02-05T00:00:00.000000Z', waybill: 'X' }
  const table: [OrderFilter, string, string | [ofPage: string, ofCount: string], Position?][] = [
    [{}, 'orders_by_age', 'ROW(created_at', after],
    [{ merchant_id: '999' }, 'orders_of_merchant', ['ROW(merchant_id, created_at) <=', 'merchant_id = ']],
    [{ merchant_id: '999' }, 'orders_of_merchant', 'ROW(merchant_id, created_at, waybill_number) <', after],
    [{ merchant_id: '999', search: 'perera', phone_parts: ['%077%'] }, 'orders_of_merchant', 'merchant_id = '],
    [{ status: 'key_21' }, 'orders_by_status', 'status_key = '],
    [{ order_no: '77' }, 'orders_by_order_no', 'order_no = '],
    [{ phones: ['0771000077'] }, 'orders_by_phone', 'phone_key = '],
    [{ waybill_number: 'X77' }, 'orders_pkey', 'waybill_number = '],
  ]
  for (const [filter, index, condition, after] of table)
    for (const [query, ofQuery] of [
      [selectOrders(new Map(), 'demo', filter, { after, offset: 0, limit: 16 }), [condition].flat()[0]],
      ...(after ? [] : [[selectCount('demo', filter), [condition].flat().at(-1)] as const]),
    ] as const) {
      const plan = await explain(query)
      const { groups } = /using (?<used>\w+) on orders .*?Index Cond: (?<conditions>.*?) {2}/.exec(`${plan}  `) ?? {}
      t.equal(groups?.used, index, JSON.stringify(filter))
      t.ok(groups?.conditions?.includes(ofQuery as string), plan)
    }
})
