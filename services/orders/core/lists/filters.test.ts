import t from 'tap'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { batch, tenantFile } from '../../test/tenant.ts'

const file = tenantFile()
file.states.push({ id: 4, name: 'Galle South', cities: [{ id: 4000, name: 'Kotte South' }] })
const { apply, booksToken, bulk, get, staffGet, make, request, rows, staffToken } = await tenantFixture(t, { file })
await make(['DM00000001'], { initial_status_key: 'key_2' })
await make(['DM00000002'], { destination_city_id: 2101, customer_phone: '0770000102' })
await rows(`update orders set created_at = '2026-02-01T18:00:00Z' where waybill_number = 'DM00000001'`)
await rows(`update orders set created_at = '2026-02-01T19:00:00Z' where waybill_number = 'DM00000002'`)

const bracketed = (query: string): string => query.replace(/(^|&)(\w+)=/g, '$1filter[$2]=')
type Row = Record<string, unknown>

t.test('every list of the catalogue filters by the fields of its rows, in either spelling', async t => {
  const table: [list: string, query: string, ids: unknown[]][] = [
    ['/business', 'id=7291', [7291]],
    ['/business', 'name=OUTLET', [7291]],
    ['/business', 'is_default=1', [7290]],
    ['/business', 'is_default=false', [7291]],
    ['/business', 'is_active=0', []],
    ['/business', 'ref_no=7290&name=shoes', [7290]],
    ['/state', 'id=2', [2]],
    ['/state', 'name=galle', [2, 4]],
    ['/state', 'name= galle  south ', [4]],
    ['/state', 'is_active=true', [1, 2, 3, 4]],
    ['/city', 'id=1500', [1500]],
    ['/city', 'state_id=2', [2100, 2101]],
    ['/city', 'state_name=GALLE', [2100, 2101, 4000]],
    ['/city', 'state_name=galle&name=kotte', [4000]],
    ['/city', 'postal_code=10350', [1501]],
    ['/city', 'zone=metro', [1500, 1501]],
    ['/city', 'country_id=1&id=1500', [1500]],
    ['/city', 'country_id=2', []],
    ['/city', 'ref_no=ct-1500', [1500]],
    ['/state', 'country_id=1&ref_no=ST-0002', [2]],
    ['/state', 'has_child=0', []],
    ['/business', 'business_name=outlet', [7291]],
    ['/order/status-list', 'is_merchant_status=0', []],
    ['/order/status-list', 'key=key_2', [2]],
    ['/order/status-list', 'name=rider assigned', [5]],
    ['/order/status-list', 'color=warning', [15, 16]],
  ]
  for (const [list, query, ids] of table)
    for (const spelling of [query, bracketed(query)])
      for (const page of ['', '&noPagination', '&per_page=50']) {
        const { status, body } = await get(`${list}?${spelling}${page}`)
        t.strictSame([status, body.data?.map((row: Row) => row.id)], [200, ids], `${list}?${spelling}${page}`)
      }
})

t.test('lists of orders filter by city, by day, and by the field names of their rows', async t => {
  const table: [query: string, numbers: number[]][] = [
    ['destination_city_id=2101', [2]],
    ['destination_city_id=2100&origin_city_id=1500', [1]],
    ['origin_city_id=2100', []],
    ['created_at=2026-02-01', [1]],
    ['created_at=2026-02-02', [2]],
    ['created_at=2026-02-01T18:00:00Z', [1]],
    ['status_key=key_2', [1]],
    ['customer_phone=%2B94 77 000 0102', [2]],
    ['merchant_business_id=7290&business_id=7290', [2, 1]],
    ['status=key_2&filter[status]=key_2', [1]],
  ]
  for (const [query, numbers] of table)
    for (const from of [get, staffGet])
      for (const spelling of query.includes('[') ? [query] : [query, bracketed(query)]) {
        const { status, body } = await from(`/order?${spelling}`)
        const found = body.data?.map((row: Row) => Number(String(row.waybill_number).slice(2)))
        t.strictSame([status, found], [200, numbers], spelling)
      }
})

t.test('refuses an unknown filter, and lists the known ones', async t => {
  const names: Record<string, string> = {
    '/business': 'id, ref_no, name, is_active, business_name, is_default',
    '/state': 'id, ref_no, name, is_active, country_id, has_child',
    '/city': 'id, ref_no, name, is_active, postal_code, state_id, state_name, country_id, zone_id, zone',
    '/order/status-list': 'id, key, name, color, is_merchant_status, is_finance_status',
    '/order':
      'status, status_key, created_at, created_from, start_date, created_to, end_date, waybill_number, order_no, phone, customer_phone, business_id, merchant_business_id, origin_city_id, destination_city_id, search',
  }
  for (const [list, filters] of Object.entries(names))
    for (const field of ['filter[colour]', 'filter[]', 'filter', 'filter[name][like]', 'filter[__proto__]']) {
      const { status, body } = await get(`${list}?noPagination&${field}=1`)
      const sentence = `There is no ${field}. The filters are ${filters}.`
      t.strictSame([status, body], [422, refusal({ [field]: [sentence] })], `${list} ${field}`)
    }
  const { body } = await get('/order?filter[merchant_id]=1&page=0')
  t.strictSame(Object.keys(body.errors).sort(), ['filter[merchant_id]', 'page'], 'all other errors are reported too')
})

