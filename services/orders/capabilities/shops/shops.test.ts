import t from 'tap'
import { shopifyOrder, shopsFixture, wooOrder } from '../../test/shops-fixture.ts'

const { connect, list, call, book, rows, app, waitUntilLooked, createToken } = await shopsFixture(t)
const orders = async (): Promise<{ order_no: string; cod: number }[]> =>
  rows('select order_no, cod, status_key from orders order by waybill_number')

t.test('an order of WooCommerce becomes a row once, is booked once, and later says what changed', async t => {
  const shop = await connect('woocommerce')
  t.strictSame(await shop.deliver(wooOrder(101), { id: 'one' }), { status: 200, message: 'stored' })
  t.strictSame(await shop.deliver(wooOrder(101, { total: '1.00' }), { id: 'one' }), {
    status: 200,
    message: 'repeated',
  })
  const [row] = await list()
  t.match(row, {
    shop_id: shop.id,
    shop_order_id: '101',
    marks: [],
    stays: null,
    values: {
      customer_name: 'Nimali Perera',
      customer_phone: '0770000101',
      customer_address: '12 Temple Road',
      destination: 'Galle',
      cod: '4500',
      order_no: '101',
      description: '1 × Pair of shoes',
      remark: 'Leave at the gate',
    },
  })
  const older = wooOrder(101, { date_modified_gmt: '2026-11-28T09:15:01', total: '9.00' })
  t.match(await shop.deliver(older), { status: 200, message: 'older' })
  t.match((await list())[0].values, { cod: '4500' })

  const newer = wooOrder(101, { date_modified_gmt: '2026-11-28T10:00:00', total: '5000.00' })
  await shop.deliver(newer)
  const stale = await book([row])
  t.match(stale.body.errors, { 'order_data.0.shop_order_id': [/changed the order since you read it/] })
  const read = await list()
  const booked = await book(read, 'key-1')
  t.match(booked, { status: 200, body: { message: 'Orders Created Successfully', data: ['DM00000001'] } })
  t.strictSame((await book(read, 'key-1')).body.data, ['DM00000001'], 'a repeat has the same response')
  t.match((await book(read, 'key-2')).body.errors, { 'order_data.0.shop_order_id': [/booked as DM00000001/] })
  t.strictSame(await orders(), [{ order_no: '101', cod: 5000, status_key: 'key_1' }])
  t.strictSame(await list(), [])

  await shop.deliver({ ...newer, status: 'completed', date_paid_gmt: '2026-11-29T10:00:00' })
  t.strictSame(await list('changed'), [], 'a shop that ends an order asks for nothing')
  const moved = { ...newer, billing: { ...newer.billing, address_1: '13 Temple Road' } }
  await shop.deliver({ ...moved, date_modified_gmt: '2026-11-28T11:00:00' })
  const [changed] = await list('changed')
  t.match(changed, { waybill_number: 'DM00000001', state: 'booked' })
  t.strictSame(changed.differences, [{ field: 'customer_address', booked: '12 Temple Road', now: '13 Temple Road' }])
  const reference = { shop_id: shop.id, shop_order_id: '101' }
  t.match(await call('POST', '/shop-order/settle', { orders: [reference], as: 'seen' }), {
    body: { data: { orders: 1 } },
  })
  t.strictSame(await list('changed'), [])
  await shop.deliver({ ...moved, status: 'cancelled', date_modified_gmt: '2026-11-28T12:00:00' })
  t.match(await list('changed'), [{ stays: 'cancelled', waybill_number: 'DM00000001' }])
  t.strictSame((await orders()).length, 1)
})

