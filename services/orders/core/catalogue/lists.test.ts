import t from 'tap'
import { build } from '../../test/build.ts'
import { tenantFile } from '../../test/tenant.ts'
import { createTokenFor } from '../access/token-commands.ts'
import { formatRefNo } from './lists.ts'

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
const { app, request, pool, apply, createToken } = await build(t, { file })
const booksToken = await createToken('books@example.com')

const listIds = (response: { body: { data: { id: number }[] } }) => response.body.data.map(row => row.id)
const findCities = async (query: string) => {
  const response = await request(`/city?noPagination=1&${query}`)
  t.equal(response.status, 200, query)
  return listIds(response)
}

t.test('the token identifies its merchant', async t => {
  const { status, body } = await request('/user/get-current')
  t.equal(status, 200)
  const { id } = body.data
  t.ok(Number.isInteger(id))
  const merchant = { id, name: 'Lanka Shoes' }
  const shown = { id, first_name: 'Lanka Shoes', last_name: '', email: 'shop@example.com', merchant }
  const place = { country: 'LK', time_zone: 'Asia/Colombo' }
  const tenant = { id: 'demo', name: 'Demo Couriers', currency: 'LKR', decimals: 2, secondary_phone: true, ...place }
  t.strictSame(body.data, { ...shown, business_id: null, role: 'program', person: null, tenant })
})

const named = (name: string) => ({ business_name: name, name })

t.test('a merchant sees its own businesses', async t => {
  const { body } = await request('/business')
  t.strictSame(body.data, [
    { id: 7290, ref_no: '7290', ...named('Lanka Shoes Online'), is_default: true, is_active: true },
    { id: 7291, ref_no: '7291', ...named('Lanka Shoes Outlet'), is_default: false, is_active: true },
  ])
  t.match(body.meta, { total: 2, per_page: 15, from: 1, to: 2 })
  t.strictSame(listIds(await request('/business', undefined, { token: booksToken })), [7300])
})

t.test('states are sorted by id', async t => {
  const { body } = await request('/state')
  const common = { country_id: 1, has_child: true, is_active: true }
  t.strictSame(body.data, [
    { id: 1, ref_no: 'ST-0001', name: 'Colombo', ...common },
    { id: 2, ref_no: 'ST-0002', name: 'Galle', ...common },
    { id: 3, ref_no: 'ST-0003', name: 'Jaffna', ...common },
    { id: 4, ref_no: 'ST-0004', name: 'Odd', ...common },
  ])
})

t.test('states include their cities on request, and in the whole list', async t => {
  const whole = (await request('/state?noPagination')).body
  t.strictSame(Object.keys(whole), ['data'])
  for (const include of ['cities', 'x,cities'])
    t.strictSame((await request(`/state?include=${include}`)).body.data, whole.data, include)
  for (const include of ['', 'city', 'zones'])
    t.notOk('cities' in (await request(`/state?include=${include}`)).body.data[0])
  const cities = (await request('/city?noPagination')).body.data
  t.strictSame(
    whole.data.flatMap((state: { cities: unknown[] }) => state.cities),
    cities,
  )
  t.strictSame((await request('/state/2')).body.data, whole.data[1])
  t.strictSame((await request('/city/2101')).body.data, cities[3])
  t.match((await request('/business/7291')).body.data, { id: 7291, ...named('Lanka Shoes Outlet') })
  const ofBooks = (await request('/state?noPagination', undefined, { token: booksToken })).body.data
  t.strictSame(
    [ofBooks[0].cities[0].zone, ofBooks[0].cities[0].zone_id],
    [null, null],
    'zones come from the merchant’s card',
  )
})

t.test('an unknown id gets 404', async t => {
  for (const [path, kind] of [
    ['/city/77', 'city'],
    ['/city/CT-1500', 'city'],
    ['/state/0', 'state'],
    ['/business/7300', 'business'],
  ] as const)
    t.match(
      await request(path),
      { status: 404, body: { message: `The requested ${kind} does not exist in the system`, code: 'not_found' } },
      path,
    )
})

t.test('a city has its state, and its zone in the rate card of the merchant', async t => {
  const { body } = await request('/city?per_page=1')
  const kotte = {
    id: 1500,
    ref_no: 'CT-1500',
    name: 'Kotte',
    postal_code: '10100',
    state_id: 1,
    state: { id: 1, name: 'Colombo' },
    country: { id: 1, name: 'Sri Lanka' },
    default_warehouse: null,
    zone_id: 1,
    zone: { id: 1, name: 'metro' },
    is_active: true,
  }
  t.strictSame(body.data, [kotte])
  t.match(body.meta, { total: 11, last_page: 11 })
  const zones = (await request('/city?noPagination=true')).body.data.map(
    (row: { zone: { name: string } }) => row.zone.name,
  )
  t.strictSame(zones.slice(0, 5), ['metro', 'metro', 'outstation', 'outstation', 'north'])
  const ofBooks = await request('/city?per_page=1', undefined, { token: booksToken })
  t.strictSame(ofBooks.body.data, [{ ...kotte, zone_id: null, zone: null }], 'a merchant without a card has no zones')
})

t.test('reference numbers have at least four digits', async t => {
  t.strictSame(
    [formatRefNo('CT', 260), formatRefNo('ST', 1), formatRefNo('CT', 12_345)],
    ['CT-0260', 'ST-0001', 'CT-12345'],
  )
})

