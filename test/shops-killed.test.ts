import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { wooOrder } from '../services/orders/test/shops-fixture.ts'
import { createChance } from './chance.ts'
import { waitUntil } from './courier.ts'
import { prepareOrders } from './orders-process.ts'

const secret = 'a-secret-of-a-shop'
const keys = { WEBHOOK_KEYS: `test:${Buffer.alloc(32, 5).toString('base64')}` }
const { pool, orders, start } = await prepareOrders(t, keys)
const chance = createChance(61)
/** `SHOP_ORDERS=10000` in the environment makes a longer run. */
const count = Number(process.env.SHOP_ORDERS ?? 800)
t.setTimeout(count * 300)

/** Lists the deliveries of a shop: most orders change once or twice, one in twenty ends as cancelled. */
const listDeliveries = () =>
  Array.from({ length: count }, (_, index) => {
    const id = index + 1
    const billing = { ...wooOrder(id).billing, phone: `07${10_000_000 + id}` }
    const versions = 1 + Math.floor(chance() * 3)
    return Array.from({ length: versions }, (_, version) => {
      const isLast = version === versions - 1
      const status = isLast && id % 20 === 0 ? 'cancelled' : 'processing'
      const date_modified_gmt = `2026-11-28T09:00:0${version}`
      // One order in ten is asked about: its payment is unclear.
      const payment_method = id % 10 === 1 ? 'cheque' : 'cod'
      const order = wooOrder(id, { billing, status, date_modified_gmt, payment_method })
      return { key: `${id}.${version}`, payload: JSON.stringify(order), at: chance() * 3 + version + index / 20 }
    })
  })
    .flat()
    .sort((one, two) => one.at - two.at)

t.test(`${count} orders, repeated and reordered while the service is killed, are booked once or wait`, async t => {
  await start()
  const { token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const call = async (path: string, body: object) => {
    const options = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${orders.url}/api/public/merchant${path}`, options)
    return (await response.json()) as { data: { id: string; url: string } }
  }
  const asked = { kind: 'woocommerce', name: 'Shoes', merchant_business_id: 7290, origin_city_id: 1500, weight: 1 }
  const { data: shop } = await call('/shop', { ...asked, auto_book: 'key_2' })
  await call(`/shop/${shop.id}/secret`, { secret })
  const address = `${orders.url}${new URL(shop.url, orders.url).pathname}`
  const send = async ({ key, payload }: { key: string; payload: string }) => {
    const signature = createHmac('sha256', secret).update(payload).digest('base64')
    const signed = { 'x-wc-webhook-signature': signature, 'x-wc-webhook-delivery-id': key }
    const response = await fetch(address, { method: 'POST', headers: signed, body: payload }).catch(() => undefined)
    await response?.arrayBuffer().catch(() => undefined)
    return response?.status === 200
  }
  const queue = listDeliveries()
  const total = queue.length
  const began = performance.now()
  const patience = count / 15
  let [sent, repeats, isOver] = [0, 0, false]
  const deliver = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      // A shop repeats what got no response; now and then the response is lost on its way.
      while (!(await send(next)) || chance() < 0.05) {
        repeats++
        await delay(50)
      }
      sent++
    }
  }
  const kill = async () => {
    for (const share of [0.3, 0.6, 0.9]) {
      await waitUntil(
        'deliveries',
        async () => sent,
        is => is > share * total || isOver,
        patience,
      )
      await orders.stop('SIGKILL')
      await start()
    }
  }
  const killing = kill()
  await Promise.all(Array.from({ length: 8 }, deliver))
  isOver = true
  await killing
  // Bookings of killed processes are continued once they are old.
  await pool.query(`update shop_bookings set started_at = now() - interval '1 minute'`)
  const looked = `select count(*)::int from shop_orders where is_new and state = 'waiting' or state = 'booking'`
  await waitUntil(
    'every order',
    async () => (await pool.query(looked)).rows[0].count,
    left => left === 0,
    patience,
  )
  t.comment(`${total} deliveries, ${repeats} repeated, in ${Math.round((performance.now() - began) / 1000)} s`)

  const { rows } = await pool.query(`select order_id::int as id, state, waybill_number, said->>'stays' as stays
    from shop_orders order by order_id::int`)
  t.equal(rows.length, count, 'no order is lost')
  t.ok(repeats > total / 40, `${repeats} repeats of ${total} deliveries`)
  const unclear = rows.filter(({ id, state }) => id % 10 === 1 && state !== 'waiting' && state !== 'stays')
  t.strictSame(unclear, [], 'an unclear payment waits')
  const plain = rows.filter(
    ({ id, state }) => id % 10 !== 1 && state !== 'booked' && !(id % 20 === 0 && state === 'stays'),
  )
  t.strictSame(plain, [], 'an order without a doubt is booked, or was cancelled before')
  const made = (await pool.query('select waybill_number, order_no::int as id, cod, status_key from orders')).rows
  const booked = rows.filter(({ state }) => state === 'booked')
  t.strictSame(
    made.map(({ id }) => id).sort((one, two) => one - two),
    booked.map(({ id }) => id),
    'each order has one parcel',
  )
  const waybills = new Map(made.map(({ id, waybill_number }) => [id, waybill_number]))
  t.ok(booked.every(({ id, waybill_number }) => waybills.get(id) === waybill_number))
  t.ok(made.every(({ cod, status_key }) => cod === 4500 && status_key === 'key_2'))
  const { rows: lost } = await pool.query(`select order_id from shop_orders
    where state = 'booked' and order_id::int % 20 = 0 and not is_changed`)
  t.strictSame(lost, [], 'a cancellation after the booking is shown')
})
