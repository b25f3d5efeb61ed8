import { request as send } from 'node:http'
import { loadConfig } from '@courier/shared/config.ts'
import t, { type Test } from 'tap'
import type { OrdersOptions } from './app.ts'
import { Settings } from './config.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { build } from './test/build.ts'
import { batch } from './test/tenant.ts'

const origin = 'https://shop.example'
const merchantPath = '/api/public/merchant'

/** Starts the service on a port; `preflight` and `allowedFor` send what a browser sends for a script of an origin. */
const open = async (t: Test, options: Partial<OrdersOptions> = {}) => {
  const built = await build(t, options)
  const url = await built.app.listen({ port: 0, host: '127.0.0.1' })
  /** Sends one request with exactly these headers. */
  const wire = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: string }>(
      (resolve, reject) => {
        const sent = send(`${url}${path}`, { method, headers }, async response => {
          const chunks = await response.toArray()
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() })
        })
        sent.on('error', reject)
        sent.end(body)
      },
    )
  const preflight = (method: string, path: string, from = origin) =>
    wire('OPTIONS', path, {
      origin: from,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,idempotency-key,x-tenant',
      'sec-fetch-mode': 'cors',
    })
  const allowedFor = async (method: string, path: string, from = origin) =>
    (await preflight(method, path, from)).headers['access-control-allow-origin']
  return { ...built, wire, preflight, allowedFor }
}

t.test('a preflight needs no token, and lists the headers and methods that a script may send', async t => {
  const { preflight } = await open(t, { addressLimits: { requests: 1, refusals: 1 } })
  for (let round = 0; round < 3; round++)
    t.match(await preflight('POST', `${merchantPath}/order/bulk`), {
      status: 204,
      body: '',
      headers: {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': 'authorization,content-type,idempotency-key,x-tenant',
        'access-control-max-age': '86400',
        'content-length': '0',
        'access-control-allow-credentials': undefined,
      },
    })
})

