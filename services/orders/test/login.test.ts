import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError, loadConfig } from '@courier/shared/config.ts'
import { inTenant } from '@courier/shared/database.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { deleteOldTokens } from '../access/token-queries.ts'
import { createWaitingRoom, RoomFull } from '../access/waiting-room.ts'
import { createWrongTries } from '../access/wrong-tries.ts'
import type { OrdersOptions } from '../app.ts'
import { Settings } from '../config.ts'
import type { Tx } from '../database/tables.ts'
import { build } from './build.ts'
import { tenantFile } from './tenant.ts'

const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
const wrong = {
  message: 'The given data was invalid.',
  errors: { email: ['These credentials do not match our records.'] },
}
const generous = { tokenDays: 30, triesPerEmail: 1000, triesPerAddress: 1000 }

const open = async (t: Test, options: Partial<OrdersOptions> = {}) => {
  const built = await build(t, { login: generous, ...options })
  const login = (
    body: unknown,
    where: { tenant?: string; remoteAddress?: string; headers?: Record<string, string> } = {},
  ) => built.call('/login', body, { token: '', ...where })
  return { ...built, login }
}

t.test('a right password gives a token that works, and says whose it is', async t => {
  const { login, call, rows } = await open(t)
  const { status, body } = await login({ email: ' Shop@Example.com ', password: shop.password })
  t.equal(status, 200)
  t.equal(body.message, 'success')
  const merchant = { id: body.user.id, name: 'Lanka Shoes' }
  t.strictSame(body.user, { id: merchant.id, first_name: 'Lanka Shoes', last_name: '', email: shop.email, merchant })
  const current = await call('/user/get-current', undefined, { token: body.token })
  t.strictSame(current.body.data, body.user)
  const days = (Date.parse(body.expires_at) - Date.now()) / 86_400_000
  t.ok(days > 29.9 && days <= 30, `${days} days`)
  const stored = await rows('select expires_at from tokens where expires_at is not null')
  t.strictSame(
    stored.map(row => row.expires_at.toISOString()),
    [body.expires_at],
  )
})

t.test('each login makes a token of its own, and those before stay good', async t => {
  const { login, call } = await open(t)
  const first = (await login(shop)).body.token
  const second = (await login(shop)).body.token
  t.not(first, second)
  for (const token of [first, second]) t.equal((await call('/state', undefined, { token })).status, 200)
})

t.test('whatever is wrong, the answer is the same', async t => {
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
    const answer = await login(body, { tenant })
    t.strictSame([answer.status, answer.body], [422, wrong], `${JSON.stringify(body)} of ${tenant}`)
  }
  t.equal((await login({ email: 'far@example.com', password: 'far-shop-demo' }, { tenant: 'other' })).status, 200)
})

t.test('what is no e-mail address or no password is told under its name', async t => {
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
    const answer = await login(body)
    t.equal(answer.status, 422, JSON.stringify(body))
    t.match(answer.body.errors, errors, JSON.stringify(body))
    t.strictSame(Object.keys(answer.body.errors), Object.keys(errors))
  }
  t.equal((await login('{"email":')).status, 400)
  t.equal((await login(shop, { headers: { 'content-type': 'text/plain' } })).status, 415)
})

t.test('a login without X-tenant is told so', async t => {
  const { app } = await open(t)
  const answer = await app.inject({ method: 'POST', url: '/api/public/merchant/login', payload: shop })
  t.strictSame([answer.statusCode, answer.json()], [400, { message: 'The X-tenant header is required.' }])
  t.equal((await app.inject('/api/public/merchant/login')).statusCode, 405)
})

t.test('an unknown merchant or tenant costs as much time as a wrong password', async t => {
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
  // Without the hash work it would be a tenth.
  for (const kind of ['unknown', 'of no tenant']) {
    t.ok(median(kind) > median('wrong') / 2, kind)
    t.ok(median(kind) < median('wrong') * 2, kind)
  }
})

t.test('five wrong tries a minute, then even the right password waits', async t => {
  const { login, call, apply } = await open(t, { login: { ...generous, triesPerEmail: 5 } })
  for (let tries = 0; tries < 20; tries++) t.equal((await login(shop)).status, 200, 'right ones do not count')
  const spellings = ['shop@example.com', 'SHOP@example.com', ' shop@example.com']
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => login({ email: spellings[i % 3], password: `wrong-${i}` })),
  )
  const ofStatus = (status: number) => answers.filter(answer => answer.status === status)
  t.equal(ofStatus(422).length, 5)
  t.equal(ofStatus(429).length, 25)
  for (const { headers, body } of ofStatus(429)) {
    t.strictSame(body, { message: 'Too Many Attempts.' })
    t.ok(Number(headers['retry-after']) >= 1 && Number(headers['retry-after']) <= 60)
  }
  t.equal((await login(shop)).status, 429)
  t.equal((await login({ email: 'books@example.com', password: 'ceylon-books-demo' })).status, 200, 'others go on')
  await apply(tenantFile({ id: 'other' }))
  t.equal((await login(shop, { tenant: 'other' })).status, 200, 'also the namesake of another tenant')
  t.equal((await call('/state')).status, 200, 'and tokens that are there')
})

