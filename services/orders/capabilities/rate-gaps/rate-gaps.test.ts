import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { createOrdersHousekeeping } from '../../housekeeping.ts'
import { allCapabilities } from '../../test/build.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { createRateGaps } from './recorder.ts'

const file = tenantFile()
const { bulk, request, staffGet, rows, pool, apply, makeOfBooks, booksToken, app } = await ordersFixture(t, { file })

const toJaffna = (more = {}) => order({ destination_city_id: 3000, ...more })
let asked = 0
/** Requests another number of days each time: equal reports are shared for some seconds. */
const gaps = async (days = 31 + asked++) => (await staffGet(`/rate-gaps?days=${days}`)).body.data
const jaffna = { id: 3000, name: 'Jaffna', state: 'Jaffna' }
const kotte = { id: 1500, name: 'Kotte', state: 'Colombo' }

t.test('counts refused batches, dry runs and quotes, but not booked orders', async t => {
  t.strictSame(await gaps(), [])
  t.equal((await bulk(batch([order({}), toJaffna(), toJaffna()]))).status, 422)
  t.equal((await bulk(batch([toJaffna()]), { query: '?dry_run=true' })).status, 422)
  t.equal((await bulk(batch([toJaffna(), order({ customer_name: 7 })]))).status, 422)
  const quote = { general_data: { origin_city_id: 1500 }, order_data: [{ destination_city_id: 3000, weight: 1 }] }
  t.equal((await request('POST', '/api/public/merchant/order/quote', quote)).status, 422)
  t.equal((await bulk(batch([order({})]))).status, 200)
  const [gap, ...others] = await gaps()
  t.strictSame(others, [])
  t.match(gap, { origin: kotte, destination: jaffna, asked_for: 5, orders: 0, more_merchants: 0 })
  t.match(gap.merchants, [{ name: 'Lanka Shoes', rate_card: 'standard' }])
})

t.test('lists combinations that lack a rate now, summed over merchants, most requested first', async t => {
  t.equal(
    (await bulk(batch(Array(7).fill(toJaffna()), { merchant_business_id: 7300 }), { token: booksToken })).status,
    422,
  )
  const fromGalle = batch([order({})], { origin_city_id: 2100 })
  t.equal((await bulk(fromGalle)).status, 422)
  const found = await gaps()
  t.match(found, [
    { destination: jaffna, asked_for: 12, merchants: [{ name: 'Ceylon Books' }, { name: 'Lanka Shoes' }] },
    { origin: { name: 'Galle' }, asked_for: 1 },
  ])
  t.strictSame((await staffGet('/rate-gaps?limit=1')).body.data, found.slice(0, 1))
  const [card] = file.rate_cards
  card?.rates.push({ from: 'metro', to: 'north', first_kg: 600, each_extra_kg: 100 })
  await apply(file)
  t.match(await gaps(), [{ origin: { name: 'Galle' } }])
})

t.test('counts orders of combinations that lost their rate, and leaves out old days', async t => {
  await makeOfBooks(['DM00000071', 'DM00000072'], { destination_city_id: 3000 })
  file.rate_cards[0]?.rates.pop()
  await apply(file)
  t.match((await gaps())[0], { destination: jaffna, asked_for: 12, orders: 2 })
  await rows(`update rate_gaps set day = day - 80`)
  t.match(await gaps(), [{ destination: jaffna, asked_for: 0, orders: 2 }])
  t.match((await gaps(90))[0], { asked_for: 12 })
  await rows(`update rate_gaps set day = day - 20`)
  await createOrdersHousekeeping(pool, pino({ level: 'silent' }), allCapabilities).clean()
  t.strictSame(await rows('select 1 from rate_gaps'), [])
})

t.test('the period begins at midnight; deactivated merchants and cities are left out', async t => {
  await rows(`update orders set created_at = (now() at time zone 'Asia/Colombo')::date::timestamp at time zone
    'Asia/Colombo'
    - interval '1 ms' where waybill_number = 'DM00000071'`)
  t.match(await gaps(1), [{ destination: jaffna, orders: 1 }])
  t.match(await gaps(2), [{ destination: jaffna, orders: 2 }])
  const [, books] = file.merchants
  if (books) books.active = false
  await apply(file)
  t.strictSame(await gaps(), [])
  if (books) books.active = true
  file.states.pop()
  const [card] = file.rate_cards
  if (card) Object.assign(card, { zones: { metro: [1500, 1501], outstation: '*' }, rates: card.rates.slice(0, 1) })
  await apply(file)
  t.match(await gaps(), [{ destination: { name: 'Galle' }, orders: 1 }], 'Jaffna is left out')
})

const city = (id: number) => ({ id, name: '', postalCode: null, state: { id: 1, name: '' } })

t.test('tries one tenant while the database is unavailable, however many tenants have counts', async t => {
  let tries = 0
  const unavailable = new Proxy(pool, {
    get: (target, name) =>
      name === 'connect'
        ? () => Promise.reject(Object.assign(new Error('unavailable'), { code: 'ECONNREFUSED', tries: tries++ }))
        : Reflect.get(target, name),
  })
  const recorder = createRateGaps(unavailable, pino({ level: 'silent' }))
  for (const tenant of ['demo', 'other', 'third'])
    recorder.record({ tenant, merchantId: '1' }, [{ origin: city(1500), destination: city(3000), parcels: 1 }])
  await Promise.all([recorder.flush(), recorder.flush(), recorder.flush()])
  t.equal(tries, 1)
  await recorder.close()
  t.equal(tries, 2)
})

t.test('memory is bounded, counts survive an unavailable database, and closing stores them', async t => {
  let isUnavailable = true
  const flaky = new Proxy(pool, {
    get: (target, name) =>
      name === 'connect' && isUnavailable ? () => Promise.reject(new Error('unavailable')) : Reflect.get(target, name),
  })
  const recorder = createRateGaps(flaky, pino({ level: 'silent' }))
  const merchant = { tenant: 'demo', merchantId: '1' }
  for (let id = 1; id <= 10_050; id++)
    recorder.record(merchant, [{ origin: city(1500), destination: city(id), parcels: 2 }])
  await recorder.flush()
  recorder.record(merchant, [{ origin: city(1500), destination: city(1), parcels: 3 }])
  isUnavailable = false
  await recorder.close()
  const [stored] = await rows('select count(*)::int, sum(asked_for)::int from rate_gaps')
  t.strictSame(stored, { count: 10_000, sum: 20_003 })
  const late = createRateGaps(pool, pino({ level: 'silent' }))
  late.record(merchant, [{ origin: city(1500), destination: city(20_000), parcels: 1 }])
  late.record(merchant, [{ origin: city(1500), destination: city(1), parcels: 7 }])
  await late.close()
  t.strictSame(
    await rows('select 1 from rate_gaps where destination_city_id = 20000'),
    [],
    'a merchant at its limit adds no combination',
  )
  t.strictSame(await rows('select asked_for::int from rate_gaps where destination_city_id = 1'), [{ asked_for: 12 }])
  t.equal((await inTenant(pool, 'other', (tx: Tx) => tx.client.query('select from rate_gaps'))).rowCount, 0)
  await rows('delete from rate_gaps')
  await bulk(batch())
  await app.close()
  t.equal((await rows('select 1 from rate_gaps')).length, 1)
})
