import createClient from 'openapi-fetch'
import t from 'tap'
import type { paths as NotifierPaths } from '../examples/typescript/notifier.d.ts'
import type { paths as OrdersPaths } from '../examples/typescript/orders.d.ts'
import { createTokenFor } from '../services/notifier/core/access/token-commands.ts'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'

const header = { 'X-tenant': 'demo' }
const listening = { host: '127.0.0.1', port: 0 }

t.test('a client generated from the document dry-runs a batch and books it', async t => {
  const { app, token } = await buildOrders(t)
  const baseUrl = await app.listen(listening)
  const orders = createClient<OrdersPaths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  const body = {
    general_data: { merchant_business_id: 7290, origin_city_id: 1500 },
    order_data: [
      {
        customer_name: 'Nimali Perera',
        customer_address: '12 Temple Road',
        customer_phone: '0770000101',
        destination_city_name: 'Galle',
        destination_state_name: 'Galle',
        cod: 4500,
        weight: 1.2,
      },
    ],
  }
  const post = (query: { dry_run?: 'true' }) =>
    orders.POST('/api/public/merchant/order/bulk', { params: { header, query }, body })
  const tried = (await post({ dry_run: 'true' })).data
  if (!tried?.dry_run) return t.fail('an unexpected response')
  t.equal(tried.data[0]?.destination_city.toUpperCase(), 'GALLE')
  const booked = (await post({})).data
  if (!booked || booked.dry_run) return t.fail('an unexpected response')
  const [waybill = '']: string[] = booked.data
  const order = await orders.GET('/api/public/merchant/order/{waybill}', { params: { header, path: { waybill } } })
  t.equal(order.data?.data.status.key, 'key_1')
  const list = await orders.GET('/api/public/merchant/order', { params: { header, query: { per_page: 1 } } })
  t.equal(list.data?.data[0]?.waybill_number, waybill)
  const { error } = await orders.GET('/api/public/merchant/order/{waybill}', {
    params: { header, path: { waybill: 'X1' } },
  })
  t.equal(error?.code, 'not_found')
})

t.test('a client generated from the document sends a message', async t => {
  const { app, pool } = await buildNotifier(t)
  const baseUrl = await app.listen(listening)
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  const notifier = createClient<NotifierPaths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  const makeText = (text: string): { type: 'text'; text: string } => ({ type: 'text', text })
  const { data, error } = await notifier.POST('/api/messages', {
    params: { header: { ...header, 'Idempotency-Key': 'typed-1' } },
    body: {
      to: '0770000101',
      template: {
        name: 'order_created',
        language: { code: 'en_US', policy: 'deterministic' },
        components: [
          { type: 'header', parameters: [makeText('DM00000001')] },
          { type: 'body', parameters: ['Nimali', 'Lanka Shoes', '4500'].map(makeText) },
        ],
      },
    },
  })
  t.equal(error, undefined)
  const id = data?.data.id ?? ''
  t.equal(data?.data.status, 'queued')
  const message = await notifier.GET('/api/messages/{id}', { params: { header, path: { id } } })
  t.equal(message.data?.data.to, '94770000101')
})
