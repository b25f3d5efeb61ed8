import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { ordersFixture, refusal } from '../../test/orders-fixture.ts'
import { createToday } from './today.ts'

const fixture = await ordersFixture(t)
const { make, makeOfBooks, move, moveAlong, rows, pool, staffGet, staffOf, get, apply, ordersOptions } = fixture

const confirmed = { initial_status_key: 'key_2' }
const toRider = [5, 6, 8, 9, 10, 11, 12]

t.test(
  'counts orders created, failed and delivered today and on the days before, in the time zone of the tenant',
  async t => {
    await make(['DM00000001', 'DM00000002', 'DM00000003', 'DM00000004'], confirmed)
    await makeOfBooks(['DM00000005'])
    await moveAlong(['DM00000001', 'DM00000002'], [...toRider])
    await moveAlong(['DM00000001'], [15, 17, 16, 12, 15, 16, 12, 13])
    await moveAlong(['DM00000002'], [13])
    // A tenant's own set of statuses may allow these moves.
    await rows(
      `insert into order_events (tenant_id, waybill_number, status_key)
        values ('demo', 'DM00000001', 'key_12'), ('demo', 'DM00000001', 'key_14')`,
    )
    await moveAlong(['DM00000003'], [5])
    const { rows: clock } = await pool.query(`select (now() at time zone 'Asia/Colombo')::date::text as today`)
    const { today } = clock[0]
    const midnight = `$1::date::timestamp at time zone 'Asia/Colombo'`
    await rows(
      `update orders set created_at = ${midnight} - interval '1 ms' where waybill_number = 'DM00000004'`.replace(
        '$1',
        `'${today}'`,
      ),
    )
    await rows(
      `update order_events set happened_at = ${midnight} - interval '29 days' where waybill_number = 'DM00000002'
        and status_key = 'key_13'`.replace('$1', `'${today}'`),
    )
    const { status, body } = await staffGet('/today')
    t.equal(status, 200)
    const { days, ...now } = body.data
    t.strictSame(now, { date: today, time_zone: 'Asia/Colombo', new: 4, moving: 1, failed: 2, delivered: 1 })
    t.equal(days.length, 30)
    t.strictSame(days[29], { date: today, created: 4, delivered: 1, failed: 2 })
    t.match(days[28], { created: 1, delivered: 0, failed: 0 })
    t.match(days[0], { created: 0, delivered: 1, failed: 0 })
  },
)

t.test('the orders of each metric can be listed', async t => {
  const listed = async (query: string) =>
    (await staffGet(`/order?${query}`)).body.data.map((row: { waybill_number: string }) => row.waybill_number).sort()
  const { date } = (await staffGet('/today')).body.data
  t.strictSame(await listed(`created_at=${date}`), ['DM00000001', 'DM00000002', 'DM00000003', 'DM00000005'])
  t.strictSame(await listed('status_class=under_way'), ['DM00000003'])
  t.strictSame(await listed(`delivered_on=${date}`), ['DM00000001'])
  t.strictSame(await listed(`delivered_on=${date}&merchant_id=999`), [])
  t.strictSame(await listed(`failed_on=${date}`), ['DM00000001'], 'a parcel with two failed attempts is listed once')
  t.strictSame(await listed('filter[failed_on]=2026-01-01'), [])
  const first = (await staffGet(`/order?status_class=delivered&per_page=1`)).body
  t.strictSame([first.data.length, first.meta.total], [1, 2])
  const next = (await staffGet(`/order?status_class=delivered&per_page=1&cursor=${first.meta.next_cursor}`)).body
  t.strictSame([next.data.length, next.meta.next_cursor], [1, null])
  t.strictSame((await staffGet('/order?delivered_on=2026-02-30&status_class=lost')).body.errors, {
    status_class: ['The status class field must be one of waiting, under_way, delivered, returned, cancelled.'],
    delivered_on: ['The delivered on field must be a date such as 2026-02-19.'],
  })
  t.strictSame((await get('/order?filter[failed_on]=2026-01-01')).status, 422, 'a merchant has no such filter')
})

t.test('the metrics are cached for some seconds, per tenant', async t => {
  await make(['DM00000011'])
  t.equal((await staffGet('/today')).body.data.new, 4)
  t.equal((await createToday(pool)('demo')).new, 5)
  await apply({ tenant: { ...writeSettings('other') }, states: [], rate_cards: [], merchants: [] })
  const token = await staffOf('Ruwan', 'other')
  const { data } = (await staffGet('/today', { token, tenant: 'other' })).body
  t.match(data, { new: 0, moving: 0, failed: 0, delivered: 0, time_zone: 'UTC' })
  t.ok(ordersOptions.pool === pool)
})

const writeSettings = (id: string) => ({
  ...{ id, name: 'Other Couriers', currency: 'USD', country: 'LK', time_zone: 'UTC', secondary_phone: true },
  waybills: { mode: 'auto' as const, format: 'OT########' },
})

