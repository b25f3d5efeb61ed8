import t from 'tap'
import { ordersFixture } from './test/orders-fixture.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const file = tenantFile()
const [colombo, galle] = file.states
colombo?.cities.push({ id: 1502, name: 'Kandana' }, { id: 1503, name: 'Maradana', aliases: ['Town'] })
galle?.cities.push({ id: 2102, name: 'Kandana' }, { id: 2103, name: 'Town' })
const { bulk, get, request, rows, apply, make, staffToken, booksToken } = await ordersFixture(t, { file })
const withoutIds = { destination_city_id: undefined, destination_state_name: undefined }
const bookTo = (destination_city_name: string, more = {}) =>
  bulk(batch([order({ ...withoutIds, destination_city_name, ...more })]))

t.test('a city name without a state books where one city has it as its name or alias', async t => {
  for (const [name, id] of [
    ['Hikkaduwa', 2101],
    [' maradana ', 1503],
  ] as const) {
    const { status, body } = await bookTo(name)
    t.equal(status, 200, JSON.stringify(body))
    const [row] = await rows('select destination_city_id from orders where waybill_number = $1', [body.data[0]])
    t.equal(row.destination_city_id, id, name)
  }
  t.equal((await bookTo('Hikkaduwa', { destination_state_name: '' })).status, 200, 'programs send an empty state')
  const origin = { origin_city_id: null, origin_city_name: 'Dehiwala' }
  t.equal((await bulk(batch([order()], origin))).status, 200)
})

t.test('a name of several cities, or of none, wants the state and lists the places', async t => {
  const required = 'The destination state name field is required when destination city id is not present.'
  const path = 'order_data.0.destination_state_name'
  const { status, body } = await bookTo('KANDANA')
  t.equal(status, 422)
  t.strictSame(body.errors, { [path]: [`${required} It may be Kandana in Colombo, or Kandana in Galle.`] })
  t.strictSame(body.suggestions, {
    [path]: [
      { id: 1502, name: 'Kandana', state: 'Colombo' },
      { id: 2102, name: 'Kandana', state: 'Galle' },
    ],
  })
  t.match((await bookTo('Town')).body.errors, { [path]: [/Town in Galle, or Maradana in Colombo/] }, 'an alias counts')
  const unknown = await bookTo('Atlantis')
  t.strictSame(unknown.body.errors, {
    [path]: [required],
    'order_data.0.destination_city_name': ['The selected destination city name is invalid.'],
  })
  t.equal((await bookTo('Kandana', { destination_state_name: 'Galle' })).status, 200)
  const wrong = await bookTo('Hikkaduwa', { destination_state_name: 'Colombo' })
  t.equal(wrong.status, 422, 'a wrong state is not overruled')
})

t.test(
  '300 requests at once with a merchant’s token count against the merchant, others against the address',
  async t => {
    const limited = await ordersFixture(t, { publicRequestsPerMinute: 60, requestsPerMinute: 400 })
    const [waybill] = await limited.make(['DM00000001'])
    const url = '/api/public/order/tracking-info'
    const track = async (count: number, token: string) => {
      const all = Array.from({ length: count }, () =>
        limited.request('POST', url, { waybill_number: waybill }, { token }),
      )
      return Map.groupBy(await Promise.all(all), ({ status }) => status)
    }
    const tracked = await track(300, limited.token)
    t.equal(tracked.get(200)?.length, 300)
    t.match(tracked.get(200)?.[0]?.headers['ratelimit-policy'], /^"merchant";q=400;/)
    const strangers = await track(70, '')
    t.strictSame([strangers.get(200)?.length, strangers.get(429)?.length], [60, 10])
    t.strictSame((await track(20, 'courier_wrong')).get(429)?.length, 20, 'a wrong token counts against the address')
    t.strictSame((await track(5, limited.staffToken)).get(429)?.length, 5, 'so does one of staff')
    t.equal((await track(100, limited.token)).get(200)?.length, 100, 'the spent address keeps no merchant out')
    t.equal((await track(1, limited.token)).get(429)?.length, 1)
  },
)

t.test('lists of orders read start_date and end_date', async t => {
  const [old, today] = await make(['DM00000101', 'DM00000102'])
  await rows(`update orders set created_at = '2026-02-03T12:00:00Z' where waybill_number = $1`, [old])
  const list = async (query: string) =>
    (await get(`/order?noPagination=1&${query}`)).body.data.map((row: { waybill_number: string }) => row.waybill_number)
  t.strictSame(await list('start_date=2026-02-03&end_date=2026-02-03'), [old])
  t.strictSame(await list('filter[end_date]=2026-02-04'), [old])
  t.ok((await list('start_date=2026-02-04')).includes(today))
  t.notOk((await list('start_date=2026-02-04')).includes(old))
  const { body } = await get('/order?start_date=2026-02-04&end_date=2026-02-03')
  t.match(body.errors.end_date, [/^The created to field must be a date or time after or equal to created from/])
  t.match((await get('/order?start_date=last week')).body.errors, { start_date: [/must be a date such as/] })
})

t.test('the status list has the fields of the family; staff see the moves that staff may make', async t => {
  const { data } = (await get('/order/status-list')).body
  const keysOf = (field: string, value: unknown) =>
    data.filter((row: Record<string, unknown>) => row[field] === value).map(({ key }: { key: string }) => key)
  t.strictSame(keysOf('is_finance_status', 1), ['key_7', 'key_13', 'key_14', 'key_20', 'key_21'])
  t.strictSame(keysOf('is_reversal_status', false), ['key_1'])
  t.strictSame(keysOf('is_branch_status', false), ['key_1', 'key_2'])
  const staff = await request('GET', '/api/staff/status', undefined, { token: staffToken })
  for (const { key, after_statuses } of staff.body.data) {
    await rows('update orders set status_key = $1 where waybill_number = $2', [key, 'DM00000102'])
    const { body } = await request('GET', '/api/staff/order/DM00000102', undefined, { token: staffToken })
    t.strictSame(
      after_statuses,
      body.data.moves.map((move: { status_key: string }) => move.status_key),
      key,
    )
  }
  await apply({ ...file, statuses: [{ key: 'key_13', name: 'Handed over' }] })
  const renamed = (await get('/order/status-list?filter[key]=key_13')).body.data[0]
  t.match(renamed, { name: 'Handed over', original_name: 'DELIVERED', is_core_status: true })
})

t.test('the finance status names its waybill; a login names the only business', async t => {
  const finance = await get('/order/waybill-finance-status?waybill_number=DM00000102')
  t.equal(finance.body.data.waybill_number, 'DM00000102')
  const logIn = async (email: string, password: string) =>
    (await request('POST', '/api/public/merchant/login', { email, password }, { token: '' })).body.user.business_id
  t.equal(await logIn('books@example.com', 'ceylon-books-demo'), 7300)
  t.equal(await logIn('shop@example.com', 'lanka-shoes-demo'), null, 'a merchant of two chooses')
  t.equal((await get('/user/get-current', { token: booksToken })).body.data.business_id, 7300)
})
