import t, { type Test } from 'tap'
import type { OrdersOptions } from '../../app.ts'
import { build } from '../../test/build.ts'
import { batch, tenantFile } from '../../test/tenant.ts'

const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
const books = { email: 'books@example.com', password: 'ceylon-books-demo' }
const generous = { tokenDays: 30, staffHours: 12, triesPerEmail: 100_000, triesPerAddress: 100_000 }

interface From {
  tenant?: string
  remoteAddress?: string
}

const open = async (t: Test, options: Partial<OrdersOptions> = {}) => {
  const built = await build(t, { login: generous, ...options })
  const login = (body: { email: string; password: string }, from: From = {}) =>
    built.request('/login', body, { token: '', ...from })
  const statuses = async (times: number, attempt: (index: number) => Promise<{ status: number }>) => {
    const found: number[] = []
    for (let index = 0; index < times; index++) found.push((await attempt(index)).status)
    return found
  }
  return { ...built, login, statuses }
}

const times = (count: number, status: number): number[] => Array<number>(count).fill(status)

interface Flood {
  name: string
  /** Returns the `index`-th login of the flood. */
  login: (index: number) => [{ email: string; password: string }, From]
  victim: From
}

const floods: Flood[] = [
  {
    name: 'one network against one merchant',
    login: index => [{ ...shop, password: 'wrong' }, { remoteAddress: `2001:db8::${index.toString(16)}` }],
    victim: { remoteAddress: '192.0.2.1' },
  },
  {
    name: 'one network against many tenants',
    login: index => [shop, { tenant: `t${index}`, remoteAddress: '192.0.2.9' }],
    victim: { remoteAddress: '192.0.2.1' },
  },
  {
    name: 'many networks against one merchant',
    login: index => [{ ...shop, password: 'wrong' }, { remoteAddress: `2001:db8:0:${index.toString(16)}::1` }],
    victim: { remoteAddress: '192.0.2.1' },
  },
  {
    name: 'many networks against the merchants of one tenant',
    login: index => [
      { email: `m${index}@example.com`, password: 'wrong' },
      { remoteAddress: `2001:db8:0:${index.toString(16)}::1` },
    ],
    victim: { tenant: 'other', remoteAddress: '192.0.2.1' },
  },
]

for (const flood of floods)
  t.test(`a flood from ${flood.name} blocks nobody else’s logins`, { timeout: 120_000 }, async t => {
    const { login, statuses, apply } = await open(t)
    await apply(tenantFile({ id: 'other' }))
    let checked = 0
    const underWay = Array.from({ length: 32 }, async (_, index) => {
      const { status } = await login(...flood.login(index))
      if (status === 422) checked++
    })
    const found = await statuses(3, () => login(books, flood.victim))
    // Without fair queues, the first login would wait behind the whole flood.
    t.ok(checked <= 16, `${checked} passwords of the flood were checked before the logins'`)
    await Promise.all(underWay)
    t.strictSame(found, times(3, 200))
  })

t.test('an IPv6 network is one address at login', async t => {
  const { login, statuses } = await open(t, { login: { ...generous, triesPerAddress: 3 } })
  const found = await statuses(5, index =>
    login({ email: `m${index}@example.com`, password: 'x' }, { remoteAddress: `2001:db8::${index}` }),
  )
  t.strictSame(found, [422, 422, 422, 429, 429])
  t.equal((await login(shop, { remoteAddress: '2001:db8:0:1::1' })).status, 200)
})

t.test('failed logins from one network do not lock merchants out elsewhere', async t => {
  const { login, statuses } = await open(t, { login: { ...generous, triesPerEmail: 2, triesPerAddress: 30 } })
  const wrong = { ...shop, password: 'wrong' }
  const attacker = await Promise.all(
    Array.from({ length: 30 }, (_, index) => login(wrong, { remoteAddress: `2001:db8::${index}` })),
  )
  t.equal(attacker.filter(({ status }) => status === 422).length, 2)
  t.equal((await login(shop, { remoteAddress: '192.0.2.1' })).status, 200)

  const elsewhere = await statuses(23, index => login(wrong, { remoteAddress: `198.51.100.${index}` }))
  t.strictSame(
    elsewhere,
    [...times(18, 422), ...times(5, 429)],
    'all networks together have ten times as many attempts',
  )
  t.equal((await login(shop, { remoteAddress: '192.0.2.2' })).status, 429)
  t.equal(
    (await login(shop, { remoteAddress: '192.0.2.1' })).status,
    200,
    'the merchant may still log in where it did before',
  )
})