t.test('an unknown address is limited like a known one', async t => {
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

t.test('wrong tries from one network address are limited over all merchants', async t => {
  const { login } = await open(t, { login: { ...generous, triesPerAddress: 3 } })
  const from = (remoteAddress: string, i: number) =>
    login({ email: `m${i}@example.com`, password: 'x' }, { remoteAddress })
  const statuses = []
  for (let i = 0; i < 5; i++) statuses.push((await from('192.0.2.1', i)).status)
  t.strictSame(statuses, [422, 422, 422, 429, 429])
  t.equal((await login(shop, { remoteAddress: '192.0.2.1' })).status, 429)
  t.equal((await login(shop, { remoteAddress: '192.0.2.2' })).status, 200)
  const claimed = { remoteAddress: '192.0.2.1', headers: { 'x-forwarded-for': '192.0.2.9' } }
  t.equal((await login(shop, claimed)).status, 429, 'nobody claims to come from elsewhere')
})

t.test('a trusted proxy tells where a call came from', async t => {
  const { login, call } = await open(t, {
    login: { ...generous, triesPerAddress: 1 },
    trustedProxies: '10.0.0.0/8,::1',
  })
  const through = (address: string) => ({ remoteAddress: '10.1.2.3', headers: { 'x-forwarded-for': address } })
  t.equal((await login({ ...shop, password: 'x' }, through('192.0.2.1'))).status, 422)
  t.equal((await login(shop, through('192.0.2.1'))).status, 429)
  t.equal((await login(shop, through('192.0.2.2'))).status, 200)
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'courier.example' }
  const list = await call('/state', undefined, { remoteAddress: '10.1.2.3', headers: forwarded })
  t.equal(list.body.meta.path, 'https://courier.example/api/public/merchant/state')
})

t.test('what is no address of a proxy is refused at the start', t => {
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
    '::1/129',
    '10.0.0.1;10.0.0.2',
    'proxy.example',
  ])
    t.throws(() => read(bad), ConfigError, bad)
  t.end()
})

t.test('a crowd with the right password gets in, except for whom there is no room', async t => {
  const { login } = await open(t, { login: { ...generous, triesPerEmail: 5 } })
  const answers = await Promise.all(Array.from({ length: 80 }, () => login(shop)))
  const busy = answers.filter(answer => answer.status === 503)
  t.ok(busy.length > 0)
  t.equal(answers.filter(answer => answer.status === 200).length + busy.length, 80)
  t.match(busy[0], { headers: { 'retry-after': '1' }, body: { message: 'Too many logins at once. Repeat the call.' } })
  t.equal((await login(shop)).status, 200)
})

t.test('wrong tries are forgotten after a minute, and a key waits for its own', async t => {
  let time = 1_000_000
  const enter = createWrongTries(2, () => time)
  const entered = async (key: string) => {
    const entry = await enter(key)
    if (entry.kind !== 'entered') throw new Error(entry.kind)
    return entry
  }
  const first = await entered('a')
  const second = await entered('a')
  let third: Awaited<ReturnType<typeof enter>> | undefined
  const waiting = enter('a').then(entry => {
    third = entry
  })
  await delay(10)
  t.equal(third, undefined, 'two run, and both may be wrong')
  ;(await entered('b')).leave(true)
  first.leave(false)
  await waiting
  t.match(third, { kind: 'entered' })
  second.leave(true)
  if (third?.kind === 'entered') third.leave(true)
  t.strictSame(await enter('a'), { kind: 'too_many', retryAfterSeconds: 60 })
  time += 58_500
  t.strictSame(await enter('a'), { kind: 'too_many', retryAfterSeconds: 2 })
  time += 1_500
  t.match(await enter('a'), { kind: 'entered' })
})

t.test('a waiting room runs a few at once, in order, and turns away what has no seat', async t => {
  const room = createWaitingRoom(2, 2)
  const ends: (() => void)[] = []
  const begun: number[] = []
  const task = (number: number) =>
    room(() => {
      begun.push(number)
      return new Promise<void>(end => ends.push(end))
    })
  const tasks = [task(1), task(2), task(3), task(4)]
  await t.rejects(task(5), RoomFull)
  t.strictSame(begun, [1, 2])
  ends[0]?.()
  await tasks[0]
  await delay(1)
  t.strictSame(begun, [1, 2, 3])
  const failing = t.rejects(
    room(() => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  for (let rounds = 0; rounds < 5; rounds++) {
    for (const end of ends) end()
    await delay(1)
  }
  await Promise.all([...tasks, failing])
  t.equal(await room(async () => 'free'), 'free', 'a failed task gives its place back')
})

t.test('housekeeping deletes tokens that ended a week ago, and no other', async t => {
  const { pool, rows, login, call } = await open(t)
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
  t.equal((await call('/state', undefined, { token: live })).status, 200)
})

t.test('no log line has a password, an e-mail address or a token', async t => {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => void lines.push(line) })
  const { login, call } = await open(t, { logger, login: { ...generous, triesPerEmail: 1 } })
  const { token } = (await login(shop)).body
  await call('/user/get-current', undefined, { token })
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