t.test('counts days again when the time zone of the tenant changes', async t => {
  const find = createToday(pool, 1)
  const [{ date, before }] = await rows(`
    select (day - 3)::text as date, (day - 4)::text as before
      from (select (now() at time zone 'Asia/Colombo')::date as day) today`)
  await rows(
    `update orders set created_at = '${date} 01:00'::timestamp at time zone 'Asia/Colombo'
      where waybill_number = 'DM00000004'`,
  )
  const createdOn = async (date: string) => (await find('demo')).days.find(day => day.date === date)?.created
  t.strictSame([await createdOn(date), await createdOn(before)], [1, 0])
  await rows(`update tenants set time_zone = 'America/Los_Angeles' where tenant_id = 'demo'`)
  await setTimeout(20)
  t.strictSame([await createdOn(date), await createdOn(before)], [0, 1])
  await rows(`update tenants set time_zone = 'Asia/Colombo' where tenant_id = 'demo'`)
})

t.test('does not count a day again when a later one fails', async t => {
  let counted = 0
  let isDown = true
  const flaky = new Proxy(pool, {
    get: (target, name) => {
      if (name !== 'connect') return Reflect.get(target, name)
      return async () => {
        const client = await target.connect()
        return new Proxy(client, {
          get: (connected, key) => {
            const member = Reflect.get(connected, key)
            if (key !== 'query') return typeof member === 'function' ? member.bind(connected) : member
            return (query: { name?: string }, ...rest: []) => {
              if (query.name === 'count_day' && ++counted > 20 && isDown) return Promise.reject(new Error('down'))
              return connected.query(query as never, ...rest)
            }
          },
        })
      }
    },
  })
  const find = createToday(flaky)
  await t.rejects(find('demo'))
  counted = 0
  isDown = false
  t.equal((await find('demo')).days.length, 30)
  t.equal(counted, 10)
})

t.test('staff list the merchants, by part of the name and page by page', async t => {
  const { body } = await staffGet('/merchant')
  t.equal(body.next_cursor, null)
  t.match(body.data, [
    {
      ...{ name: 'Lanka Shoes', email: 'shop@example.com', rate_card: 'standard', is_active: true, recent_orders: 5 },
      businesses: [
        { id: 7290, name: 'Lanka Shoes Online', is_default: true, is_active: true },
        { id: 7291, name: 'Lanka Shoes Outlet', is_default: false, is_active: true },
      ],
    },
    { name: 'Ceylon Books', recent_orders: 1 },
  ])
  t.notOk('password_hash' in body.data[0])
  const first = (await staffGet('/merchant?limit=1')).body
  const second = (await staffGet(`/merchant?limit=1&cursor=${first.next_cursor}`)).body
  t.strictSame([...first.data, ...second.data], body.data)
  t.equal(second.next_cursor, null)
  const listNames = async (query: string) =>
    (await staffGet(`/merchant?${query}`)).body.data.map(({ name }: { name: string }) => name)
  t.strictSame(await listNames('name=BOOK'), ['Ceylon Books'])
  t.strictSame(await listNames(`id=${body.data[1].id}`), ['Ceylon Books'])
  t.strictSame(await listNames('filter[name]=%25'), [], 'a percent sign is not a wildcard')
  t.strictSame(
    (await staffGet('/merchant?limit=0')).body,
    refusal({ limit: ['The limit field must be a whole number, 1 to 200.'] }),
  )
})

t.test('staff read the set of statuses as merchants do, and where an order may go next', async t => {
  const leaveMoves = ({ before_statuses, after_statuses, ...row }: Record<string, unknown>) => row
  const forMerchants = (await get('/order/status-list')).body.data
  t.strictSame((await staffGet('/status')).body.data.map(leaveMoves), forMerchants.map(leaveMoves))
  const { data } = (await staffGet('/order/DM00000003')).body
  t.strictSame(data.moves, [{ status_key: 'key_6', name: 'PICKED UP', color: 'info', books: 'nothing' }])
  t.strictSame((await staffGet('/order/DM00000001')).body.data.moves, [])
  const editable = ['DM00000004', 'DM00000003', 'DM00000001'].map(each => staffGet(`/order/${each}`))
  t.strictSame(
    (await Promise.all(editable)).map(({ body }) => body.data.editable),
    ['all', 'all', 'none'],
  )
  await move(['DM00000003'], 'key_6')
  t.equal((await staffGet('/order/DM00000003')).body.data.editable, 'customer')
  t.notOk('moves' in (await get('/order/DM00000003')).body.data)
})

t.test('staff read the cities as merchants do, without the zones of a rate card', async t => {
  const { data } = (await get('/city?name=kotte')).body
  t.strictSame((await staffGet('/city?name=kotte')).body.data, [{ ...data[0], zone_id: null, zone: null }])
  t.equal((await staffGet('/city')).body.data.length, (await get('/city')).body.data.length)
})