t.test('only a signature of the shop opens its address; two secrets work during a change', async t => {
  const shop = await connect('woocommerce')
  const payload = JSON.stringify(wooOrder(201))
  t.equal((await shop.post(payload, {})).statusCode, 401)
  t.match(await shop.deliver(wooOrder(201), { secret: 'another-secret' }), { status: 401 })
  t.equal((await app.inject({ method: 'POST', url: '/webhooks/shops/demo/nobody', payload })).statusCode, 401)
  t.match(
    (await call('GET', '/shop')).body.data.find((each: { id: string }) => each.id === shop.id),
    {
      refused_at: /^2/,
      received_at: null,
      has_secret: true,
    },
  )
  const made = await call('POST', `/shop/${shop.id}/secret`, {})
  t.match(made.body.data, { secret: /^[\w-]{32}$/ })
  t.match(await shop.deliver(wooOrder(201)), { status: 200 }, 'the secret before')
  t.match(await shop.deliver(wooOrder(202), { secret: made.body.data.secret }), { status: 200 })
  await rows(`update shops set previous_until = now() - interval '1 second'`)
  t.match(await shop.deliver(wooOrder(203)), { status: 401 })
  t.notMatch(JSON.stringify((await call('GET', '/shop')).body), made.body.data.secret)

  const ping = await shop.post('webhook_id=7', { 'content-type': 'application/x-www-form-urlencoded' })
  t.equal(ping.statusCode, 200)
  t.match((await call('GET', '/shop')).body.data.find((each: { id: string }) => each.id === shop.id).pinged_at, /^2/)
})

t.test('what is no order is stored as such: a shop that gets errors stops sending', async t => {
  const shop = await connect('shopify')
  const odd = [{}, { id: 'x' }, { id: 5 }, { id: 5, line_items: 'no' }, [], null, { id: -1, line_items: [] }]
  for (const body of odd) t.match(await shop.deliver(body as object), { status: 200, message: 'no_order' })
  const rough = shopifyOrder(301, {
    shipping_address: { name: 'N\u0000imali', address1: 7, city: ['Galle'], phone: { a: 1 }, zip: '\ud800' },
    line_items: [{ name: 'x'.repeat(5000), quantity: 'two', grams: -1 }, null, 7],
    note: 'y'.repeat(5000),
  })
  t.match(await shop.deliver(rough), { status: 200, message: 'stored' })
  const row = (await list()).find((each: { shop_id: string }) => each.shop_id === shop.id)
  t.equal(row.values.customer_name, 'N\ufffdimali')
  t.match(row.values.remark, /^y{1100}$/, 'longer than any field: the check refuses it')
  const { body } = await call('GET', `/shop/${shop.id}/deliveries`)
  t.equal(body.data.length, odd.length + 1)
  t.match(body.data[0], { outcome: 'stored', shop_order_id: '301', topic: 'orders/updated' })
})

t.test('an order without a doubt is booked at once where the merchant wants that; the rest waits', async t => {
  const shop = await connect('shopify', { auto_book: 'key_2', weight: null })
  await shop.deliver(shopifyOrder(401))
  await shop.deliver(shopifyOrder(402, { financial_status: 'authorized' }))
  await shop.deliver(shopifyOrder(403, { shipping_address: { ...shopifyOrder(1).shipping_address, city: 'Gale' } }))
  await shop.deliver(shopifyOrder(404, { line_items: [{ name: 'Gift', quantity: 1, grams: 0 }] }))
  await shop.deliver(shopifyOrder(405, { test: true }))
  await shop.deliver(shopifyOrder(406, { cancelled_at: '2026-11-28T00:00:00Z' }))
  await waitUntilLooked()
  const mine = (await rows(`select order_id, state from shop_orders where shop_id = '${shop.id}' order by 1`)) as {
    order_id: string
    state: string
  }[]
  t.strictSame(
    mine.map(({ order_id, state }) => `${order_id} ${state}`),
    ['401 booked', '402 waiting', '403 waiting', '404 waiting', '405 waiting', '406 stays'],
  )
  t.match(await orders(), [{}, { order_no: '#401', cod: 4500, status_key: 'key_2' }])
  t.equal((await orders()).length, 2)
})

t.test('a merchant sees and changes its own shops alone; a clerk changes none', async t => {
  const shop = await connect('woocommerce')
  const token = await createToken('books@example.com')
  t.strictSame((await call('GET', '/shop', undefined, { token })).body.data, [])
  t.match(await call('DELETE', `/shop/${shop.id}`, undefined, { token }), { status: 404 })
  t.match(await call('PATCH', `/shop/${shop.id}`, { merchant_business_id: 7300 }), {
    status: 422,
    body: { errors: { merchant_business_id: ['The selected merchant business id is invalid.'] } },
  })
  t.match(await call('PATCH', `/shop/${shop.id}`, { weight: 0.5, auto_book: 'key_1' }), {
    status: 200,
    body: { data: { weight: 0.5, auto_book: 'key_1' } },
  })
  await shop.deliver(wooOrder(501))
  t.match(await call('DELETE', `/shop/${shop.id}`), { status: 200 })
  t.match(await shop.deliver(wooOrder(502)), { status: 401 })
  t.strictSame(
    (await list()).filter((each: { shop_id: string }) => each.shop_id === shop.id),
    [],
  )
})