t.test('pages follow each other and lead through the whole list', async t => {
  const found: number[] = []
  let url: string | null = '/city?per_page=4'
  for (let pages = 0; url !== null && pages < 5; pages++) {
    const response = await request(url)
    found.push(...listIds(response))
    url = response.body.links.next?.replace(/^.*\/merchant/, '') ?? null
  }
  t.strictSame(found, await findCities(''))
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
    ['colour=red&filter[state_id]=3', [3000]],
  ]
  for (const [query, ids] of table) t.strictSame(await findCities(query), ids, query)
  t.equal((await findCities('filter[name]=&filter[state_id]=')).length, 11, 'a blank filter does not count')
})

t.test('special characters in a filter are literal', async t => {
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
    t.strictSame(await findCities(`filter[name]=${encodeURIComponent(name)}`), ids, JSON.stringify(name))
})

t.test('impossible names are refused or match nothing', async t => {
  for (const name of ['%00', 'a%00', 'x'.repeat(256)]) {
    const { status, body } = await request(`/city?filter[name]=${name}`)
    t.strictSame([status, Object.keys(body.errors)], [422, ['filter[name]']], name.slice(0, 10))
  }
  for (const name of ['%ED%A0%80', '%ff', '%zz']) t.strictSame(await findCities(`filter[name]=${name}`), [], name)
  t.equal((await request('/city?filter[name]=a&filter[name]=b')).status, 422)
  t.equal((await request('/city?filter[state_id]=%00')).status, 422)
})

t.test('every list refuses malformed page parameters', async t => {
  for (const list of ['/business', '/state', '/city']) {
    const { status, body } = await request(`${list}?page=0&per_page=0&noPagination=perhaps`)
    t.equal(status, 422, list)
    t.strictSame(Object.keys(body.errors).sort(), ['noPagination', 'page', 'per_page'])
    t.match(await request(`${list}?page=999&per_page=1000`), { status: 200, body: { data: [], meta: { from: null } } })
  }
})

t.test('the next response shows the operator’s changes and lacks the removed rows', async t => {
  await request('/city')
  const [colombo, ...others] = file.states
  const [shop, books] = file.merchants
  if (!colombo || !shop || !books) throw new Error('the file lacks a state or a merchant')
  const [online] = shop.businesses
  await apply({
    ...file,
    states: [{ ...colombo, cities: [{ id: 1502, name: 'Moratuwa' }] }, ...others],
    merchants: [{ ...shop, businesses: online ? [online] : [] }, books],
    rate_cards: file.rate_cards.map(card => ({ ...card, zones: { metro: [1502], north: [3000], outstation: '*' } })),
  })
  const { body } = await request('/city?filter[state_id]=1')
  t.match(body.data, [{ id: 1502, zone: { id: 1, name: 'metro' } }])
  t.equal(body.data.length, 1)
  t.strictSame(listIds(await request('/business')), [7290])
  await apply(file)
  t.strictSame(await findCities('filter[state_id]=1'), [1500, 1501])
  t.strictSame(listIds(await request('/business')), [7290, 7291])
})

t.test('another tenant has its own lists', async t => {
  const other = tenantFile({ id: 'other' })
  other.states = [{ id: 1, name: 'Elsewhere', cities: [{ id: 1500, name: 'Faraway' }] }]
  other.rate_cards = []
  other.merchants = [{ name: 'Far Shop', email: 'shop@example.com', password: 'far-shop-demo', businesses: [] }]
  await apply(other)
  const { token } = await createTokenFor(pool, { tenant: 'other', merchant: 'shop@example.com' })
  const requestAsOther = (path: string) => request(path, undefined, { tenant: 'other', token })
  t.match((await requestAsOther('/city')).body.data, [{ id: 1500, name: 'Faraway', zone: null }])
  t.match((await requestAsOther('/state')).body.data, [{ id: 1, name: 'Elsewhere' }])
  t.strictSame((await requestAsOther('/business')).body.data, [])
  t.match((await requestAsOther('/user/get-current')).body.data, { merchant: { name: 'Far Shop' } })
})

t.test('every list and the request for the user require a merchant’s token', async t => {
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  for (const path of ['/user/get-current', '/business', '/state', '/city'])
    for (const token of ['', 'courier_wrong', staff])
      t.match(
        await request(path, undefined, { token }),
        { status: 401, body: { message: 'Unauthenticated.', code: 'unauthenticated' } },
        `${path} ${token.slice(0, 10)}`,
      )
})

t.test('the OpenAPI document has the lists with their filters, the login and the bookings', async t => {
  const { paths } = (await app.inject('/openapi.json')).json()
  const merchant = '/api/public/merchant'
  for (const path of ['/user/get-current', '/business', '/state', '/city'])
    t.ok(paths[merchant + path]?.get.responses['200'].content['application/json'].schema, path)
  for (const path of ['/login', '/order/single', '/order/bulk']) t.ok(paths[merchant + path]?.post.requestBody, path)
  const { parameters } = paths[`${merchant}/city`].get
  const inQuery = parameters.filter((field: { in: string }) => field.in === 'query')
  const fields = inQuery.map((field: { name: string }) => field.name)
  const paging = ['page', 'per_page', 'noPagination', 'noPaginationNoFilter']
  const filters = [
    'id',
    'ref_no',
    'name',
    'is_active',
    'postal_code',
    'state_id',
    'state_name',
    'country_id',
    'zone_id',
    'zone',
  ]
  t.strictSame(fields, [...paging, ...filters, ...filters.map(name => `filter[${name}]`)])
})
