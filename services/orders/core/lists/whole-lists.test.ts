import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { RequestOptions } from '../../test/build.ts'
import { ordersFixture, refusal } from '../../test/orders-fixture.ts'
import { createCatalogues } from '../catalogue/catalogue.ts'
import { bufferedBytes, createWholeLists, maxWholeList, rowsPerFetch } from './whole-list.ts'

/** Creates one order and `more` older copies of it, a millisecond apart. */
const fixtureWith = async (t: Test, more: number) => {
  const fixture = await ordersFixture(t)
  await fixture.make(['DM00000001'])
  const add = (from: number, to: number) =>
    fixture.rows(
      `insert into orders (tenant_id, waybill_number, merchant_id, business_id, status_key, order_no,
        customer_name, customer_address, customer_phone, origin_city_id, destination_city_id, cod, weight,
        delivery_charge, created_at)
      select tenant_id, 'X' || number, merchant_id, business_id, status_key, number, customer_name, customer_address,
        customer_phone, origin_city_id, destination_city_id, cod, weight, delivery_charge,
        created_at - number * interval '1 ms'
      from orders, generate_series($1::int, $2::int) as number where waybill_number = 'DM00000001'`,
      [from, to],
    )
  await add(1, more)
  return { ...fixture, add }
}

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries > 600) throw new Error(`still not: ${what}`)
    await delay(50)
  }
}

const total = 2_345
const large = await fixtureWith(t, total - 1)
const { get, staffGet, app, pool, rows, token } = large
type Row = { waybill_number: string; order_no: string | null; created_at: string }

t.test('noPagination returns all orders, newest first, whatever the page', async t => {
  const expected = await rows('select waybill_number from orders order by created_at desc, waybill_number desc')
  t.equal(expected.length, total)
  const flags = ['noPagination', 'noPagination=', 'noPagination=1', 'noPagination=true', 'noPaginationNoFilter']
  const queries = [...flags, 'noPagination=1&per_page=5&page=3', 'per_page=99999&noPaginationNoFilter=1']
  for (const query of queries)
    for (const from of [get, staffGet]) {
      const { status, headers, body } = await from(`/order?${query}`)
      t.strictSame([status, Object.keys(body)], [200, ['data']], query)
      t.equal(headers['content-type'], 'application/json; charset=utf-8')
      t.strictSame(
        body.data.map((row: Row) => row.waybill_number),
        expected.map(row => row.waybill_number),
        query,
      )
    }
  const [first] = (await get('/order?noPagination')).body.data
  t.strictSame(first, (await get('/order?per_page=1')).body.data[0], 'a row is the same as on a page')
  for (const query of ['noPagination=0', 'noPagination=false&per_page=2'])
    t.equal((await get(`/order?${query}`)).body.meta.total, total, query)
})

t.test('filters and a cursor narrow a whole list; the count matches the rows', async t => {
  const table: [query: string, sql: string][] = [
    ['order_no=77', `order_no = '77'`],
    ['status=key_2', `status_key = 'key_2'`],
    ['filter[created_from]=2026-01-01', 'true'],
    ['business_id=7291', 'false'],
    ['waybill_number=X5', `waybill_number = 'X5'`],
  ]
  for (const [query, condition] of table) {
    const [{ count }] = await rows(`select count(*)::int as count from orders where ${condition}`)
    const { body } = await get(`/order?noPagination&${query}`)
    t.equal(body.data.length, count, query)
    t.equal((await get(`/order?${query}`)).body.meta.total, count, query)
  }
  const { body } = await get('/order?per_page=1000')
  const rest = (await get(`/order?noPagination&cursor=${body.meta.next_cursor}`)).body.data
  t.equal(rest.length, total - 1_000)
  t.equal((await get('/order?noPagination&cursor=x')).status, 422)
  t.equal((await get('/order?noPagination&status=lost')).status, 422)
})

t.test("a merchant's whole list has no order of another merchant", async t => {
  await large.makeOfBooks(['DM00000009'])
  const numbers = async (options: RequestOptions = {}) =>
    (await get('/order?noPagination', options)).body.data.map((row: Row) => row.waybill_number)
  t.notOk((await numbers()).includes('DM00000009'))
  t.strictSame(await numbers({ token: large.booksToken }), ['DM00000009'])
  t.equal((await staffGet('/order?noPagination')).body.data.length, total + 1)
  await rows(`delete from orders where waybill_number = 'DM00000009'`)
})

/** Returns true once every connection is free. */
const isIdle = () => pool.idleCount === pool.totalCount && pool.waitingCount === 0

