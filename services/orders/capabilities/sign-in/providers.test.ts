import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { addStaff } from '../../core/access/staff-commands.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { type Account, clientSecret, signToken, startLiar, startProvider, walk } from '../../test/provider.ts'
import { tenantFile, withCards } from '../../test/tenant.ts'

const publicUrl = 'http://127.0.0.1:9'
const redirectUri = `${publicUrl}/api/public/sign-in/callback`
const accounts: Record<string, Account> = {
  viewer: { email: 'Viewer@courier.example', email_verified: true },
  unverified: { email: 'viewer@courier.example', email_verified: false },
  stranger: { email: 'stranger@courier.example', email_verified: true },
  former: { email: 'former@courier.example', email_verified: true },
  newcomer: { email: 'new@courier.example', email_verified: true, name: 'New Comer', groups: ['x', 'dispatch'] },
  nimali: { email: 'nimali@example.com', email_verified: true },
  shop: { email: 'shop@example.com', email_verified: true },
}
const provider = await startProvider(t, () => redirectUri, accounts)
const tokens: ((
  ...given: Parameters<typeof signToken> extends [infer Key, ...unknown[]] ? [Key, Record<string, unknown>] : never
) => string | undefined)[] = []
const liar = await startLiar(t, (key, claims) => tokens[0]?.(key, claims))
const describe = (id: string, of: 'staff' | 'merchants', issuer = provider.issuer, tenants = ['demo', 'rival']) => ({
  ...{ id, name: id, issuer, client_id: 'courier', client_secret: clientSecret, tenants, for: of },
})
const lines: string[] = []
const logger = pino(
  { level: 'info' },
  new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  }),
)
const providers = [
  describe('staff', 'staff'),
  describe('people', 'merchants'),
  { ...describe('directory', 'staff', provider.issuer, ['rival']), trust_email: true },
  describe('liar', 'staff', liar.issuer, ['demo']),
  describe('gone', 'staff', 'http://127.0.0.1:1', ['demo']),
]
const { request, pool, rows, apply, app, staffToken } = await ordersFixture(t, {
  publicUrl,
  logger,
  signInProviders: JSON.stringify(providers),
})
await apply(withCards(tenantFile({ id: 'rival', waybills: { mode: 'auto', format: 'RV########' } })))
const password = 'a-password-of-tests'
for (const tenant of ['demo', 'rival'])
  for (const role of ['viewer', 'admin'] as const)
    await addStaff(pool, { tenant, email: `${role}@courier.example`, name: `The ${role}`, role }, password)
await addStaff(pool, { tenant: 'demo', email: 'former@courier.example', name: 'Former', role: 'viewer' }, password)
await rows(`update staff set is_active = false where email = 'former@courier.example'`)

const open = (side: string, path: string, body: unknown, tenant = 'demo') =>
  request('POST', `${side}/sign-in/${path}`, body, { token: '', tenant })
const callBack = async (url: string) => {
  const { statusCode, headers, body } = await app.inject({ url: url.slice(publicUrl.length) })
  const [, kind, tenant, code = ''] = /#\/(provider|refused)\/([\w-]+)\/([\w-]+)$/.exec(String(headers.location)) ?? []
  return { statusCode, location: String(headers.location), body, kind, tenant, code }
}
interface Way {
  id?: string
  side?: string
  tenant?: string
}
const begin = async (who: string, { id = 'staff', side = '/api/staff', tenant = 'demo' }: Way = {}) => {
  provider.state.who = who
  const { data } = (await open(side, 'start', { provider: id }, tenant)).body
  return { ...data, back: await walk(data.url, redirectUri) } as { url: string; browser: string; back: string }
}
const signIn = async (who: string, way: Way = {}) => {
  const { browser, back } = await begin(who, way)
  const { kind, code } = await callBack(back)
  if (kind !== 'provider') return { reason: code }
  const { status, body } = await open(way.side ?? '/api/staff', 'finish', { code, browser }, way.tenant)
  return { status, token: body.token as string, code, browser }
}
const readMe = (token: string, tenant = 'demo') => request('GET', '/api/staff/me', undefined, { token, tenant })

t.test('a person signs in, at first by a verified address, then by the subject', async t => {
  const { data } = (await request('GET', '/api/staff/sign-in/methods', undefined, { token: '' })).body
  t.match(data, { password: true, providers: [{ id: 'staff' }, { id: 'liar' }, { id: 'gone' }] })
  const { url } = (await open('/api/staff', 'start', { provider: 'staff' })).body.data
  const { searchParams } = new URL(url)
  t.match(Object.fromEntries(searchParams), {
    code_challenge_method: 'S256',
    redirect_uri: redirectUri,
    nonce: /.{43}/,
  })
  const { status, token, code, browser } = await signIn('viewer')
  t.equal(status, 200)
  t.match((await readMe(token as string)).body.data, { name: 'The viewer', roles: ['viewer'] })
  t.equal((await open('/api/staff', 'finish', { code, browser })).status, 422, 'a code counts once')
  accounts.viewer = { email: 'another@courier.example', email_verified: true }
  const { token: later } = await signIn('viewer')
  t.equal((await readMe(later as string)).body.data.email, 'viewer@courier.example', 'the address has changed')
  accounts.second = { email: 'viewer@courier.example', email_verified: true }
  t.equal((await signIn('second')).reason, 'other_account', 'somebody else has the address now')
})

