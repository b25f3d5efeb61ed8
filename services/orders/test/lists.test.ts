import t from 'tap'
import { createTokenFor } from '../access/token-commands.ts'
import { build } from './build.ts'
import { tenantFile } from './tenant.ts'

const file = tenantFile()
file.states.push({
  id: 4,
  name: 'Odd',
  cities: [
    { id: 4000, name: '100% Town' },
    { id: 4001, name: 'Under_score' },
    { id: 4002, name: 'කොළඹ' },
    { id: 4003, name: 'Smiley 😀' },
    { id: 4004, name: "O'Neill" },
    { id: 4005, name: 'Åland' },
  ],
})
const { app, call, pool, apply, tokenOf } = await build(t, { file })
const booksToken = await tokenOf('books@example.com')

const idsOf = (answer: { body: { data: { id: number }[] } }) => answer.body.data.map(row => row.id)
const cityIds = async (query: string) => {
  const answer = await call(`/city?noPagination=1&${query}`)
  t.equal(answer.status, 200, query)
  return idsOf(answer)
}

t.test('the token tells whom it speaks for', async t => {
  const { status, body } = await call('/user/get-current')
  t.equal(status, 200)
  const { id } = body.data
  t.ok(Number.isInteger(id))
  const merchant = { id, name: 'Lanka Shoes' }
  t.strictSame(body.data, { id, first_name: 'Lanka Shoes', last_name: '', email: 'shop@example.com', merchant })
})

t.test('a merchant sees its own businesses', async t => {
  const { body } = await call('/business')
  t.strictSame(body.data, [
    { id: 7290, ref_no: '7290', name: 'Lanka Shoes Online', is_default: true, is_active: true },
    { id: 7291, ref_no: '7291', name: 'Lanka Shoes Outlet', is_default: false, is_active: true },
  ])
  t.match(body.meta, { total: 2, per_page: 15, from: 1, to: 2 })
  t.strictSame(idsOf(await call('/business', undefined, { token: booksToken })), [7300])
})

t.test('states come in the order of their ids', async t => {
  const { body } = await call('/state?noPagination')
  t.strictSame(body, {
    data: [
      { id: 1, ref_no: '1', name: 'Colombo', is_active: true },
      { id: 2, ref_no: '2', name: 'Galle', is_active: true },
      { id: 3, ref_no: '3', name: 'Jaffna', is_active: true },
      { id: 4, ref_no: '4', name: 'Odd', is_active: true },
    ],
  })
})

t.test('a city tells its state, and its zone in the card of the merchant', async t => {
  const { body } = await call('/city?per_page=1')
  const kotte = {
    id: 1500,
    ref_no: '1500',
    name: 'Kotte',
    postal_code: '10100',
    state_id: 1,
    state: { id: 1, name: 'Colombo' },
    zone: 'metro',
    is_active: true,
  }
  t.strictSame(body.data, [kotte])
  t.match(body.meta, { total: 11, last_page: 11 })
  const zones = (await call('/city?noPagination=true')).body.data.map((row: { zone: string }) => row.zone)
  t.strictSame(zones.slice(0, 5), ['metro', 'metro', 'outstation', 'outstation', 'north'])
  const ofBooks = await call('/city?per_page=1', undefined, { token: booksToken })
  t.strictSame(ofBooks.body.data, [{ ...kotte, zone: null }], 'a merchant without a card has no zones')
})

t.test('pages follow each other and lead through the whole list', async t => {
  const found: number[] = []
  let url: string | null = '/city?per_page=4'
  for (let pages = 0; url !== null && pages < 5; pages++) {
    const answer = await call(url)
    found.push(...idsOf(answer))
    url = answer.body.links.next?.replace(/^.*\/merchant/, '') ?? null
  }
  t.strictSame(found, await cityIds(''))
  t.equal(found.length, 11)
})

t.test('cities are found by part of the name, in any letter case, and by state', async t => {
  const table: [string, number[]][] = [
    ['filter[name]=OTT', [1500]],
    ['filter%5Bname%5D=kotte', [1500]],
    ['filter[name]=%20dehi%20', [1501]],
    ['filter[state_id]=2', [2100, 2101]],
    ['filter[state_id]=2&filter[name]=hik', [2101]],
    ['filter[state_id]=1&filter[name]=hik', []],
    ['filter[state_id]=77', []],
    ['filter[state_id]=two', []],
    ['filter[name]=nowhere', []],
    ['filter[colour]=red&filter[state_id]=3', [3000]],
  ]
  for (const [query, ids] of table) t.strictSame(await cityIds(query), ids, query)
  t.equal((await cityIds('filter[name]=&filter[state_id]=')).length, 11, 'blank is not given')
})

