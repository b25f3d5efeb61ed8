import { createHmac, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { build } from './build.ts'

/** Returns an order of WooCommerce's REST API v3, as its webhooks hold it; `fields` replace its fields. */
export const wooOrder = (id: number, fields: Record<string, unknown> = {}) => ({
  id,
  number: String(id),
  status: 'processing',
  currency: 'LKR',
  date_modified_gmt: '2026-11-28T09:15:02',
  total: '4500.00',
  payment_method: 'cod',
  payment_method_title: 'Paiement à la livraison',
  date_paid_gmt: null,
  customer_note: 'Leave at the gate',
  billing: {
    first_name: 'Nimali',
    last_name: 'Perera',
    company: '',
    address_1: '12 Temple Road',
    address_2: '',
    city: 'Galle',
    state: '',
    postcode: '',
    country: 'LK',
    phone: '0770000101',
  },
  shipping: { first_name: '', last_name: '', address_1: '', address_2: '', city: '', state: '', country: '' },
  line_items: [{ name: 'Pair of shoes', quantity: 1 }],
  refunds: [],
  ...fields,
})

/** Returns an order of Shopify's webhook `orders/updated`; `fields` replace its fields. */
export const shopifyOrder = (id: number, fields: Record<string, unknown> = {}) => ({
  id,
  name: `#${id}`,
  financial_status: 'pending',
  fulfillment_status: null,
  currency: 'LKR',
  total_outstanding: '4500.00',
  current_total_price: '4500.00',
  payment_gateway_names: ['Cash on Delivery (COD)'],
  updated_at: '2026-11-28T14:45:02+05:30',
  cancelled_at: null,
  test: false,
  note: null,
  phone: null,
  total_weight: 1200,
  line_items: [{ name: 'Pair of shoes', quantity: 1, grams: 1200 }],
  shipping_address: {
    name: 'Nimali Perera',
    company: null,
    address1: '12 Temple Road',
    address2: null,
    city: 'Galle',
    province: null,
    zip: '80000',
    country_code: 'LK',
    phone: '0770000101',
  },
  ...fields,
})

interface Sent {
  readonly id?: string
  readonly secret?: string
  readonly topic?: string
}

/** Builds the application, with helpers that connect shops and send their webhooks. */
export const shopsFixture = async (t: Test, options: Parameters<typeof build>[1] = {}) => {
  const app = await build(t, options)
  const path = '/api/public/merchant'
  const call = (method: Parameters<typeof app.send>[0], to: string, body?: object, other = {}) =>
    app.send(method, path + to, body, other)
  const secret = 'a-secret-of-a-shop'
  const connect = async (kind: 'woocommerce' | 'shopify', fields: object = {}) => {
    const asked = { kind, name: 'Shoes', merchant_business_id: 7290, origin_city_id: 1500, weight: 1, ...fields }
    const { status, body } = await call('POST', '/shop', asked)
    if (status !== 201) throw new Error(JSON.stringify(body))
    const { id, url } = body.data
    await call('POST', `/shop/${id}/secret`, { secret })
    return { id, url, ...sign(kind, url) }
  }
  /** Returns functions that send to the address as a shop of the kind does. */
  const sign = (kind: 'woocommerce' | 'shopify', url: string, own = secret) => {
    const to = new URL(url, 'http://orders.example').pathname
    const post = (payload: string, headers: Record<string, string>) =>
      app.app.inject({ method: 'POST', url: to, payload, headers: { 'content-type': 'application/json', ...headers } })
    /** Sends an order as the shop does, signed. */
    const deliver = async (order: object, { id = randomUUID(), secret: by = own, topic }: Sent = {}) => {
      const payload = JSON.stringify(order)
      const signature = createHmac('sha256', by).update(payload).digest('base64')
      const headers: Record<string, string> =
        kind === 'woocommerce'
          ? {
              'x-wc-webhook-signature': signature,
              'x-wc-webhook-delivery-id': id,
              'x-wc-webhook-topic': topic ?? 'order.updated',
            }
          : {
              'x-shopify-hmac-sha256': signature,
              'x-shopify-webhook-id': id,
              'x-shopify-topic': topic ?? 'orders/updated',
            }
      const { statusCode, body } = await post(payload, headers)
      return { status: statusCode, message: JSON.parse(body).message }
    }
    return { post, deliver }
  }
  const list = async (state = 'waiting') => (await call('GET', `/shop-order?state=${state}`)).body.data
  /** Books rows of the list as the desk does. */
  // biome-ignore lint/suspicious/noExplicitAny: a row is what the list returned
  const book = (rows: readonly any[], key?: string, fields: object = {}) =>
    call(
      'POST',
      '/shop-order/book',
      {
        general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
        order_data: rows.map(({ shop_id, shop_order_id, received_at, values }) => {
          const { destination: _, cod, ...others } = values
          const own = { shop_id, shop_order_id, seen_at: received_at, destination_city_id: 2100 }
          return { ...others, ...own, weight: 1, cod: Number(cod), ...fields }
        }),
      },
      { headers: key ? { 'idempotency-key': key } : {} },
    )
  /** Starts the workers, and waits until they have looked at every new order. */
  const waitUntilLooked = async () => {
    for (const worker of app.workers) worker.start()
    for (let tries = 0; tries < 1_000; tries++) {
      const waiting = await app.rows(`select from shop_orders where is_new and state = 'waiting'`)
      if (waiting.length === 0) return
      await delay(20)
    }
    throw new Error('new orders wait still')
  }
  return { ...app, call, connect, sign, list, book, waitUntilLooked }
}
