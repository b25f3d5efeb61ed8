import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { build } from '../../test/build.ts'

const shop = 'shop@example.com'

t.test('all tokens of a merchant share its rate limit, including tokens from logins', async t => {
  const { request, createToken } = await build(t, { requestsPerMinute: 4 })
  const second = await createToken(shop)
  const getStatus = async (token?: string) => (await request('/state', undefined, token ? { token } : {})).status
  t.strictSame(
    [await getStatus(), await getStatus(second), await getStatus(), await getStatus(second)],
    [200, 200, 200, 200],
  )
  const login = await request('/login', { email: shop, password: 'lanka-shoes-demo' }, { token: '' })
  t.equal(login.status, 200)
  for (const token of [undefined, second, login.body.token]) t.equal(await getStatus(token), 429)
  t.equal(await getStatus(await createToken('books@example.com')), 200, 'another merchant')
})

t.test('after too many wrong tokens, an address gets 429 for further ones, but its valid tokens work', async t => {
  const { request, token, createToken } = await build(t, { addressLimits: { requests: 1_000_000, refusals: 3 } })
  t.equal((await request('/state')).status, 200)
  const guess = (index: number, remoteAddress = '127.0.0.1') =>
    request('/state', undefined, { token: `courier_${index}`.padEnd(51, 'x'), remoteAddress })
  for (let index = 0; index < 3; index++) t.equal((await guess(index)).status, 401)
  const refused = await guess(4)
  t.match(refused, {
    status: 429,
    body: { message: 'Too Many Attempts.', code: 'rate_limited' },
    headers: { 'retry-after': /^[1-6]?\d$/ },
  })
  t.equal(
    (await request('/state', undefined, { token: await createToken(shop) })).status,
    200,
    'a token not seen before',
  )
  await delay(3_100)
  t.equal((await request('/state', undefined, { token })).status, 200, 'a token used before, looked up again')
  t.equal((await guess(5, '192.0.2.7')).status, 401, 'another address')
})

t.test('a valid token whose role forbids a request does not count as a wrong token', async t => {
  const { request } = await build(t, { addressLimits: { requests: 1_000_000, refusals: 3 } })
  for (let index = 0; index < 4; index++) t.equal((await request('/token')).status, 403)
  t.equal((await request('/state', undefined, { token: `courier_${'x'.repeat(43)}` })).status, 401)
})

t.test('where no token is needed, a response shows the limit of the address', async t => {
  const { request } = await build(t, { addressLimits: { requests: 2, refusals: 60 } })
  const login = () => request('/login', { email: shop, password: 'wrong' }, { token: '' })
  t.match(await login(), { status: 422, headers: { ratelimit: '"address";r=1;t=60' } })
  t.match(await login(), { status: 422, headers: { ratelimit: '"address";r=0;t=60' } })
  t.match(await login(), { status: 429, headers: { 'ratelimit-policy': '"address";q=2;w=60' } })
})
