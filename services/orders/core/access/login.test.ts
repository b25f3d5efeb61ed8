import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, loadConfig } from '@courier/shared/config.ts'
import { createBulkheads } from '@courier/shared/edge/bulkheads.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { findStream } from '@courier/shared/postgres/pg-internals.ts'
import { BulkheadRejectedError } from 'cockatiel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Settings } from '../../config.ts'
import { build } from '../../test/build.ts'
import { tenantFile } from '../../test/tenant.ts'
import type { Tx } from '../database/tables.ts'
import { createLoginThrottle } from './login-throttle.ts'
import { createPasswordCheck, hashPassword, isPassword } from './passwords.ts'
import { deleteOldTokens } from './tokens.ts'

const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
const wrong = {
  message: 'These credentials do not match our records.',
  code: 'validation_failed',
  errors: { email: ['These credentials do not match our records.'] },
}
const generous = { tokenDays: 30, staffHours: 12, triesPerEmail: 1000, triesPerAddress: 1000 }

const open = async (t: Test, options: Parameters<typeof build>[1] = {}) => {
  const built = await build(t, { login: generous, ...options })
  const login = (
    body: unknown,
    where: { tenant?: string; remoteAddress?: string; headers?: Record<string, string> } = {},
  ) => built.request('/login', body, { token: '', ...where })
  return { ...built, login }
}

t.test('a correct password gets a working token with its merchant', async t => {
  const { login, request, rows } = await open(t)
  const { status, body } = await login({ email: ' Shop@Example.com ', password: shop.password })
  t.equal(status, 200)
  t.equal(body.message, 'success')
  const merchant = { id: body.user.id, name: 'Lanka Shoes' }
  const shown = { id: merchant.id, first_name: 'Lanka Shoes', last_name: '', email: shop.email, merchant }
  t.strictSame(body.user, { ...shown, business_id: null, role: 'owner', person: null })
  const current = await request('/user/get-current', undefined, { token: body.token })
  const tenant = {
    id: 'demo',
    name: 'Demo Couriers',
    currency: 'LKR',
    decimals: 2,
    country: 'LK',
    time_zone: 'Asia/Colombo',
    secondary_phone: true,
  }
  t.strictSame(current.body.data, { ...body.user, tenant }, 'screens show times by the clock of the company')
  const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000
  t.ok(days > 29.9 && days <= 30, `${days} days`)
  const stored = await rows('select expires_at from tokens where expires_at is not null')
  t.strictSame(
    stored.map(row => row.expires_at.toISOString()),
    [body.expires_at],
  )
})

t.test('each login creates a token of its own, and earlier ones stay valid', async t => {
  const { login, request } = await open(t)
  const first = (await login(shop)).body.token
  const second = (await login(shop)).body.token
  t.not(first, second)
  for (const token of [first, second]) t.equal((await request('/state', undefined, { token })).status, 200)
})

t.test('every failed login gets the same response', async t => {
  const { login, apply } = await open(t)
  const other = tenantFile({ id: 'other' })
  other.merchants = [{ name: 'Far Shop', email: 'far@example.com', password: 'far-shop-demo', businesses: [] }]
  await apply(other)
  const table: [Record<string, string>, string][] = [
    [{ ...shop, password: 'lanka-shoes-dem' }, 'demo'],
    [{ ...shop, email: 'nobody@example.com' }, 'demo'],
    [{ ...shop, email: 'a😀@example.com' }, 'demo'],
    [{ ...shop, password: '\ud800' }, 'demo'],
    [{ ...shop, password: '\u0000' }, 'demo'],
    [shop, 'other'],
    [{ email: 'far@example.com', password: 'far-shop-demo' }, 'demo'],
    [shop, 'nowhere'],
    [shop, "'; drop table tokens"],
    [shop, 'DEMO'],
  ]
  for (const [body, tenant] of table) {
    const response = await login(body, { tenant })
    t.strictSame([response.status, response.body], [422, wrong], `${JSON.stringify(body)} of ${tenant}`)
  }
  t.equal((await login({ email: 'far@example.com', password: 'far-shop-demo' }, { tenant: 'other' })).status, 200)
})