t.test('nobody is created, and whoever may not enter gets a reason and a line without personal data', async t => {
  const before = (await rows('select from staff')).length
  for (const [who, reason] of Object.entries({
    ...{ unverified: 'unverified', stranger: 'unknown', former: 'inactive', newcomer: 'unknown', deny: 'denied' },
  }))
    t.equal((await signIn(who)).reason, reason, who)
  t.equal((await rows('select from staff')).length, before)
  const log = lines.join('')
  t.match(log, /"reason":"denied",.*"error":"access_denied"/)
  t.notMatch(log, /courier\.example|Private text|client-secret/)
  t.notOk(/code=|state=/.test(log))
})

t.test('the company file says which groups make which role', async t => {
  await apply(withCards(tenantFile({ sign_in: { groups: { dispatch: ['dispatcher'] } } } as never)))
  const { token } = await signIn('newcomer')
  t.match((await readMe(token as string)).body.data, { name: 'New Comer', roles: ['dispatcher'] })
  t.equal((await signIn('stranger')).reason, 'unknown', 'no group')
  await rows(`update staff set is_active = false where email = 'new@courier.example'`)
  t.equal((await signIn('newcomer')).reason, 'inactive', 'a group does not reactivate')
  await apply(withCards(tenantFile()))
})

t.test('only the browser that began, and only once, ends a sign-in', async t => {
  const { browser, back } = await begin('viewer')
  const other = (await begin('viewer')).browser
  const { code } = await callBack(back)
  t.equal((await open('/api/staff', 'finish', { code, browser: other })).status, 422)
  const replayed = await callBack(back)
  t.match([replayed.statusCode, replayed.body], [400, /has ended/])
  t.equal(
    (await open('/api/public/merchant', 'finish', { code, browser })).status,
    422,
    'it is no sign-in of a merchant',
  )
  t.equal((await open('/api/staff', 'finish', { code, browser }, 'rival')).status, 422, 'nor of another tenant')
  await rows(`update staff set is_active = false where email = 'viewer@courier.example' and tenant_id = 'demo'`)
  t.equal((await open('/api/staff', 'finish', { code, browser })).status, 422, 'deactivated in between')
  t.equal((await signIn('viewer')).reason, 'inactive')
  await rows(`update staff set is_active = true where email = 'viewer@courier.example'`)
  for (const url of [
    '',
    '?state=x',
    '?state=demo.x&code=y',
    `?state=demo.${'a'.repeat(43)}&code=y`,
    '?state=a&state=b',
  ])
    t.equal((await callBack(redirectUri + url)).statusCode, 400, url)
})

t.test('trust_email takes the addresses of a provider as verified', async t => {
  accounts.unsaid = { email: 'viewer@courier.example' }
  t.equal((await signIn('unsaid')).reason, 'unverified')
  t.equal((await signIn('unsaid', { id: 'directory', tenant: 'rival' })).status, 200)
})

t.test('a sign-in by the provider ends the invitation', async t => {
  const invited = { name: 'Invited', email: 'invited@courier.example', roles: ['viewer'] }
  const { body } = await request('POST', '/api/staff/people', invited, { token: staffToken })
  accounts.invited = { email: invited.email, email_verified: true }
  const { token } = await signIn('invited')
  t.match((await readMe(token as string)).body.data, { name: 'Invited' })
  const code = body.invitation.url.split('/').at(-1)
  t.equal((await open('/api/staff', 'password', { code, password })).status, 422)
})

t.test('one address in two tenants is two people; a provider serves the tenants that it names', async t => {
  accounts.both = { email: 'admin@courier.example', email_verified: true }
  const [demo, rival] = [await signIn('both'), await signIn('both', { tenant: 'rival' })]
  t.equal((await readMe(demo.token as string)).status, 200)
  t.equal((await readMe(demo.token as string, 'rival')).status, 401)
  t.equal((await readMe(rival.token as string, 'rival')).status, 200)
  t.equal((await open('/api/staff', 'start', { provider: 'gone' }, 'rival')).status, 422)
  t.equal((await open('/api/staff', 'start', { provider: 'people' })).status, 422, 'it is for merchants')
})