t.test('a network over its limit uses up no attempts of an e-mail address', async t => {
  const { login, statuses } = await open(t, { login: { ...generous, triesPerEmail: 1, triesPerAddress: 3 } })
  const from = { remoteAddress: '192.0.2.1' }
  t.strictSame(
    await statuses(3, index => login({ email: `m${index}@example.com`, password: 'x' }, from)),
    times(3, 422),
  )
  t.strictSame(await statuses(20, () => login({ ...shop, password: 'x' }, from)), times(20, 429))
  const others = await statuses(10, index =>
    login({ ...shop, password: 'x' }, { remoteAddress: `198.51.100.${index}` }),
  )
  t.strictSame(others, times(10, 422))
})

t.test('a program may log in before each request without ending earlier tokens', async t => {
  const { login, request } = await open(t, { login: { ...generous, triesPerEmail: 5, triesPerAddress: 30 } })
  const token = async () => (await login(shop)).body.token
  const kept = await token()
  const waybills: string[] = []
  for (let index = 0; index < 20; index++) {
    const { status, body } = await request('/order/bulk', batch(), { token: await token() })
    t.equal(status, 200)
    waybills.push(...body.data)
  }
  for (const waybill of waybills.slice(0, 15)) {
    const path = `/order/tracking-info?waybill_number=${waybill}`
    t.equal((await request(path, undefined, { token: await token() })).status, 200)
  }
  t.equal((await request('/state', undefined, { token: kept })).status, 200)
})

t.test(
  'a merchant logs in 600 times a minute from one network, and a changed password ends all its sessions',
  async t => {
    const { login, statuses, request, apply, rows } = await open(t)
    const from = (remoteAddress: string) => ({ remoteAddress })
    const first = (await login(shop, from('2001:db8::1'))).body.token
    t.strictSame(await statuses(600, index => login(shop, from(`2001:db8::${index}`))), [...times(599, 200), 429])
    const refused = await login(shop, from('2001:db8::1'))
    t.strictSame(refused.body, { message: 'Too Many Attempts.', code: 'rate_limited' })
    t.ok(Number(refused.headers['retry-after']) >= 1 && Number(refused.headers['retry-after']) <= 60)
    t.equal((await login(shop, from('192.0.2.1'))).status, 200)
    t.equal((await login(books, from('2001:db8::1'))).status, 200)
    t.equal((await request('/state', undefined, { token: first })).status, 200)

    const changed = tenantFile()
    changed.merchants = changed.merchants.map(merchant => ({ ...merchant, password: 'a-new-password' }))
    await apply(changed)
    t.strictSame(await rows('select from tokens where from_login and revoked_at is null'), [])
    t.equal((await login(shop, from('192.0.2.1'))).status, 422)
  },
)

t.test('logins at one moment succeed: 200 of one company from everywhere, or 513 from one office', async t => {
  const { login, apply } = await open(t)
  const logInAtOnce = async (count: number, attempt: (index: number) => ReturnType<typeof login>) => {
    const responses = await Promise.all(Array.from({ length: count }, (_, index) => attempt(index)))
    const [busy] = responses.filter(({ status }) => status === 503)
    return { busy, statuses: Map.groupBy(responses, ({ status }) => status) }
  }
  const people = Array.from({ length: 200 }, (_, index) => ({
    email: `p${index}@example.com`,
    password: shop.password,
  }))
  const merchants = people.map((person, index) => ({
    ...person,
    name: 'P',
    businesses: [{ id: index + 1, name: 'P' }],
  }))
  await apply({ ...tenantFile(), merchants })
  const company = await logInAtOnce(200, index =>
    login(people[index] ?? shop, { remoteAddress: `2001:db8:0:${index.toString(16)}::1` }),
  )
  t.strictSame([...company.statuses.keys()], [200])
  const { statuses, busy } = await logInAtOnce(540, () => login(shop, { remoteAddress: '192.0.2.1' }))
  t.strictSame([statuses.get(200)?.length, statuses.get(503)?.length], [513, 27], 'one login runs and 512 wait')
  t.match(busy, {
    headers: { 'retry-after': '2' },
    body: { message: 'Too many logins at once. Repeat the request.' },
  })
  t.equal((await login(shop)).status, 200)
})