t.test('an invalid e-mail address or password is refused under its field', async t => {
  const { login } = await open(t)
  const noEmail = { email: ['The email field must be a valid email address.'] }
  const table: [unknown, object][] = [
    [{}, { email: ['The email field is required.'], password: ['The password field is required.'] }],
    [null, { email: ['The email field is required.'], password: ['The password field is required.'] }],
    [
      { email: null, password: '' },
      { email: [String], password: ['The password field is required.'] },
    ],
    [{ ...shop, email: 'shop' }, noEmail],
    [{ ...shop, email: 'shop\u0000@example.com' }, noEmail],
    [{ ...shop, email: 'shop\ud800@example.com' }, noEmail],
    [{ ...shop, email: 7 }, { email: [String] }],
    [{ ...shop, password: 12345678 }, { password: [String] }],
    [
      { ...shop, password: 'x'.repeat(256) },
      { password: ['The password field must not be greater than 255 characters.'] },
    ],
  ]
  for (const [body, errors] of table) {
    const response = await login(body)
    t.equal(response.status, 422, JSON.stringify(body))
    t.match(response.body.errors, errors, JSON.stringify(body))
    t.strictSame(Object.keys(response.body.errors), Object.keys(errors))
  }
  t.equal((await login('{"email":')).status, 400)
  const { status } = await login({ ...shop, email: `${'a'.repeat(5_000_000)}@example.com` })
  t.ok([413, 422].includes(status), `${status}`)
  t.equal((await login(shop, { headers: { 'content-type': 'text/plain' } })).status, 415)
})

t.test('a connection lost while the look-up commits gets 503, and the next login works', async t => {
  let isLosing = false
  const poolOf = async (url: string) => {
    const pool = createPool({ url, name: 'lossy', connections: 2 })
    pool.on('connect', client => {
      const { query } = client
      const stream = findStream(client)
      const lossy = (...words: Parameters<typeof query>) => {
        if (isLosing && String(words[0]) === 'commit') stream.destroy()
        return query.apply(client, words)
      }
      client.query = lossy as unknown as typeof query
    })
    t.teardown(() => pool.end())
    return pool
  }
  const { login } = await open(t, { poolOf })
  t.equal((await login(shop)).status, 200)
  isLosing = true
  t.match(await login(shop), { status: 503, headers: { 'retry-after': 1 }, body: { code: 'unavailable' } })
  isLosing = false
  t.equal((await login(shop)).status, 200)
})

t.test('a login without X-tenant gets 400', async t => {
  const { app } = await open(t)
  const response = await app.inject({ method: 'POST', url: '/api/public/merchant/login', payload: shop })
  t.strictSame(
    [response.statusCode, response.json()],
    [400, { message: 'The X-tenant header is required.', code: 'tenant_required' }],
  )
  t.equal((await app.inject('/api/public/merchant/login')).statusCode, 405)
})

t.test('an unknown merchant or tenant takes about as long as a wrong password', async t => {
  const { login } = await open(t)
  const kinds: Record<string, () => Promise<unknown>> = {
    wrong: () => login({ ...shop, password: 'another' }),
    unknown: () => login({ ...shop, email: 'nobody@example.com' }),
    'of no tenant': () => login(shop, { tenant: 'nowhere' }),
  }
  const times = new Map(Object.keys(kinds).map(kind => [kind, [] as number[]]))
  for (let round = 0; round < 15; round++)
    for (const [kind, attempt] of Object.entries(kinds)) {
      const start = performance.now()
      await attempt()
      times.get(kind)?.push(performance.now() - start)
    }
  const median = (kind: string) => times.get(kind)?.sort((a, b) => a - b)[7] ?? 0
  t.comment(Object.keys(kinds).map(kind => `${kind}: ${median(kind).toFixed(1)} ms`))
  // Without a hash an attempt would take a tenth of the time.
  for (const kind of ['unknown', 'of no tenant']) {
    t.ok(median(kind) > median('wrong') / 2, kind)
    t.ok(median(kind) < median('wrong') * 2, kind)
  }
})