t.test("a merchant's person signs in by the provider for merchants, and its account does not", async t => {
  const base = '/api/public/merchant'
  const { token: owner } = (
    await request('POST', `${base}/login`, { email: 'shop@example.com', password: 'lanka-shoes-demo' }, { token: '' })
  ).body
  await request(
    'POST',
    `${base}/person`,
    { name: 'Nimali', email: 'nimali@example.com', role: 'clerk' },
    { token: owner },
  )
  const way = { id: 'people', side: base }
  const { token } = await signIn('nimali', way)
  t.match((await request('GET', `${base}/user/get-current`, undefined, { token: token as string })).body.data, {
    ...{ role: 'clerk', person: { name: 'Nimali' } },
  })
  t.equal((await signIn('shop', way)).reason, 'unknown')
})

t.test('password: false leaves the provider alone, and programs of merchants their login', async t => {
  await apply(withCards(tenantFile({ sign_in: { password: false, merchants: { password: false } } } as never)))
  const login = (side: string, email: string, given: string) =>
    request('POST', `${side}/login`, { email, password: given }, { token: '' })
  t.match((await login('/api/staff', 'admin@courier.example', password)).body.errors, { password: [/provider/] })
  t.equal((await login('/api/public/merchant', 'shop@example.com', 'lanka-shoes-demo')).status, 200)
  t.equal((await signIn('both')).status, 200)
  const person = (await request('GET', '/api/staff/people', undefined, { token: staffToken })).body.data.find(
    (row: { name: string }) => row.name === 'The viewer',
  )
  const link = await request('POST', `/api/staff/people/${person.id}/invite`, {}, { token: staffToken })
  t.match(
    (await open('/api/staff', 'password', { code: link.body.data.url.split('/').at(-1), password })).body.errors,
    { password: [/provider/] },
  )
  await apply(withCards(tenantFile()))
})

t.test('a provider that is down delays no start and blocks no password', async t => {
  t.match((await open('/api/staff', 'start', { provider: 'gone' })).body, { message: /does not respond/ })
  const login = { email: 'admin@courier.example', password }
  t.equal((await request('POST', '/api/staff/login', login, { token: '' })).status, 200)
})

t.test('keys that the provider rotated are read anew', async t => {
  t.equal((await signIn('both')).status, 200)
  provider.rotate()
  const first = await signIn('both')
  t.equal(first.status, 200, first.reason ?? '')
})

t.test('wrong ID tokens are refused', async t => {
  const attempt = async () => {
    const { data } = (await open('/api/staff', 'start', { provider: 'liar' })).body
    const { searchParams } = new URL(data.url)
    liar.nonce = searchParams.get('nonce') ?? ''
    const back = `${redirectUri}?code=x&state=${searchParams.get('state')}`
    return (await callBack(back)).code
  }
  const now = Math.floor(Date.now() / 1000)
  const unsigned = (claims: object) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part({ alg: 'none' })}.${part(claims)}.`
  }
  const lies: Record<string, (typeof tokens)[number]> = {
    'alg none': (_key, claims) => unsigned(claims),
    'another issuer': (key, claims) => signToken(key, {}, { ...claims, iss: 'https://evil.example' }),
    'another audience': (key, claims) => signToken(key, {}, { ...claims, aud: 'somebody-else' }),
    'another nonce': (key, claims) => signToken(key, {}, { ...claims, nonce: 'x' }),
    expired: (key, claims) => signToken(key, {}, { ...claims, iat: now - 900, exp: now - 60 }),
    'a broken signature': (key, claims) => `${signToken(key, {}, claims).slice(0, -8)}AAAAAAAA`,
    'another algorithm': (key, claims) => signToken(key, { alg: 'HS256' }, claims),
    'a refused code': () => undefined,
  }
  for (const [name, lie] of Object.entries(lies)) {
    tokens[0] = lie
    t.equal(await attempt(), 'failed', name)
  }
  await rows(`delete from provider_subjects`)
  tokens[0] = (key, claims) => signToken(key, {}, { ...claims, iat: now + 10, exp: now - 10 })
  t.match(await attempt(), /^[\w-]{43}$/, 'clocks may differ by 30 seconds')
})

t.test('200 sign-ins at one moment: none is a 503', async t => {
  provider.state.who = 'both'
  const times = Array.from({ length: 200 })
  const started = await Promise.all(times.map(() => open('/api/staff', 'start', { provider: 'staff' })))
  t.strictSame([...new Set(started.map(({ status }) => status))], [200])
  const ways: { browser: string; back: string }[] = []
  // They share one session of the provider, whose memory keeps 1000 things.
  const jar = new Map<string, string>()
  for (const { body } of started)
    ways.push({ browser: body.data.browser, back: await walk(body.data.url, redirectUri, jar) })
  const finished = await Promise.all(
    ways.map(async ({ browser, back }) => {
      const { kind, code } = await callBack(back)
      return kind === 'provider' ? (await open('/api/staff', 'finish', { code, browser })).status : code
    }),
  )
  t.strictSame([...new Set(finished)], [200], lines.findLast(line => line.includes('sign_in.refused')) ?? '')
})
