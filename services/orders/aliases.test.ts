import t from 'tap'
import { ordersFixture } from './test/orders-fixture.ts'

const { app, request, make, token, createToken } = await ordersFixture(t)
await make(['DM00000001'])

const inject = (method: 'GET' | 'HEAD' | 'POST', url: string, payload?: string) =>
  app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      'x-tenant': 'demo',
      ...(payload !== undefined && { 'content-type': 'application/json' }),
    },
    ...(payload !== undefined && { payload }),
  })

const { paths } = (await app.inject('/openapi.json')).json()
const prefix = '/api/public/merchant'
const documented: [method: string, path: string][] = Object.entries<Record<string, unknown>>(paths).flatMap(
  ([path, methods]) => Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), path]),
)
/** Leaves out the logout, which would end the token of all other requests. */
const ofMerchants = documented.filter(([, path]) => path.startsWith(`${prefix}/`) && !path.endsWith('/logout'))
const fillPath = (path: string): string => path.replace(/\{\w+\}/, 'DM00000001')

t.test('every request of merchants is served under /api/merchant too', async t => {
  t.ok(ofMerchants.length > 12)
  t.strictSame(
    documented.filter(([, path]) => path.startsWith('/api/merchant')),
    [],
    'each is documented once',
  )
  for (const [method, path] of ofMerchants) {
    const body = method === 'POST' ? '{}' : undefined
    const alias = path.replace(prefix, '/api/merchant')
    const [first, second] = [
      await inject(method as 'GET', fillPath(path), body),
      await inject(method as 'GET', fillPath(alias), body),
    ]
    t.equal(second.statusCode, first.statusCode, alias)
    const removeAges = (text: string) =>
      text.replace(/"date_time_ago":"[^"]*"|\(D:\d+Z\)|\/ID \[.*/g, '').replaceAll(alias, path)
    t.equal(removeAges(second.body), removeAges(first.body), alias)
    const stranger = await app.inject({
      method: method as 'GET',
      url: fillPath(alias),
      headers: { 'x-tenant': 'demo' },
    })
    const isOpen = path.endsWith('/login') || path.includes('/sign-in/')
    const expected = !isOpen ? 401 : method === 'GET' ? 200 : 422
    t.equal(stranger.statusCode, expected, alias)
  }
})

t.test('a merchant logs out under either path', async t => {
  const own = { token: await createToken('shop@example.com') }
  t.equal((await request('POST', '/api/merchant/logout', '', own)).status, 200)
  t.equal((await request('GET', '/api/merchant/state', undefined, own)).status, 401)
})

t.test('both paths share limits, metrics and path rules; links keep the path of the request', async t => {
  const limited = await ordersFixture(t, { requestsPerMinute: 3 })
  const get = (url: string) => limited.request('GET', url)
  t.equal((await get('/api/merchant/state')).status, 200)
  t.equal((await get(`${prefix}/state`)).status, 200)
  t.equal((await get('/api/merchant/state')).status, 200)
  t.equal((await get('/api/merchant/state')).status, 429)
  const metrics = (await limited.app.inject('/metrics')).body
  t.match(metrics, `route="${prefix}/state",status="429"`)
  t.notMatch(metrics, 'route="/api/merchant')
  for (const url of ['/api/%6derchant/state', '/api//merchant/state', '//api/merchant/state', '/api/merchantx/state'])
    t.equal((await inject('GET', url)).statusCode, 404, url)
  t.equal((await inject('GET', '/api/merchant/order/bulk')).headers.allow, 'POST')
  const { links } = (await inject('GET', '/api/merchant/city?per_page=1')).json()
  t.match(links.next, /\/api\/merchant\/city\?per_page=1&page=2$/)
  t.equal((await inject('GET', links.next.replace(/^http:\/\/[^/]+/, ''))).statusCode, 200)
})

t.test('HEAD returns the status and content type of GET, without a body', async t => {
  const gets = documented.filter(([method]) => method === 'GET').map(([, path]) => path)
  const extras = [
    '/order?noPagination',
    '/order?page=0',
    '/city?noPagination',
    '/order/tracking-info?waybill_number=DM00000001',
  ]
  for (const url of [...gets.map(fillPath), ...extras.map(path => prefix + path)]) {
    const [get, head] = [await inject('GET', url), await inject('HEAD', url)]
    t.equal(head.statusCode, get.statusCode, url)
    t.equal(head.headers['content-type'], get.headers['content-type'], url)
    t.equal(head.body, '', url)
  }
})