t.test('after five failed logins in a minute even the correct password gets 429', async t => {
  const { login, request, apply } = await open(t, { login: { ...generous, triesPerEmail: 5 } })
  for (let tries = 0; tries < 20; tries++) t.equal((await login(shop)).status, 200, 'correct passwords do not count')
  const spellings = ['shop@example.com', 'SHOP@example.com', ' shop@example.com']
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, i) => login({ email: spellings[i % 3], password: `wrong-${i}` })),
  )
  const filterByStatus = (status: number) => responses.filter(response => response.status === status)
  t.equal(filterByStatus(422).length, 5)
  t.equal(filterByStatus(429).length, 25)
  for (const { headers, body } of filterByStatus(429)) {
    t.strictSame(body, { message: 'Too Many Attempts.', code: 'rate_limited' })
    t.ok(Number(headers['retry-after']) >= 1 && Number(headers['retry-after']) <= 60)
  }
  t.equal((await login(shop)).status, 429)
  t.equal((await login({ email: 'books@example.com', password: 'ceylon-books-demo' })).status, 200, 'another merchant')
  await apply(tenantFile({ id: 'other' }))
  t.equal((await login(shop, { tenant: 'other' })).status, 200, 'the namesake in another tenant may log in')
  t.equal((await request('/state')).status, 200, 'existing tokens stay valid')
})

t.test('an unknown e-mail address is limited like a known one', async t => {
  const { login } = await open(t, { login: { ...generous, triesPerEmail: 2 } })
  for (const [tenant, email] of [
    ['demo', 'nobody@example.com'],
    ['nowhere', 'shop@example.com'],
  ] as const) {
    const statuses = []
    for (let tries = 0; tries < 4; tries++) statuses.push((await login({ email, password: 'x' }, { tenant })).status)
    t.strictSame(statuses, [422, 422, 429, 429], tenant)
  }
})

t.test('failed logins from one network address are limited across all merchants', async t => {
  const { login } = await open(t, { login: { ...generous, triesPerAddress: 3 } })
  const from = (remoteAddress: string, i: number) =>
    login({ email: `m${i}@example.com`, password: 'x' }, { remoteAddress })
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await from('192.0.2.1', i)).status)
  t.strictSame(statuses, [422, 422, 422, 429, 429])
  t.equal((await login(shop, { remoteAddress: '192.0.2.1' })).status, 429)
  t.equal((await login(shop, { remoteAddress: '192.0.2.2' })).status, 200)
  const claimed = { remoteAddress: '192.0.2.1', headers: { 'x-forwarded-for': '192.0.2.9' } }
  t.equal((await login(shop, claimed)).status, 429, 'an untrusted client cannot claim another address')
})

t.test('a trusted proxy names the address of the client', async t => {
  const { login, request } = await open(t, {
    login: { ...generous, triesPerAddress: 1 },
    trustedProxies: '10.0.0.0/8,::1',
  })
  const through = (address: string) => ({ remoteAddress: '10.1.2.3', headers: { 'x-forwarded-for': address } })
  t.equal((await login({ ...shop, password: 'x' }, through('192.0.2.1'))).status, 422)
  t.equal((await login(shop, through('192.0.2.1'))).status, 429)
  t.equal((await login(shop, through('192.0.2.2'))).status, 200)
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'courier.example' }
  const list = await request('/state', undefined, { remoteAddress: '10.1.2.3', headers: forwarded })
  t.equal(list.body.meta.path, 'https://courier.example/api/public/merchant/state')
})

