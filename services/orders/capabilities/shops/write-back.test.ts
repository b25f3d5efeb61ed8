import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { listen } from '../../../../dev/ports.ts'
import { shopifyOrder, shopsFixture, wooOrder } from '../../test/shops-fixture.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: a body is whatever came over the wire
  readonly body: any
}

/** Starts a shop's server, whose responses `respond` writes; undefined: the connection ends without one. */
const startShop = async (t: Test, respond: (asked: Asked) => { status?: number; body?: unknown } | undefined) => {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    const { method = '', url = '', headers } = request
    const one = { method, path: url, headers, body: sent ? JSON.parse(sent) : undefined }
    asked.push(one)
    const answer = respond(one)
    if (!answer) return void response.destroy()
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body ?? {}))
  })
  t.teardown(() => void server.close())
  return { asked, address: `http://127.0.0.1:${await listen(server)}` }
}

const fixture = await shopsFixture(t)
const { connect, list, call, book, rows, request, workers } = fixture
for (const worker of workers) worker.start()

const waitFor = async (what: string, isSo: () => unknown) => {
  for (let tries = 0; tries < 1_000 && !(await isSo()); tries++) await delay(20)
  if (!(await isSo())) throw new Error(`never: ${what}`)
}
const hurry = () =>
  rows(`update webhook_deliveries set next_attempt_at = now() where state = 'pending' and next_attempt_at is not null`)

t.test('WooCommerce gets the waybill as a note once, though a response is lost, and the statuses chosen', async t => {
  const notes: string[] = []
  let lost = 1
  const server = await startShop(t, ({ method, path, body }) => {
    if (path.endsWith('/notes') && method === 'GET') return { body: notes.map(note => ({ note })) }
    if (!path.endsWith('/notes')) return {}
    notes.push(body.note)
    return lost-- > 0 ? undefined : { status: 201 }
  })
  const shop = await connect('woocommerce')
  const keys = { address: server.address, key: 'ck_1', secret: 'cs_1', statuses: { key_3: 'cancelled' } }
  t.match(await call('PUT', `/shop/${shop.id}/keys`, keys), { status: 200 })
  t.match(await call('PUT', `/shop/${shop.id}/keys`, { ...keys, secret: undefined }), { status: 422 })
  await shop.deliver(wooOrder(101))
  await book(await list())
  await waitFor('a note', () => notes.length > 0)
  await waitFor('the second look', async () => {
    await hurry()
    return server.asked.filter(({ method }) => method === 'GET').length > 1
  })
  t.equal(notes.length, 1, 'the note stands there already')
  t.match(notes[0], /DM00000001/)
  t.match(server.asked[0], {
    path: '/wp-json/wc/v3/orders/101/notes',
    headers: { authorization: `Basic ${Buffer.from('ck_1:cs_1').toString('base64')}` },
  })
  const cancelled = await request('/order/cancel', { waybill_numbers: ['DM00000001'] })
  t.equal(cancelled.status, 200)
  await waitFor('the status', () => server.asked.some(({ method }) => method === 'PUT'))
  t.match(
    server.asked.find(({ method }) => method === 'PUT'),
    {
      path: '/wp-json/wc/v3/orders/101',
      body: { status: 'cancelled' },
    },
  )
  const { data } = (await call('GET', `/shop/${shop.id}/sent`)).body
  t.match(data.at(-1), { type: 'order.created', waybill_number: 'DM00000001', attempts: 2 })
  t.notMatch(JSON.stringify(await call('GET', '/shop')), 'ck_1')
  t.notMatch(JSON.stringify((await call('GET', '/webhook')).body), server.address, 'no webhook of the merchant')
  t.match(await call('DELETE', `/shop/${shop.id}/keys`), { status: 200 })
})

t.test('Shopify gets one fulfilment with the tracking number; a refusal is shown with its reason', async t => {
  let refusals = 1
  const server = await startShop(t, ({ body }) => {
    if (body.query.startsWith('query'))
      return { body: { data: { order: { fulfillmentOrders: { nodes: [{ id: 'gid://1', status: 'OPEN' }] } } } } }
    const userErrors = refusals-- > 0 ? [{ message: 'The order is on hold.' }] : []
    return { body: { data: { fulfillmentCreate: { fulfillment: { id: 'gid://2' }, userErrors } } } }
  })
  const shop = await connect('shopify')
  const wrong = { address: server.address, key: 'shpat_1', statuses: { key_2: 'completed' } }
  t.match(await call('PUT', `/shop/${shop.id}/keys`, wrong), {
    status: 422,
    body: { errors: { 'statuses.key_2': ['Shopify knows the status fulfilled alone.'] } },
  })
  await call('PUT', `/shop/${shop.id}/keys`, { ...wrong, statuses: { key_2: 'fulfilled' } })
  await shop.deliver(shopifyOrder(201))
  const { body } = await book(await list())
  const [waybill] = body.data
  await request('/order/confirm', { waybill_numbers: [waybill] })
  const sent = async () => (await call('GET', `/shop/${shop.id}/sent`)).body.data
  await waitFor('the refusal', async () => (await sent()).length > 0)
  t.match(await sent(), [{ type: 'order.status_changed', code: 422, error: /on hold/, state: 'pending' }])
  await waitFor('the fulfilment', async () => {
    await hurry()
    return (await sent())[0].state === 'delivered'
  })
  const mutations = server.asked.filter(({ body }) => body.query.startsWith('mutation'))
  t.equal(mutations.length, 2)
  t.match(mutations[1], {
    path: /^\/admin\/api\/\d{4}-\d\d\/graphql\.json$/,
    headers: { 'x-shopify-access-token': 'shpat_1' },
    body: { variables: { fulfillment: { trackingInfo: { number: waybill }, notifyCustomer: false } } },
  })
})