t.test('odd text in a filter means itself', async t => {
  const table: [string, number[]][] = [
    ['%', [4000]],
    ['_', [4001]],
    ['කොළ', [4002]],
    ['😀', [4003]],
    ["'", [4004]],
    ['åland', [4005]],
    ['A\u030aland', [4005]],
    ['\\', []],
    ['.*', []],
    ['"; drop table cities', []],
  ]
  for (const [name, ids] of table)
    t.strictSame(await cityIds(`filter[name]=${encodeURIComponent(name)}`), ids, JSON.stringify(name))
})

t.test('text that no name can have is refused or found nowhere', async t => {
  for (const name of ['%00', 'a%00', 'x'.repeat(256)]) {
    const { status, body } = await call(`/city?filter[name]=${name}`)
    t.strictSame([status, Object.keys(body.errors)], [422, ['filter[name]']], name.slice(0, 10))
  }
  for (const name of ['%ED%A0%80', '%ff', '%zz']) t.strictSame(await cityIds(`filter[name]=${name}`), [], name)
  t.equal((await call('/city?filter[name]=a&filter[name]=b')).status, 422)
  t.equal((await call('/city?filter[state_id]=%00')).status, 422)
})

t.test('bad wishes for a page are refused in every list', async t => {
  for (const list of ['/business', '/state', '/city']) {
    const { status, body } = await call(`${list}?page=0&per_page=1001&noPagination=perhaps`)
    t.equal(status, 422, list)
    t.strictSame(Object.keys(body.errors).sort(), ['noPagination', 'page', 'per_page'])
    t.match(await call(`${list}?page=999&per_page=1000`), { status: 200, body: { data: [], meta: { from: null } } })
  }
})

t.test('a change of the operator is in the next answer, and what went is listed no more', async t => {
  await call('/city')
  const [colombo, ...others] = file.states
  const [shop, books] = file.merchants
  if (!colombo || !shop || !books) throw new Error('the file has them')
  const [online] = shop.businesses
  await apply({
    ...file,
    states: [{ ...colombo, cities: [{ id: 1502, name: 'Moratuwa' }] }, ...others],
    merchants: [{ ...shop, businesses: online ? [online] : [] }, books],
    rate_cards: file.rate_cards.map(card => ({ ...card, zones: { metro: [1502], north: [3000], outstation: '*' } })),
  })
  const { body } = await call('/city?filter[state_id]=1')
  t.match(body.data, [{ id: 1502, zone: 'metro' }])
  t.equal(body.data.length, 1)
  t.strictSame(idsOf(await call('/business')), [7290])
  await apply(file)
  t.strictSame(await cityIds('filter[state_id]=1'), [1500, 1501])
  t.strictSame(idsOf(await call('/business')), [7290, 7291])
})

t.test('another tenant has its own lists', async t => {
  const other = tenantFile({ id: 'other' })
  other.states = [{ id: 1, name: 'Elsewhere', cities: [{ id: 1500, name: 'Faraway' }] }]
  other.rate_cards = []
  other.merchants = [{ name: 'Far Shop', email: 'shop@example.com', password: 'far-shop-demo', businesses: [] }]
  await apply(other)
  const { token } = await createTokenFor(pool, { tenant: 'other', merchant: 'shop@example.com' })
  const call2 = (path: string) => call(path, undefined, { tenant: 'other', token })
  t.match((await call2('/city')).body.data, [{ id: 1500, name: 'Faraway', zone: null }])
  t.match((await call2('/state')).body.data, [{ id: 1, name: 'Elsewhere' }])
  t.strictSame((await call2('/business')).body.data, [])
  t.match((await call2('/user/get-current')).body.data, { merchant: { name: 'Far Shop' } })
})

t.test('every list and the user want a merchant’s token', async t => {
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  for (const path of ['/user/get-current', '/business', '/state', '/city'])
    for (const token of ['', 'courier_wrong', staff])
      t.match(
        await call(path, undefined, { token }),
        { status: 401, body: { message: 'Unauthenticated.' } },
        `${path} ${token.slice(0, 10)}`,
      )
})

t.test('the description names every call', async t => {
  const { paths } = (await app.inject('/openapi.json')).json()
  const merchant = '/api/public/merchant'
  for (const path of ['/user/get-current', '/business', '/state', '/city'])
    t.ok(paths[merchant + path]?.get.responses['200'].content['application/json'].schema, path)
  for (const path of ['/login', '/order/single', '/order/bulk']) t.ok(paths[merchant + path]?.post.requestBody, path)
  const fields = paths[`${merchant}/city`].get.parameters.map((field: { name: string }) => field.name)
  t.strictSame(fields, ['page', 'per_page', 'noPagination', 'filter[name]', 'filter[state_id]'])
})