t.test('refuses a malformed proxy address at startup', t => {
  const needed = { ORDERS_DATABASE_URL: 'postgres://orders@localhost/orders', SERVICE_TOKEN: 'a-token-of-this-test' }
  const read = (TRUSTED_PROXIES: string) => loadConfig(Settings, { ...needed, TRUSTED_PROXIES }).TRUSTED_PROXIES
  for (const good of [
    '10.0.0.1',
    '10.0.0.0/8,192.168.0.0/16',
    '::1',
    'fc00::/7,127.0.0.1',
    '2001:db8::8:800:200c:417a',
  ])
    t.equal(read(good), good)
  t.equal(read(''), undefined)
  for (const bad of [
    'true',
    '1',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::1/129',
    '10.0.0.1;10.0.0.2',
    'proxy.example',
  ])
    t.throws(() => read(bad), ConfigError, bad)
  t.end()
})

t.test('attempts are forgotten after a minute', t => {
  let time = 1_000_000
  const throttle = createLoginThrottle(2, 1000, () => time)
  const here = { network: '192.0.2.1', account: 'demo shop@example.com' }
  throttle.count(here, false)
  time += 1_000
  t.equal(throttle.secondsSpent(here), 0)
  throttle.count(here, false)
  t.equal(throttle.secondsSpent(here), 59)
  t.equal(throttle.secondsSpent({ ...here, account: 'demo books@example.com' }), 0)
  time += 57_500
  t.equal(throttle.secondsSpent(here), 2)
  time += 1_500
  t.equal(throttle.secondsSpent(here), 0)
  t.end()
})

