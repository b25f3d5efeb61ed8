import type { Test } from 'tap'
import { type ApiResponse, expectShape, type MerchantClient, type Query, type Row } from './merchant-client.ts'
import { statusRows } from './merchant-page.ts'

const area = { id: Number, ref_no: null, name: String, is_active: true }
const nestedArea = { id: Number, name: String }
const city = {
  ...{ ...area, postal_code: null, state_id: Number, state: nestedArea, zone_id: Number, zone: nestedArea },
  ...{ country: nestedArea, default_warehouse: null },
}
const state = { ...area, country_id: 1, has_child: true, cities: Array }

export const testLists = async (t: Test, base: string, client: MerchantClient): Promise<void> => {
  const walk = (list: List, path: string) => testPages(t, client, list, { base, path: `/api/public/merchant${path}` })
  const business = await walk(client.businesses, '/business')
  t.match(business, [
    { id: 7290, name: 'Lanka Shoes Online', business_name: 'Lanka Shoes Online', is_default: true },
    { id: 7291, name: 'Lanka Shoes Outlet', is_default: false },
  ])
  t.equal(business.length, 2, 'the list has only the businesses of this merchant')
  t.ok(business.every(row => 'ref_no' in row))

  const states = await walk(query => client.states({ include: 'cities', ...query }), '/state')
  t.equal(states.length, 25)
  expectShape(t, states, state, 'states')
  const { cities: _cities, ...alone } = states[0] ?? {}
  t.strictSame((await client.states({ per_page: 1 })).body.data, [alone], 'without their cities unless requested')

  const cities = await walk(client.cities, '/city')
  t.strictSame(states.flatMap(state => state.cities as Row[]).sort(byId), cities, 'states have the same cities')
  expectShape(t, cities, city, 'cities')
  t.ok(cities.every(({ state, state_id }) => (state as { id: number }).id === state_id))
  const kotte = cities.find(({ id }) => id === 1500)
  t.match(kotte, {
    ref_no: 'CT-1500',
    name: 'Kotte',
    postal_code: '10100',
    state_id: 1,
    state: { id: 1, name: 'Colombo' },
  })
  await testFilters(t, client, cities)

  const statuses = await walk(client.statuses, '/order/status-list')
  const shown = statuses.map(({ id, description, created_at, updated_at, ...row }) => row)
  t.strictSame(shown, statusRows, 'the statuses, their colours and moves')
  for (const row of statuses)
    t.match(row, { id: Number, description: String, created_at: String, updated_at: row.created_at })
  await testRows(t, client, { business, state: states, city: cities })
}

const byId = (a: Row, b: Row): number => Number(a.id) - Number(b.id)

/** Checks that a row is found by its id, and that an unknown id gets 404. */
const testRows = async (t: Test, client: MerchantClient, lists: Record<string, Row[]>): Promise<void> => {
  for (const [kind, rows] of Object.entries(lists)) {
    const send = (id: unknown) => client.send(`/api/public/merchant/${kind}/${id}`)
    t.match(await send(rows[0]?.id), { status: 200, body: { data: rows[0] } }, kind)
    const message = `The requested ${kind} does not exist in the system`
    for (const id of [999_999, 'none', '1.0'])
      t.match(await send(id), { status: 404, body: { message, code: 'not_found' } }, `${kind} ${id}`)
  }
}

const testFilters = async (t: Test, client: MerchantClient, cities: Row[]): Promise<void> => {
  const listNames = (wanted: (name: string, state: unknown) => boolean) =>
    cities.flatMap(({ name, state_id }) => (wanted(String(name), state_id) ? [name] : []))
  const named = listNames(name => name.toLowerCase().includes('col'))
  t.ok(named.length >= 15)
  const blanks = { 'filter[name]': '', 'filter[state_id]': '' }
  const table: [Query, unknown[], string][] = [
    ...['col', 'COL', 'cOl'].map((part): [Query, unknown[], string] => [{ 'filter[name]': part }, named, part]),
    [{ 'filter%5Bname%5D': 'col' }, named, 'brackets written as clients write them'],
    [{ 'filter[name]': 'no such city' }, [], 'none'],
    [{ 'filter[state_id]': 2 }, listNames((_name, state) => state === 2), 'of a state'],
    [{ 'filter[state_id]': 1, 'filter[name]': 'MAHARA' }, ['Maharagama'], 'both filters together'],
    [{ ...blanks, page: '', sort: '-name', cache: 'x', _: 1 }, listNames(() => true), 'blank and unknown fields'],
  ]
  for (const [query, expected, what] of table) {
    const { body } = await client.cities({ noPagination: true, ...query })
    const found = body.data.map(({ name }: { name: string }) => name)
    t.strictSame(found, expected, what)
  }
  const { body } = await client.cities({ 'filter[name]': 'col', per_page: 5, page: 2 })
  t.match(body.meta, { current_page: 2, from: 6, to: 10, per_page: 5, total: named.length })
}

type List = (query?: Query) => Promise<ApiResponse>

/** Reads a whole list with every spelling of `noPagination`, and follows the links of its pages (Laravel's shape). */
const testPages = async (t: Test, client: MerchantClient, list: List, { base = '', path = '' }): Promise<Row[]> => {
  const { body: whole, status } = await list({ noPagination: true })
  t.equal(status, 200)
  t.strictSame(Object.keys(whole), ['data'], 'the whole list is data and nothing else')
  for (const noPagination of ['1', 'true', ''])
    t.strictSame((await list({ noPagination })).body, whole, `noPagination=${noPagination} is the whole list`)
  const total = whole.data.length
  const per_page = Math.max(1, Math.ceil(total / 3))
  const last_page = Math.ceil(total / per_page)
  const rows: Row[] = []
  let { body } = await list({ per_page })
  for (let page = 1; page <= last_page; page++) {
    const from = rows.length + 1
    rows.push(...body.data)
    t.strictSame(Object.keys(body).sort(), ['data', 'links', 'meta'])
    const meta = { current_page: page, from, last_page, path: base + path, per_page, to: rows.length, total }
    t.strictSame(body.meta, meta)
    t.strictSame((await list({ page, per_page })).body, body, `page ${page} by its number`)
    const pages = Object.entries<string | null>(body.links).map(([name, link]) => {
      t.ok(link === null || link.startsWith(`${base}${path}?`), 'a link is a full address')
      return [name, link && Number(new URL(link).searchParams.get('page'))]
    })
    const [prev, next] = [page > 1 ? page - 1 : null, page < last_page ? page + 1 : null]
    t.same(Object.fromEntries(pages), { first: 1, last: last_page, prev, next })
    if (body.links.next) body = (await client.send(body.links.next.replace(base, ''))).body
  }
  t.strictSame(rows, whole.data, 'the pages together are the whole list')
  const beyond = await list({ page: last_page + 1, per_page })
  t.strictSame(beyond.body.data, [], 'the page after the last is empty')
  t.match(beyond.body.meta, { from: null, to: null, total })
  const { body: first } = await list()
  t.match(first.meta, { current_page: 1, from: 1, total }, 'without noPagination the list comes in pages')
  return rows
}
