import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { buildServer } from '../test/server.ts'
import type { Edge } from './server.ts'

const start = async (t: Test, edge: Edge = {}) => {
  const app = await buildServer(t, edge)
  app.get('/api/orders/:waybill', async ({ params }) => params)
  app.get('/internal/orders/:waybill', async ({ params }) => params)
  app.get('/where', async request => ({ url: request.publicUrl }))
  return app
}

/** Returns the status of a request with that target, sent as written. */
const getStatus = async (port: number, target: string): Promise<string | undefined> => {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  const [data] = await once(socket, 'data')
  socket.destroy()
  return String(data).split(' ')[1]
}

t.test('serves a path only in the documented spelling', async t => {
  const app = await start(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const served = ['/metrics', '/metrics?x=%6d#', '/api/orders/DM1', '/api/orders/DM1/', '/docs/all/static/index.css']
  for (const target of served) t.equal(await getStatus(port, target), '200', target)
  const odd = [
    '/%6detrics',
    '/%6Detrics?x=1',
    '/metrics%3f',
    '/metrics/',
    '/metrics/?x=1',
    '/metrics#x',
    '/Metrics',
    '//metrics',
    '/./metrics',
    '/x/../metrics',
    '/%2e/metrics',
    'http://x/metrics',
    'HTTPS://x/metrics',
    '/%61pi/orders/DM1',
    '/api/%6frders/DM1',
    '/api/orders/..',
    '/api/orders/%2e%2E',
    '/internal/orders/DM1/',
    '/docs/all/%73tatic/index.css',
  ]
  for (const target of odd) t.equal(await getStatus(port, target), '404', target)
})

t.test('any character of a parameter may be encoded', async t => {
  const app = await start(t)
  for (const waybill of ['DM/1', 'a%b', 'D M', 'ශ්‍රී', '%6d', '...', 'x#?&'])
    t.strictSame((await app.inject(`/api/orders/${encodeURIComponent(waybill)}`)).json(), { waybill })
  t.strictSame((await app.inject('/api/orders/%44M1')).json(), { waybill: 'DM1' })
})

t.test('counts a request without a route like any other, whatever its path', async t => {
  const app = await start(t, { addressLimits: { requests: 3, refusals: 60 } })
  const request = async (url: string) => (await app.inject({ url, remoteAddress: '192.0.2.1' })).statusCode
  for (const url of ['/health/live', '/metrics', '/internal/orders/DM1', '/health/ready'])
    t.equal(await request(url), 200, `${url} is not counted`)
  t.equal(await request('/nothing'), 404)
  t.equal(await request('/%6detrics'), 404)
  t.equal(await request('/internal/nothing'), 404)
  for (const url of ['/health/nothing', '/metrics/x', '/webhooks/x', '/metrics/', '/nothing', '/where'])
    t.equal(await request(url), 429, url)
  t.equal(await request('/health/live'), 200)
})

t.test('also counts paths that cannot be decoded', async t => {
  const app = await start(t, { addressLimits: { requests: 1, refusals: 60 } })
  t.equal((await app.inject('/%zz')).statusCode, 400)
  t.equal((await app.inject('/%zz')).statusCode, 429)
  t.equal((await app.inject('/where')).statusCode, 429)
})

t.test('the public URL comes from the settings or else a trusted proxy, never from the Host of a client', async t => {
  const forwarded = { 'x-forwarded-host': 'courier.example', 'x-forwarded-proto': 'https' }
  const readUrl = async (edge: Edge, headers: object, remoteAddress = '192.0.2.1') =>
    (
      await (
        await start(t, edge)
      ).inject({ url: '/where', headers: { host: 'evil.example', ...headers }, remoteAddress })
    ).json().url
  const proxy = { trustedProxies: '10.0.0.0/8' }
  t.equal(await readUrl({ publicUrl: 'https://api.example/courier/' }, forwarded), 'https://api.example/courier')
  t.equal(await readUrl({ ...proxy, publicUrl: 'https://api.example' }, forwarded, '10.1.1.1'), 'https://api.example')
  t.equal(await readUrl(proxy, forwarded, '10.1.1.1'), 'https://courier.example')
  t.equal(
    await readUrl(proxy, { ...forwarded, 'x-forwarded-host': 'a, [2001:db8::1]:8443' }, '10.1.1.1'),
    'https://[2001:db8::1]:8443',
  )
  t.equal(await readUrl(proxy, { 'x-forwarded-host': 'courier.example' }, '10.1.1.1'), 'http://courier.example')
  for (const host of ['a/b', 'a@b', '"><script>', 'x'.repeat(300), ''])
    t.equal(await readUrl(proxy, { ...forwarded, 'x-forwarded-host': host }, '10.1.1.1'), '', host)
  t.equal(await readUrl(proxy, {}, '10.1.1.1'), '', 'a Host passed on by the proxy')
  t.equal(await readUrl(proxy, forwarded), '', 'from a client')
  t.equal(await readUrl({}, forwarded), '', 'from a client')
})

t.test('the public URL defaults to the local address of the connection', async t => {
  const app = await start(t)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const response = await fetch(`${address}/where`, {
    headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
  })
  t.strictSame(await response.json(), { url: address })
})

t.test('the OpenAPI document names the configured URL as its server', async t => {
  const readServers = async (edge: Edge) => (await (await start(t, edge)).inject('/openapi.json')).json().servers
  t.strictSame(await readServers({ publicUrl: 'https://api.example' }), [{ url: 'https://api.example' }])
  t.strictSame(await readServers({}), [{ url: '/' }], 'without one, the origin of the document')
})