t.test('bulkheads run few tasks of a key at once, alternate between keys, and refuse the excess', async t => {
  const run = createBulkheads({ network: 1, process: 2 }, 2)
  const ends = new Map<string, () => void>()
  const begun: string[] = []
  const task = (network: string, name: string) =>
    run({ network, process: '' }, () => {
      begun.push(name)
      return new Promise<void>(end => ends.set(name, end))
    })
  const tasks = [task('a', 'a1'), task('a', 'a2'), task('a', 'a3'), task('b', 'b1'), task('c', 'c1')]
  await t.rejects(task('a', 'a4'), new BulkheadRejectedError(1, 2))
  t.strictSame(begun, ['a1', 'b1'])
  ends.get('a1')?.()
  await tasks[0]
  await delay(1)
  t.strictSame(begun, ['a1', 'b1', 'c1'], 'c1 came last')
  for (const name of ['b1', 'c1', 'a2', 'a3']) {
    ends.get(name)?.()
    await delay(1)
  }
  await Promise.all(tasks)
  t.strictSame(begun, ['a1', 'b1', 'c1', 'a2', 'a3'])
  await t.rejects(
    run({ network: 'a', process: '' }, () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  t.equal(await run({ network: 'a', process: '' }, async () => 'free'), 'free', 'a failed task frees its slot')
})

t.test('a correct password is hashed once, a wrong or changed one each time', async t => {
  let hashes = 0
  const check = createPasswordCheck((password, stored) => {
    hashes++
    return isPassword(password, stored)
  })
  const countHashes = async (password: string, stored: string, isCorrect: boolean) => {
    const before = hashes
    t.equal(await check(password, stored), isCorrect)
    return hashes - before
  }
  const [stored, changed] = [await hashPassword('lanka-shoes-demo'), await hashPassword('another-password')]
  t.equal(await countHashes('lanka-shoes-demo', stored, true), 1)
  for (let run = 0; run < 5; run++) t.equal(await countHashes('lanka-shoes-demo', stored, true), 0)
  for (let run = 0; run < 2; run++) t.equal(await countHashes('wrong', stored, false), 1)
  for (let run = 0; run < 2; run++) t.equal(await countHashes('lanka-shoes-demo', changed, false), 1)
  t.equal(await countHashes('another-password', changed, true), 1)
})

t.test('a changed password invalidates the old one at once', async t => {
  const { login, apply } = await open(t)
  for (let run = 0; run < 2; run++) t.equal((await login(shop)).status, 200)
  const changed = tenantFile()
  changed.merchants = changed.merchants.map(merchant =>
    merchant.email === shop.email ? { ...merchant, password: 'a-new-password' } : merchant,
  )
  await apply(changed)
  t.equal((await login(shop)).status, 422)
  t.equal((await login({ ...shop, password: 'a-new-password' })).status, 200)
})

t.test('housekeeping deletes only tokens that ended more than a week ago', async t => {
  const { pool, rows, login, request } = await open(t)
  const live = (await login(shop)).body.token
  const add = (id: string, expires: string | null, revoked: string | null) =>
    rows(
      `insert into tokens (tenant_id, token_id, hash, staff_name, expires_at, revoked_at)
       values ('demo', $1::text, $1::text::bytea, 'Ruwan', now() + $2::interval, now() + $3::interval)`,
      [id, expires, revoked],
    )
  const table: [id: string, expires: string | null, revoked: string | null, isKept: boolean][] = [
    ['lasting', null, null, true],
    ['to_come', '1 day', null, true],
    ['just_over', '-6 days', null, true],
    ['long_over', '-8 days', null, false],
    ['just_revoked', '30 days', '-6 days', true],
    ['long_revoked', '30 days', '-8 days', false],
    ['revoked_lasting', null, '-8 days', false],
  ]
  for (const [id, expires, revoked] of table) await add(id, expires, revoked)
  const clean = (tenant: string) => inTenant(pool, tenant, (tx: Tx) => deleteOldTokens(tx, tenant))
  t.equal(await clean('other'), 0)
  t.equal(await clean('demo'), 3)
  t.equal(await clean('demo'), 0)
  const left = (await rows(`select token_id from tokens where token_id not like 'tok\\_%' order by 1`)).map(
    row => row.token_id,
  )
  t.strictSame(left, table.flatMap(([id, , , isKept]) => (isKept ? [id] : [])).sort())
  t.equal((await request('/state', undefined, { token: live })).status, 200)
})

t.test(
  'an account keeps the 50 logins that it used last, however long ago, and all that it used within eight days',
  async t => {
    const { pool, rows, login, request } = await open(t)
    const { token } = (await login(shop)).body
    const add = (count: number, used: string) =>
      rows(
        `insert into tokens (tenant_id, token_id, hash, merchant_id, from_login, created_at, last_used_at, expires_at)
       select 'demo', $2 || n, ($2 || n)::bytea, merchant_id, true, now() - interval '20 days', now() - $2::interval,
         now() + interval '10 days' from merchants, generate_series(1, $1) n where email = 'shop@example.com'`,
        [count, used],
      )
    await add(60, '7 days')
    await add(5, '9 days')
    const clean = () => inTenant(pool, 'demo', (tx: Tx) => deleteOldTokens(tx, 'demo'))
    t.equal(await clean(), 5)
    await rows(
      `update tokens set last_used_at = now() - interval '9 days' where from_login and last_used_at is not null`,
    )
    t.equal(await clean(), 11)
    t.equal((await request('/state', undefined, { token })).status, 200)
  },
)

t.test('log lines have no password, e-mail address or token', async t => {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => void lines.push(line) })
  const { login, request } = await open(t, { logger, login: { ...generous, triesPerEmail: 1 } })
  const { token } = (await login(shop)).body
  await request('/user/get-current', undefined, { token })
  await login({ ...shop, password: 'wrong-password' })
  await login({ ...shop, password: 'wrong-password' })
  await login({ email: 'bad', password: 'wrong-password' })
  const log = lines.join('')
  t.match(log, /"route":"\/api\/public\/merchant\/login","status":200/)
  t.match(log, /merchant\.logged_in/)
  t.match(log, /"status":429/)
  for (const secret of [token, shop.password, 'wrong-password', 'shop@example', '"bad"'])
    t.notOk(log.includes(secret), secret.slice(0, 8))
})