t.test('refuses invalid filters instead of returning an empty list', async t => {
  const after = 'The created to field must be a date or time after or equal to created from.'
  const table: [query: string, field: string, sentence: string | RegExp][] = [
    ['status=nonsense', 'status', /^The selected status is invalid\. The statuses are key_1 DRAFT, key_2 CONFIRMED, /],
    ['filter[status]=DRAFT', 'filter[status]', /^The selected status is invalid/],
    ['status_key=key_22&noPagination', 'status_key', /^The selected status is invalid/],
    [
      'status=key_1&filter[status]=key_2',
      'filter[status]',
      'The filter[status] field must equal status: they are one filter.',
    ],
    ['phone=1&customer_phone=2', 'customer_phone', 'The customer_phone field must equal phone: they are one filter.'],
    ['created_from=2026-02-04&created_to=2026-02-03', 'created_to', after],
    ['created_from=2026-02-04&filter[created_to]=2026-02-03', 'filter[created_to]', after],
    ['created_from=2026-02-04T00:00:01Z&created_to=2026-02-04T00:00:00Z', 'created_to', after],
    ['created_from=2026-02-05&created_to=2026-02-03T00:00:00Z', 'created_to', after],
    ['created_from=2026-02-05T00:00:00Z&created_to=2026-02-02', 'created_to', after],
    ['customer_phone=abc', 'customer_phone', 'The customer phone field must be a phone number.'],
    ['destination_city_id=Galle', 'destination_city_id', 'The destination city id field must be an id.'],
    ['created_at=today', 'created_at', /^The created at field must be a date such as/],
  ]
  for (const [query, field, sentence] of table)
    for (const from of [get, staffGet]) {
      const { status, body } = await from(`/order?${query}`)
      t.match([status, body.errors], [422, { [field]: [sentence] }], query)
      t.equal(Object.keys(body.errors ?? {}).length, 1, query)
    }
  const { body } = await get('/business?is_default=perhaps')
  t.strictSame(body, refusal({ is_default: ['The is default field must be true or false.'] }))
})

t.test('refuses another spelling of a filter and names the right one, for staff and merchants alike', async t => {
  const table: [field: string, meant: string][] = [
    ...['status[]', 'filters[status]', 'Status', 'status[0]'].map((field): [string, string] => [field, 'status']),
    ['createdFrom', 'created_from'],
    ['per-page', 'per_page'],
  ]
  for (const [field, meant] of table)
    for (const from of [get, staffGet]) {
      const { status, body } = await from(`/order?${field}=key_1`)
      const sentence = `The ${field} field is not known. Did you mean ${meant}?`
      t.match([status, body.errors], [422, { [field]: [sentence] }], field)
    }
  t.match((await get('/city?Name=galle')).body.errors, { Name: [/Did you mean name/] })
})

t.test("other unknown fields are ignored in merchants' requests and refused in staff's", async t => {
  for (const path of ['/order?_=1700000000&foo=bar&stauts=key_2', '/city?_dc=1&noPagination', '/order/DM00000001?x=1'])
    t.equal((await get(path)).status, 200, path)
  const table: [path: string, field: string, sentence: string | RegExp][] = [
    ['/order?stauts=key_2', 'stauts', 'The stauts field is not known. Did you mean status?'],
    ['/order?Per_Page=5', 'Per_Page', 'The Per_Page field is not known. Did you mean per_page?'],
    ['/order?_=1', '_', /^The _ field is not known\. Known are page, per_page, noPagination, /],
    ['/order/DM00000001?page=1', 'page', 'The page field is not known.'],
    ['/order?filter[stauts]=1', 'filter[stauts]', /^There is no filter\[stauts\]\. The filters are status, /],
  ]
  for (const [path, field, sentence] of table) {
    const { status, body } = await staffGet(path)
    t.match([status, body.errors], [422, { [field]: [sentence] }], path)
  }
  const move = await request(
    'POST',
    '/api/staff/order/status?dry_run=1',
    { waybill_numbers: ['DM00000001'], status_key: 'key_5' },
    { token: staffToken },
  )
  t.match(move.body.errors, { dry_run: ['The dry_run field is not known.'] })
  const long = await staffGet(
    `/order?${'x'.repeat(5_000)}=1&${Array.from({ length: 1_500 }, (_, n) => `f${n}`).join('&')}`,
  )
  t.equal(long.status, 422)
  t.equal(Object.keys(long.body.errors).length, 20)
  t.ok(Object.keys(long.body.errors).every(field => field.length <= 100))
})

t.test('a business that moved to another merchant keeps the orders of both', async t => {
  const moved = tenantFile()
  for (const merchant of moved.merchants) merchant.rate_card = 'standard'
  const [shoes, books] = moved.merchants
  books?.businesses.push({ ...shoes?.businesses.shift(), default: false } as (typeof books.businesses)[number])
  const { kind } = await apply(moved)
  t.equal(kind, 'applied')
  t.equal((await bulk(batch(), { token: booksToken })).status, 200)
  const listed = async (from = get, query = '', options = {}) => {
    const { body } = await from(`/order?business_id=7290${query}`, options)
    return body.data.map((row: Row) => row.waybill_number)
  }
  t.strictSame(await listed(), ['DM00000002', 'DM00000001'])
  t.strictSame(await listed(get, '', { token: booksToken }), ['DM00000003'])
  const [{ merchant_id }] = await rows(`select merchant_id from orders where waybill_number = 'DM00000001'`)
  t.strictSame(await listed(staffGet, `&merchant_id=${merchant_id}`), ['DM00000002', 'DM00000001'])
})
