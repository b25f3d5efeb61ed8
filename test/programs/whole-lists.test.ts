import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../../dev/settings.ts'
import { build } from '../../services/orders/test/build.ts'
import { type Fields, page, programs } from './programs.ts'

const file = JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
const { app, token, bulk } = await build(t, { file })
const base = await app.listen({ host: '127.0.0.1', port: 0 })
const prefix = '/api/public/merchant'
const batch = JSON.parse(readFileSync(join(root, 'examples/batch.json'), 'utf8'))
await bulk(batch)

for (const program of programs) {
  const get = (path: string, query: Fields = {}) => program.send(base, 'GET', path, { token, query })

  t.test(`${program.name}: reads all orders without pages`, async t => {
    for (const more of [{}, { per_page: 10 }, { page: 2 }]) {
      const { status, body } = await get(`${prefix}/order`, { ...program.wholeList, ...more })
      t.match([status, body.data.length], [200, batch.order_data.length], JSON.stringify(more))
    }
  })

  t.test(`${program.name}: an unknown filter is an error, not a longer list`, async t => {
    const known = await get(`${prefix}/order`, { 'filter[order_no]': 'LS-10421' })
    t.equal(known.body.data.length, 1)
    t.equal((await get(`${prefix}/order`, { 'filter[colour]': 'red' })).status, 422)
    t.equal((await get(`${prefix}/order`, { status: 'key_99' })).status, 422)
    t.match((await get(`${prefix}/city`, { id: '2100' })).body.data, [{ id: 2100, name: 'Galle' }])
  })

  t.test(`${program.name}: reads lists at their second address, and a status by POST`, async t => {
    const { body } = await get('/api/merchant/city', { 'filter[name]': 'Galle' })
    t.match(body.data[0], { name: 'Galle' })
    const [order] = (await get('/api/merchant/order', { per_page: 1 })).body.data
    const sent = { token, body: { waybill_number: order.waybill_number } }
    const finance = await program.send(base, 'POST', `${prefix}/order/waybill-finance-status`, sent)
    t.match(finance, { status: 200, body: { data: { finance_status: 'Pending' } } })
  })

  t.test(`${program.name}: an empty PHP array counts as no value`, async t => {
    const [order] = batch.order_data
    const body = { ...batch, order_data: [{ ...order, remark: [], customer_email: [] }] }
    const sent = { token, body, query: { dry_run: 'true' } }
    t.equal((await program.send(base, 'POST', `${prefix}/order/bulk`, sent)).status, 200)
  })
}

t.test('a browser allows a page of another origin to send its requests and read the responses', async t => {
  const origin = 'https://shop.example'
  const preflight = await fetch(`${base}${prefix}/order/bulk`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key,x-tenant',
    },
  })
  t.equal(preflight.ok, true)
  const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase()
  for (const name of ['authorization', 'content-type', 'idempotency-key', 'x-tenant']) t.match(allowed, name)
  t.match(preflight.headers.get('access-control-allow-methods'), 'POST')
  for (const path of ['/city', '/order/X1', '/nowhere']) {
    const { headers } = await page.send(base, 'GET', prefix + path, { token })
    t.match(headers['access-control-allow-origin'], /^(\*|https:\/\/shop\.example)$/, path)
    t.match(headers['access-control-expose-headers']?.toLowerCase(), 'x-request-id', path)
  }
})
