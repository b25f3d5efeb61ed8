import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { createBatchReader } from '../services/orders/core/booking/read-batch.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { batch, order } from '../services/orders/test/tenant.ts'

const small = 4_096
const maxBodyBytes = 5_242_880

/** Lists the operations that accept more than a few short fields, with their limits in bytes. */
const large: Record<string, number> = {
  'POST /api/public/merchant/order/bulk': maxBodyBytes,
  'POST /api/public/merchant/order/single': 65_536,
  'POST /api/public/merchant/order/cancel': 512_000,
  'POST /api/public/merchant/order/confirm': 512_000,
  'POST /api/public/merchant/order/lookup': 512_000,
  'POST /api/public/merchant/order/labels': 256_000,
  'POST /api/staff/order/labels': 256_000,
  'POST /api/staff/order/run-sheet': 256_000,
  'POST /api/public/merchant/pickup': 512_000,
  'POST /api/staff/pickup/{id}/done': 512_000,
  'POST /api/public/merchant/order/quote': maxBodyBytes,
  'POST /api/public/merchant/shop-order/book': 4_194_304,
  'POST /api/public/merchant/shop-order/settle': 131_072,
  'POST /webhooks/shops/{tenant}/{shop_id}': 5_242_880,
  'POST /api/public/merchant/city/resolve': 3_584_000,
  'PATCH /api/public/merchant/order/{waybill}': 65_536,
  'PATCH /api/staff/order/{waybill}': 65_536,
  'POST /api/staff/order/status': 512_000,
  'POST /api/staff/order/assign': 512_000,
  'POST /api/staff/order/unassign': 512_000,
  'POST /api/staff/rider/sequence': 512_000,
  'POST /api/staff/rider/acts': 4_194_304,
  'POST /api/public/rider/acts': 4_194_304,
  'POST /api/public/rider/proof-part': 200_000,
  'POST /api/staff/cash/handover': 512_000,
  'POST /api/staff/cash/transfer': 512_000,
  'POST /api/staff/cash/deposit': 512_000,
  'POST /api/staff/payout': 512_000,
  'POST /api/staff/payout/{batch_no}/fail': 512_000,
  'POST /api/staff/invoice/{invoice_no}/dispute/settle': 512_000,
  'POST /api/public/merchant/invoice/{invoice_no}/dispute': 512_000,
  'POST /api/staff/order/requests/{id}/decision': 8_192,
  'GET /api/public/merchant/order/tracking-info': 16_384,
  'POST /api/public/merchant/order/tracking-info': 16_384,
  'GET /api/public/merchant/order/waybill-finance-status': 16_384,
  'POST /api/public/merchant/order/waybill-finance-status': 16_384,
  'POST /api/public/order/tracking-info': 16_384,
  'POST /mcp': 524_288,
  'POST /api/conversations/{phone}/reply': 32_768,
  'POST /api/messages': 1_337_856,
  'POST /api/messages/bulk': maxBodyBytes,
  'POST /api/messages/preflight': maxBodyBytes,
  'PUT /api/channels/{phone_number_id}': 16_384,
  'POST /api/channels/{phone_number_id}/register': 60_512,
  'POST /internal/customer-actions': 524_288,
  'POST /internal/staff-tokens': 32_768,
  'POST /internal/events': 2_097_152,
  'POST /webhooks/messaging': 3_145_728,
}

const { call, app: notifier } = await buildNotifier(t)
const orders = await buildOrders(t)

type Documented = Record<string, Record<string, { requestBody?: object; 'x-max-body-bytes'?: number }>>

t.test('every documented operation refuses bodies beyond its limit before it authenticates the client', async t => {
  const seen = new Set<string>()
  for (const app of [orders.app, notifier])
    for (const [path, methods] of Object.entries((await app.inject('/openapi.json')).json().paths as Documented))
      for (const [name, operation] of Object.entries(methods)) {
        const method = name.toUpperCase() as 'GET'
        const id = `${method} ${path}`
        seen.add(id)
        const limit = large[id] ?? small
        const announce = async (length: number): Promise<number> => {
          const headers = { 'content-length': String(length) }
          return (await app.inject({ method, url: path.replace(/\{\w+\}/g, '1A'), headers })).statusCode
        }
        t.equal(await announce(limit + 1), 413, `${id} refuses ${limit + 1} bytes`)
        t.not(await announce(limit), 413, `${id} accepts ${limit} bytes`)
        if (operation.requestBody) t.equal(operation['x-max-body-bytes'], limit, `${id} documents its limit`)
      }
  const unknown = Object.keys(large).filter(id => !seen.has(id))
  t.strictSame(unknown, [], 'the table names only documented operations')
})

t.test('reports only the length of a list that is too long', async t => {
  const items = (count: number) => Array.from({ length: count }, () => ({}))
  const refusals = {
    order_data: await orders.bulk({ ...batch(), order_data: items(90_000) }),
    messages: await call('POST', '/api/messages/bulk', { messages: items(90_000) }),
    waybill_numbers: await orders.request('/order/cancel', { waybill_numbers: items(90_000) }),
  }
  for (const [field, { status, body }] of Object.entries(refusals)) {
    const sentence = `The ${field.replace('_', ' ')} field must not have more than 1000 items.`
    t.strictSame([status, body.errors], [422, { [field]: [sentence] }])
  }
})

/** Returns the milliseconds of the fastest of five runs. */
const measureFastest = (work: () => unknown): number =>
  Math.min(
    ...Array.from({ length: 5 }, () => {
      const start = performance.now()
      work()
      return performance.now() - start
    }),
  )

t.test('checks no order in a list that is too long', t => {
  const bytes = Buffer.from(JSON.stringify(batch(Array(15_000).fill(order()))))
  const read = createBatchReader(1000)
  const [whole, parsing] = [
    measureFastest(() => read(JSON.parse(bytes.toString()), bytes)),
    measureFastest(() => JSON.parse(bytes.toString())),
  ]
  t.ok(whole < 4 * parsing, `${whole} ms to read, ${parsing} ms to parse alone`)
  t.end()
})

t.test('does not store the names of impossible tenants', async t => {
  setFlagsFromString('--expose-gc')
  const measureHeap = (): number => {
    runInNewContext('gc')()
    return process.memoryUsage().heapUsed
  }
  const login = (tenant: string) =>
    orders.request('/login', { email: 'shop@example.com', password: 'wrong' }, { token: '', tenant })
  const first = await login('x'.repeat(10_000))
  t.match(first, { status: 422, body: { errors: { email: ['These credentials do not match our records.'] } } })
  const logInOften = async (count: number) => {
    for (let index = 0; index < count; index++) await login(randomBytes(5_000).toString('hex'))
  }
  await logInOften(100)
  const before = measureHeap()
  await logInOften(500)
  const kept = measureHeap() - before
  t.ok(kept < 2_000_000, `500 names of 10 KB left ${kept} bytes`)
})
