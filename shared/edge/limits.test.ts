import t, { type Test } from 'tap'
import { requireService } from '../access/authenticate.ts'
import { httpError } from '../errors/errors.ts'
import { buildServer } from '../test/server.ts'
import { type AddressLimits, findNetwork } from './addresses.ts'
import { Limit, limitRequests } from './limits.ts'

const serviceToken = 'a-service-token-of-tests'

/** Builds an application whose routes respond as their names say; a caller may make five requests a minute. */
const build = async (t: Test, addressLimits: AddressLimits) => {
  const app = await buildServer(t, {
    addressLimits,
  })
  const refuse = async () => {
    throw httpError('unauthenticated', 'Unauthenticated.')
  }
  app.get('/open', async () => ({}))
  app.get('/refused', refuse)
  await app.register(async caller => {
    caller.addHook(
      'onRequest',
      limitRequests(new Limit('merchant', 5), request => String(request.headers['x-caller'])),
    )
    caller.get('/called', async () => ({}))
  })
  await app.register(async internal => {
    internal.addHook('onRequest', requireService(serviceToken))
    internal.get('/internal/thing', async () => ({}))
  })
  return (url: string, remoteAddress = '192.0.2.1', headers: Record<string, string> = {}) =>
    app.inject({ url, remoteAddress, headers })
}

const plenty = { requests: 1_000_000, refusals: 1_000_000 }

t.test('a caller may send up to the limit in the minute after its first request', t => {
  let now = 1_000_000
  const limit = new Limit('merchant', 2, () => now)
  t.strictSame(limit.count('a'), { left: 1, seconds: 60 })
  now += 20_000
  t.equal(limit.secondsSpent('a'), 0)
  t.strictSame(limit.count('a'), { left: 0, seconds: 40 })
  t.equal(limit.secondsSpent('a'), 40)
  t.strictSame(limit.count('a'), { left: -1, seconds: 40 })
  t.strictSame(limit.count('b'), { left: 1, seconds: 60 }, 'other callers are not affected')
  now += 39_999
  t.strictSame(limit.count('a'), { left: -2, seconds: 1 })
  now += 1
  t.equal(limit.secondsSpent('a'), 0)
  t.strictSame(limit.count('a'), { left: 1, seconds: 60 })
  t.end()
})

t.test('any number of callers uses bounded memory', t => {
  const limit = new Limit('address', 1)
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 500_000; index++) limit.count(`10.${index}`)
  const grown = (process.memoryUsage().heapUsed - before) / 1_048_576
  t.ok(grown < 64, `${grown.toFixed(1)} MiB`)
  t.equal(limit.count('10.0').left, 0, 'the oldest callers are forgotten')
  t.equal(limit.count('10.499999').left, -1)
  t.end()
})

t.test('an IPv6 network with a 64-bit prefix is one caller, and so is an IPv4 address', t => {
  const same: [address: string, network: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['2001:0DB8:0001:2:ffff:ffff:ffff:ffff', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::7:1:2:3:4', '2001:db8:0:7'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ]
  for (const [address, network] of same) t.equal(findNetwork(address), network, address)
  t.end()
})

t.test('never reports more seconds than the window has', async t => {
  const limit = new Limit('merchant', 2, () => 34_793.078531091705)
  t.equal(limit.count('a').seconds, 60)
})

t.test('responses show how much of the limit is left, and a request beyond it is refused', async t => {
  const get = await build(t, plenty)
  const responses = []
  for (let turn = 0; turn < 6; turn++) responses.push(await get('/called', undefined, { 'x-caller': 'a' }))
  t.strictSame(
    responses.map(({ statusCode, headers }) => [statusCode, headers['ratelimit-policy'], headers.ratelimit]),
    [4, 3, 2, 1, 0, 0].map((left, turn) => [turn < 5 ? 200 : 429, '"merchant";q=5;w=60', `"merchant";r=${left};t=60`]),
  )
  const last = responses.at(-1)
  t.strictSame(
    [last?.json(), last?.headers['retry-after']],
    [{ message: 'Too Many Attempts.', code: 'rate_limited' }, '60'],
  )
  t.equal((await get('/called', undefined, { 'x-caller': 'b' })).statusCode, 200)
})

t.test('an address is limited before its callers are authenticated, on unknown paths too', async t => {
  const get = await build(t, { ...plenty, requests: 3 })
  const urls = ['/open', '/nothing', '/refused', '/refused', '/called', '/open', '/nothing', '/refused']
  const statuses = []
  for (const url of urls) statuses.push((await get(url)).statusCode)
  t.strictSame(statuses, [200, 404, 401, 401, 200, 429, 429, 429], 'wrong tokens do not use up the limit')
  const refused = await get('/open')
  t.match(refused.headers, { ratelimit: /^"address";r=0;t=\d+$/, 'ratelimit-policy': '"address";q=3;w=60' })
  t.equal(refused.headers['retry-after'], refused.headers.ratelimit?.toString().split('t=')[1])
  t.match(refused.headers['x-request-id'], /./)
  t.equal((await get('/open', '192.0.2.2')).statusCode, 200)
  for (let turn = 0; turn < 5; turn++)
    for (const url of ['/health/live', '/health/ready', '/metrics']) t.equal((await get(url)).statusCode, 200, url)
})

t.test('the other service is not limited, but guesses at its token are', async t => {
  const get = await build(t, { requests: 3, refusals: 4 })
  const requestAs = (token: string) => get('/internal/thing', undefined, { authorization: `Bearer ${token}` })
  for (let turn = 0; turn < 10; turn++) t.equal((await requestAs(serviceToken)).statusCode, 200)
  const statuses = []
  for (let turn = 0; turn < 6; turn++) statuses.push((await requestAs(`guess-${turn}`)).statusCode)
  t.strictSame(statuses, [401, 401, 401, 401, 429, 429])
  t.equal((await requestAs(serviceToken)).statusCode, 200)
})