t.test('a script reads the responses to batches, with their headers and errors', async t => {
  const { wire, token } = await open(t, { requestsPerMinute: 3 })
  const headers = { origin, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const right = { ...headers, authorization: `Bearer ${token}`, 'idempotency-key': 'one' }
  const bulk = (given: Record<string, string>, body: unknown = batch()) =>
    wire('POST', `${merchantPath}/order/bulk`, given, JSON.stringify(body))
  const responses = [await bulk(right), await bulk(right), await bulk({ ...right, 'idempotency-key': 'two' }, {})]
  responses.push(await bulk(right), await bulk(headers))
  t.strictSame(
    responses.map(({ status }) => status),
    [200, 200, 422, 429, 401],
  )
  for (const { headers } of responses) {
    t.equal(headers['access-control-allow-origin'], '*')
    const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ')
    t.strictSame(exposed, [
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-request-id',
      'idempotency-replayed',
      'location',
      'etag',
      'x-print-warnings',
      'www-authenticate',
    ])
  }
  t.match(responses[1]?.headers, {
    ratelimit: /./,
    'ratelimit-policy': /./,
    'idempotency-replayed': 'true',
    'x-request-id': /./,
  })
  t.match(responses[3]?.headers, { 'retry-after': /./ })
})

t.test('the earliest refusals have the CORS headers too', async t => {
  const { wire } = await open(t, { addressLimits: { requests: 2, refusals: 60 } })
  const statuses: unknown[] = []
  for (const path of [`${merchantPath}/nothing`, '/api/public/order/tracking-info', `${merchantPath}/state`]) {
    const { status, headers } = await wire('GET', path, { origin })
    statuses.push([status, headers['access-control-allow-origin']])
  }
  t.strictSame(statuses, [
    [404, '*'],
    [405, '*'],
    [429, '*'],
  ])
})

t.test('without a setting only the routes of merchants and their customers are open', async t => {
  const { allowedFor, wire } = await open(t)
  for (const path of [
    `${merchantPath}/login`,
    '/api/public/order/tracking-info',
    '/api/merchant/order/waybill-finance-status',
    ...['/mcp', '/mcp/demo', '/mcp/demo/token', '/.well-known/oauth-protected-resource/mcp/demo'],
  ])
    t.equal(await allowedFor('POST', path), '*', path)
  for (const path of [
    '/api/staff/order',
    '/api/staff/order/status',
    '/internal/orders/demo/DM1',
    '/metrics',
    '/health/live',
    '/docs',
    ...['/mcpx', '/desk/', '/.well-known/other'],
  ])
    t.equal(await allowedFor('GET', path), undefined, path)
  const plain = await wire('OPTIONS', `${merchantPath}/state`, { origin })
  t.match([plain.status, plain.headers.allow], [405, /^GET/], 'an OPTIONS request that is not a preflight')
  t.equal((await wire('OPTIONS', '/nothing')).status, 404)
})

t.test('CORS_ORIGINS lists the origins that may send requests, even requests of staff', async t => {
  const { allowedFor, wire, pool } = await open(t, { corsOrigins: `${origin},http://localhost:5173` })
  for (const path of [`${merchantPath}/state`, '/api/staff/order']) {
    t.equal(await allowedFor('GET', path), origin, path)
    t.equal(await allowedFor('GET', path, 'http://localhost:5173'), 'http://localhost:5173', path)
    t.equal(await allowedFor('GET', path, 'https://other.example'), undefined, path)
  }
  t.equal(await allowedFor('GET', '/internal/orders/demo/DM1'), undefined)
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  const headers = { origin, 'x-tenant': 'demo', authorization: `Bearer ${token}` }
  t.match(await wire('GET', '/api/staff/order', headers), {
    status: 200,
    headers: { 'access-control-allow-origin': origin, vary: /origin/i },
  })
  const closed = await open(t, { corsOrigins: 'none' })
  for (const path of [`${merchantPath}/state`, '/mcp/demo']) t.equal(await closed.allowedFor('GET', path), undefined)
})

t.test('origins of the staff console may send requests of staff, and otherwise no more than other origins', async t => {
  const portal = 'http://127.0.0.1:3001'
  for (const [settings, ofMerchants] of [
    [{}, '*'],
    [{ corsOrigins: 'none' }, undefined],
    [{ corsOrigins: origin }, undefined],
  ] as const) {
    const { allowedFor } = await open(t, { ...settings, portalOrigins: `https://staff.example,${portal}` })
    t.equal(await allowedFor('GET', '/api/staff/order', portal), portal)
    t.equal(await allowedFor('GET', '/api/staff/order', 'https://other.example'), undefined)
    t.equal(await allowedFor('GET', `${merchantPath}/state`, portal), ofMerchants)
    t.equal(await allowedFor('GET', '/internal/orders/demo/DM1', portal), undefined)
  }
  const { allowedFor } = await open(t, { corsOrigins: origin, portalOrigins: portal })
  t.equal(await allowedFor('GET', '/api/staff/order'), origin, 'the origins in CORS_ORIGINS stay allowed')
})

t.test('checks the setting CORS_ORIGINS', t => {
  const read = (CORS_ORIGINS: string) =>
    loadConfig(Settings, {
      ORDERS_DATABASE_URL: 'postgres://x@y/z',
      SERVICE_TOKEN: 'a-service-token-of-tests',
      CORS_ORIGINS,
    }).CORS_ORIGINS
  for (const right of ['*', 'none', origin, `${origin},http://127.0.0.1:8080`]) t.equal(read(right), right)
  for (const wrong of ['shop.example', `${origin}/`, `${origin}, ${origin}`, `*,${origin}`, 'https://*.example'])
    t.throws(() => read(wrong), /CORS_ORIGINS must be \*, none, or origins such as/, wrong)
  t.end()
})
