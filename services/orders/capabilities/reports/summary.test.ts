import t from 'tap'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'

const { make, makeOfBooks, cancel, moveAlong, get, rows, booksToken } = await tenantFixture(t)

const summary = async (query = '', options = {}) => (await get(`/order/summary${query}`, options)).body
/** Makes orders with `time` as their time of creation. */
const createAt = async (time: string, waybills: string[], fields: Record<string, unknown> = {}): Promise<void> => {
  await make(waybills, fields)
  await rows('update orders set created_at = $1 where waybill_number = any($2)', [time, waybills])
}
const toRider = [5, 6, 8, 9, 10, 11, 12]
const confirmed = { initial_status_key: 'key_2' }

t.test('sums up the outcomes of the orders of a period', async t => {
  await createAt('2026-03-01T00:00:00Z', ['DM00000001', 'DM00000002', 'DM00000003', 'DM00000004'], confirmed)
  await createAt('2026-03-01T00:00:00Z', ['DM00000005', 'DM00000006'], { cod: 100 })
  await moveAlong('DM00000001', [...toRider, 13])
  await moveAlong('DM00000002', [...toRider, 15, 16, 12, 13])
  await moveAlong('DM00000003', [...toRider, 15, 17, 18])
  await moveAlong('DM00000004', toRider)
  await cancel(['DM00000005'])
  const { data } = await summary('?from=2026-03-01&to=2026-03-02')
  t.strictSame(data, {
    ...{ from: '2026-03-01', to: '2026-03-02', time_zone: 'Asia/Colombo', currency: 'LKR' },
    total: {
      ...{ orders: 6, waiting: 1, under_way: 1, delivered: 2, returned: 1, cancelled: 1 },
      ...{ cod_total: 18_200, cod_delivered: 9000, cod_outstanding: 4600 },
      ...{ delivered_first_attempt: 1, first_attempt_share: 0.5 },
    },
    groups: [],
    others: null,
  })
})

t.test("days begin and end in the tenant's time zone, and days without orders are listed", async t => {
  // Colombo is 5:30 ahead of UTC.
  await createAt('2026-04-01T18:29:59.999Z', ['DM00000011'])
  await createAt('2026-04-01T18:30:00Z', ['DM00000012'])
  await createAt('2026-04-03T18:29:59.999Z', ['DM00000013'])
  await createAt('2026-04-03T18:30:00Z', ['DM00000014'])
  const { data } = await summary('?from=2026-04-01&to=2026-04-03&group=day')
  t.strictSame(
    data.groups.map(({ key, name, orders }: Record<string, unknown>) => [key, name, orders]),
    [
      ['2026-04-01', '2026-04-01', 1],
      ['2026-04-02', '2026-04-02', 1],
      ['2026-04-03', '2026-04-03', 1],
    ],
  )
  t.equal(data.total.orders, 3)
  t.equal(data.total.first_attempt_share, null)
  const [first, second] = (await summary('?filter[from]=2026-04-04&to=2026-04-05&group=DAY')).data.groups
  t.strictSame([first.orders, second.orders], [1, 0])
})

t.test('groups by status and by city, largest first, and sums the cities beyond a hundred', async t => {
  const period = '?from=2026-03-01&to=2026-03-01'
  const byStatus = (await summary(`${period}&group=status`)).data.groups
  t.equal(byStatus.length, 21)
  t.match(byStatus[12], { key: 'key_13', name: 'DELIVERED', orders: 2, cod_delivered: 9000 })
  t.match(byStatus[0], { key: 'key_1', orders: 1, cod_outstanding: 100 })
  await createAt('2026-05-01T00:00:00Z', ['DM00000021', 'DM00000022'], { destination_city_id: 1501 })
  await createAt('2026-05-01T00:00:00Z', ['DM00000023'])
  const cities = (await summary('?from=2026-05-01&to=2026-05-01&group=city')).data
  t.strictSame(
    cities.groups.map(({ key, name, orders }: Record<string, unknown>) => [key, name, orders]),
    [
      ['1501', 'Dehiwala', 2],
      ['2100', 'Galle', 1],
    ],
  )
  t.equal(cities.others, null)
  const waybills = Array.from({ length: 103 }, (_, n) => `DM${10_000_000 + n}`)
  await createAt('2026-05-02T00:00:00Z', waybills)
  await rows(
    `update orders set destination_city_id = right(waybill_number, 7)::integer where waybill_number = any($1)`,
    [waybills],
  )
  const beyond = (await summary('?from=2026-05-02&to=2026-05-02&group=city')).data
  t.equal(beyond.groups.length, 100)
  t.match(beyond.others, { groups: 3, orders: 3 })
})

t.test("another merchant's orders and other businesses do not count", async t => {
  await createAt('2026-06-01T00:00:00Z', ['DM00000031'])
  await makeOfBooks(['DM00000032', 'DM00000033'])
  await rows(
    `update orders set created_at = '2026-06-01T00:00:00Z' where waybill_number in ('DM00000032', 'DM00000033')`,
  )
  await rows(`update orders set business_id = 7291 where waybill_number = 'DM00000031'`)
  const day = '?from=2026-06-01&to=2026-06-01'
  const counts = async (query: string, options = {}) => (await summary(day + query, options)).data.total.orders
  t.equal(await counts(''), 1)
  t.equal(await counts('', { token: booksToken }), 2)
  t.equal(await counts('&business_id=7291'), 1)
  t.equal(await counts('&merchant_business_id=7290'), 0)
  t.equal(await counts('&business_id=7300'), 0)
})

t.test('without dates, covers the last thirty days; refuses an invalid period', async t => {
  await make(['DM00000041'])
  const { data } = await summary('?group=day')
  t.equal(data.groups.length, 30)
  t.equal(data.groups[29].orders, 1)
  t.equal(data.groups[29].key, data.to)
  const { data: leap } = await summary('?from=2024-01-01&to=2024-12-31&group=day')
  t.equal(leap.groups.length, 366)
  const wrong = {
    '?from=2024-01-01&to=2025-01-01': { from: ['The period must have 366 days at most.'] },
    '?from=2026-03-02&to=2026-03-01': { to: ['The to field must be a date after or equal to from.'] },
    '?from=2999-01-01': { from: ['The from field must be no date after today.'] },
    '?to=2026-02-30': { to: ['The to field must be a date such as 2026-02-19.'] },
    '?from=2026-02-19T08:00:00Z': { from: ['The from field must be a date such as 2026-02-19.'] },
    '?group=hour': { group: ['The group field must be one of day, status, city.'] },
  }
  for (const [query, errors] of Object.entries(wrong)) t.strictSame(await summary(query), refusal(errors), query)
})

t.test("a merchant's summaries are computed one at a time, and at most ten wait", async t => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => get('/order/summary')))
  const refused = responses.filter(({ status }) => status === 503)
  t.ok(refused.length > 0 && refused.length <= 9)
  t.ok(refused.every(({ headers }) => headers['retry-after']))
  t.equal(responses.filter(({ status }) => status === 200).length, 20 - refused.length)
})