t.test('a list without a reader is buffered up to a limit, and shows no later changes', async t => {
  const many = await fixtureWith(t, 8_000)
  const open = createWholeLists({
    pool: many.pool,
    catalogues: createCatalogues(many.pool, 2 ** 20),
    facets: new Map(),
  })
  const json = await open('a', 'demo', {})
  t.equal(json.readableLength, 0, 'nothing is read before the client reads')
  json.read(0)
  await until('the list has been read ahead', () => json.readableLength >= bufferedBytes)
  await delay(200)
  const last = json.readableLength
  const rowBytes = 700
  t.ok(last < bufferedBytes + 2 * rowsPerFetch * rowBytes, `${last} bytes wait`)
  await many.add(9_000, 9_100)
  await many.rows(`update orders set status_key = 'key_2'`)
  const { data } = JSON.parse(await readText(json))
  t.equal(data.length, 8_001)
  t.ok(data.every((row: { status: { key: string } }) => row.status.key === 'key_1'))
  await until('the connection is free', () => many.pool.idleCount === many.pool.totalCount)
})

t.test('a short list frees its connection before the client reads it; so does an aborted one', async t => {
  const open = createWholeLists({ pool, catalogues: createCatalogues(pool, 2 ** 20), facets: new Map() })
  const list = await open('a', 'demo', { waybill_number: 'X5' })
  list.read(0)
  await until('the connection is free', isIdle)
  t.equal(JSON.parse(await readText(list)).data.length, 1)
  const unread = await open('a', 'demo', {})
  unread.destroy()
  await until('the connection is free', isIdle)
  t.equal(
    (await app.inject({ method: 'HEAD', url: '/api/public/merchant/order?noPagination', headers })).statusCode,
    200,
  )
  await until('the connection is free', isIdle)
})

const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo

/** Requests a list without reading the response. */
const request = async (path: string): Promise<IncomingMessage> => {
  const sent = http.get({ host: '127.0.0.1', port, path, headers, agent: false })
  const [response] = await once(sent, 'response')
  return response
}

t.test('a client that disconnects frees the connection', async t => {
  await large.add(10_000, 30_000)
  const response = await request('/api/public/merchant/order?noPagination')
  response.once('error', () => {})
  await until('a connection is held', () => pool.idleCount < pool.totalCount)
  response.destroy()
  await until('the connection is free', isIdle)
  t.pass()
})

t.test('a list that fails midway is cut off, so that clients do not mistake it for a whole one', async t => {
  const response = await request('/api/public/merchant/order?noPagination')
  const terminate = () =>
    rows(
      `select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'
        and datname = current_database()`,
    )
  await until('the list waits for its reader', async () => (await terminate()).length === 1)
  await t.rejects(readText(response), { code: 'ECONNRESET' })
  await until('the connections are free', isIdle)
  t.equal((await get('/order?per_page=1')).status, 200)
})

t.test('a client that reads too slowly is cut off, and frees the connection', async t => {
  const list = await createWholeLists({ pool, catalogues: createCatalogues(pool, 2 ** 20), facets: new Map() }, 0.3)(
    'a',
    'demo',
    {},
  )
  const [error] = await once(list, 'error')
  t.match(error, { message: 'a whole list was not read in time' })
  await until('the connection is free', isIdle)
})

t.test('a caller reads one list at a time, and all callers together hold a few connections', async t => {
  const open = createWholeLists({ pool, catalogues: createCatalogues(pool, 2 ** 20), facets: new Map() })
  const first = await open('a', 'demo', {})
  const second = open('a', 'demo', {})
  const others = [await open('b', 'demo', {}), await open('c', 'demo', {})]
  const fourth = open('d', 'demo', {})
  const waiting = Array.from({ length: 9 }, () => open('a', 'demo', {}))
  await t.rejects(open('a', 'demo', {}), { code: 'unavailable' })
  t.equal(pool.totalCount - pool.idleCount, 3, 'three of ten connections are in use')
  t.equal((await get('/order?per_page=1')).status, 200)
  for (const list of [first, ...others]) list.destroy()
  await Promise.all([second, fourth, ...waiting].map(async list => (await list).destroy()))
  await until('the connections are free', isIdle)
})

t.test('refuses a list of more than 50,000 orders, and names the cursor', async t => {
  t.equal(maxWholeList, 50_000)
  const [{ count }] = await rows('select count(*)::int as count from orders')
  await large.add(100_000, 100_000 + maxWholeList - count - 1)
  t.equal((await get('/order?noPagination')).body.data.length, maxWholeList)
  await large.add(200_000, 200_000)
  const sentence =
    'The list has more than 50000 orders. Narrow it by filters, or read it by pages: per_page=1000, then the same with ' +
    'cursor= and the meta.next_cursor of each page for the next.'
  for (const from of [get, staffGet]) {
    const { status, body } = await from('/order?noPagination')
    t.strictSame([status, body], [422, refusal({ noPagination: [sentence] })])
  }
  t.equal((await get('/order?noPagination&order_no=77')).body.data.length, 1)
  const { body } = await get('/order?per_page=1000')
  t.equal((await get(`/order?noPagination&cursor=${body.meta.next_cursor}`)).body.data.length, 49_001)
})