t.test('an id that no shop has leads nowhere, whatever it holds', async t => {
  for (const id of ['%00', 'x', '%ED%A0%80'])
    for (const path of ['deliveries', 'sent', 'keys', 'secret'])
      t.ok([400, 404, 405].includes((await call('GET', `/shop/${id}/${path}`)).status), `${path} ${id}`)
  const orders = [{ shop_id: '\0', shop_order_id: '1' }]
  t.match(await call('POST', '/shop-order/settle', { orders, as: 'seen' }), { status: 422 })
})

t.test('what other topics hold is no order, though it looks like one', async t => {
  for (const [kind, topics, body] of [
    ['woocommerce', ['subscription.updated', 'product.updated'], wooOrder(501, { status: 'active' })],
    ['shopify', ['draft_orders/update', 'checkouts/create', 'fulfillments/create'], shopifyOrder(502)],
  ] as const) {
    const shop = await connect(kind)
    for (const topic of topics)
      t.match(await shop.deliver(body, { topic }), { status: 200, message: 'no_order' }, topic)
    t.match(await shop.deliver(body), { message: 'stored' })
  }
})

t.test('an order that its customer collects is no parcel, and is none that books itself', async t => {
  const shop = await connect('woocommerce', { auto_book: 'key_2' })
  const by = (...methods: string[]) => ({ shipping_lines: methods.map(method_id => ({ method_id })) })
  const waits = { payment_method: 'cheque' }
  await shop.deliver(wooOrder(511, by('local_pickup')))
  await shop.deliver(wooOrder(512, by('pickup_location')))
  await shop.deliver(wooOrder(513, { ...waits, ...by('flat_rate') }))
  await shop.deliver(wooOrder(514, { ...waits, ...by('flat_rate', 'local_pickup') }))
  await waitUntilLooked()
  const stored = await rows(`select state, said ->> 'stays' as why from shop_orders
    where shop_id = '${shop.id}' order by order_id`)
  const stays = { state: 'stays', why: 'collected' }
  t.strictSame(stored, [stays, stays, { state: 'waiting', why: null }, { state: 'waiting', why: null }])
})

t.test('names of products of WooCommerce are read as people read them', async t => {
  const shop = await connect('woocommerce')
  const names = ['Shoes &amp; socks &#8211; red', '&#0;&#55296;&#999999;&lt;b&gt; &unknown;']
  await shop.deliver(wooOrder(531, { line_items: names.map(name => ({ name, quantity: 2 })) }))
  const { values } = (await list()).find((each: { shop_id: string }) => each.shop_id === shop.id)
  t.equal(values.description, '2 × Shoes & socks – red, 2 × \ufffd\ufffd\u{f423f}<b> &unknown;')
})

t.test('an order of Shopify has the phone of its payer, marked, and only the items that are left', async t => {
  const shop = await connect('shopify')
  const address = { ...shopifyOrder(1).shipping_address, phone: null }
  const kept = { name: 'Pair of shoes', quantity: 3, current_quantity: 2, grams: 600 }
  const removed = { name: 'Socks', quantity: 1, current_quantity: 0, grams: 100 }
  const changed = { shipping_address: address, total_weight: 1900, line_items: [kept, removed] }
  await shop.deliver(shopifyOrder(521, { ...changed, billing_address: { phone: '077 000 0102' } }))
  await shop.deliver(shopifyOrder(522, { ...changed, customer: { default_address: { phone: '0770000103' } } }))
  const found = (await list()).filter((each: { shop_id: string }) => each.shop_id === shop.id)
  const items = { weight: '1.2', description: '2 × Pair of shoes' }
  t.match(
    found.map(({ values }: { values: object }) => values),
    [
      { customer_phone: '077 000 0102', ...items },
      { customer_phone: '0770000103', ...items },
    ],
  )
  for (const { marks } of found) t.match(marks, [{ field: 'customer_phone', code: 'phone_of_billing' }])
})
