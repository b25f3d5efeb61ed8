import { Type } from '@sinclair/typebox'
import t from 'tap'
import { buildServer } from '../test/server.ts'
import { FilterText, listQuery, text } from './filters.ts'
import { ListBody, pageFields, toPage, writePage } from './pages.ts'

const { schema: Query } = listQuery(pageFields, { name: text('Part of it.') })
const total = 32
const numbers = Array.from({ length: total }, (_, index) => index + 1)

const app = await buildServer(t, { publicUrl: 'http://courier.example:3000' })
const schema = { querystring: Query, response: { 200: ListBody(Type.Integer()) } }
app.get('/numbers', { schema }, async request => writePage(request, request.query, numbers))
app.get('/nothing', { schema }, async request => writePage(request, request.query, []))
app.get('/name', { schema: { querystring: Query } }, async request => ({
  name: (request.query as Record<string, unknown>)['filter[name]'],
}))

const get = async (url: string) => {
  const response = await app.inject({ url, headers: { host: 'evil.example' } })
  return { status: response.statusCode, body: response.json() }
}
const at = (query: string) => `http://courier.example:3000/numbers?${query}`

t.test('by default a list returns its first fifteen rows', async t => {
  t.strictSame((await get('/numbers')).body, {
    data: numbers.slice(0, 15),
    links: { first: at('page=1'), last: at('page=3'), prev: null, next: at('page=2') },
    meta: {
      current_page: 1,
      from: 1,
      last_page: 3,
      path: 'http://courier.example:3000/numbers',
      per_page: 15,
      to: 15,
      total,
    },
  })
})

t.test('the last page has the rest and no next link', async t => {
  const { body } = await get('/numbers?page=3')
  t.strictSame(body.data, [31, 32])
  t.match(body.links, { prev: at('page=2'), next: null })
  t.match(body.meta, { from: 31, to: 32, current_page: 3 })
})

t.test('a page after the last is empty', async t => {
  const { body } = await get('/numbers?page=999999999&per_page=1000')
  t.strictSame(body.data, [])
  t.match(body.meta, { from: null, to: null, last_page: 1, total })
  t.strictSame(body.links.next, null)
})

t.test('an empty list has one page', async t => {
  const { body } = await get('/nothing')
  t.strictSame(body.data, [])
  t.match(body.meta, { current_page: 1, from: null, to: null, last_page: 1, total: 0 })
  t.match(body.links, { prev: null, next: null })
})

t.test('links keep the other fields of the query', async t => {
  const { body } = await get('/numbers?page=2&per_page=10&filter%5Bname%5D=a%26b%20c&tag=1&tag=2')
  const others = 'per_page=10&filter%5Bname%5D=a%26b+c&tag=1&tag=2'
  t.strictSame(body.links, {
    first: at(`${others}&page=1`),
    last: at(`${others}&page=4`),
    prev: at(`${others}&page=1`),
    next: at(`${others}&page=3`),
  })
  const next = new URL(body.links.next)
  t.strictSame((await get(next.pathname + next.search)).body.data, numbers.slice(20, 30))
})

t.test('noPagination returns the whole list without links and meta', async t => {
  for (const flag of [
    'noPagination=1',
    'noPagination=true',
    'noPagination=True',
    'noPagination',
    'noPagination=',
    'noPaginationNoFilter',
  ])
    t.strictSame((await get(`/numbers?page=2&${flag}`)).body, { data: numbers }, flag)
  for (const flag of ['noPagination=0', 'noPagination=false'])
    t.equal((await get(`/numbers?${flag}`)).body.meta?.total, total, flag)
})

t.test('a wrong page field is refused', async t => {
  const page = { page: ['The page field must be a whole number, 1 or more.'] }
  const perPage = { per_page: ['The per page field must be a whole number, 1 or more.'] }
  const whole = { noPagination: ['The noPagination field must be true or false.'] }
  const table: [string, object][] = [
    ...['0', '-1', '1.5', 'two', '1e3', '9999999999', '%00'].map((text): [string, object] => [`page=${text}`, page]),
    ['page=1&page=2', page],
    ...['0', '1.5', '-5', 'all'].map((text): [string, object] => [`per_page=${text}`, perPage]),
    ['noPagination=2', whole],
    ['page=0&per_page=0', { ...page, ...perPage }],
  ]
  for (const [query, errors] of table) t.match(await get(`/numbers?${query}`), { status: 422, body: { errors } }, query)
  t.equal((await get('/numbers?page=&per_page=')).body.data.length, 15, 'blank counts as absent')
  for (const most of ['1000', '1001', '999999999999999999'])
    t.match((await get(`/numbers?per_page=${most}`)).body, { data: numbers, meta: { per_page: 1000 } })
})

t.test('a filter arrives unchanged, and text that Postgres does not accept is refused', async t => {
  for (const name of ['col', '100%', 'a_b', 'කොළඹ', '😀', ' ', '[x]', "o'neill"])
    t.strictSame((await get(`/name?filter[name]=${encodeURIComponent(name)}`)).body, { name })
  t.strictSame((await get('/name?filter%5Bname%5D=kotte')).body, { name: 'kotte' })
  for (const bad of ['a%00b', 'x'.repeat(256)])
    t.match(await get(`/name?filter[name]=${bad}`), { status: 422, body: { errors: { 'filter[name]': [String] } } })
  t.equal((await get('/name?filter[name]=%ED%A0%80')).status, 200, 'bytes that are not UTF-8 stay as written')
})

t.test('the schema refuses half of a surrogate pair, but not a whole one', async t => {
  const pattern = new RegExp(FilterText('').pattern ?? '')
  t.notOk(pattern.test('a\ud800'))
  t.notOk(pattern.test('\udc00a'))
  t.ok(pattern.test('a😀b'))
})

t.test('without a public URL, links are paths', async t => {
  const address = { publicUrl: '', originalUrl: '/numbers?page=2' }
  const { links, meta } = toPage(address, { page: 2, perPage: 10, offset: 10 }, numbers.slice(10, 20), total)
  t.equal(links.next, '/numbers?page=3')
  t.equal(meta.path, '/numbers')
})
