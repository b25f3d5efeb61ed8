import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { readKeys } from '@courier/shared/vault.ts'
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { runCommand } from '../../../../dev/run-command.ts'
import { addStaff } from '../../core/access/staff-commands.ts'
import type { Tx } from '../../core/database/tables.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { waitUntil } from '../../test/receiver.ts'
import { tenantFile } from '../../test/tenant.ts'
import { checkLogins, opensFactor, rotateFactors } from './second-factor.ts'

const password = 'a-password-of-tests'
const {
  request,
  database,
  pool,
  rows,
  apply,
  staffToken: admin,
} = await ordersFixture(t, {
  login: { tokenDays: 30, staffHours: 12, triesPerEmail: 10, triesPerAddress: 100 },
})
/** Repeats a request while orders says that it changed nothing: a busy Postgres gives no connection for seconds. */
const insist = async (send: () => ReturnType<typeof request>) => {
  for (let tries = 0; ; tries++) {
    const response = await send()
    if (response.body?.code !== 'unavailable' || tries === 9) return response
    await delay(500)
  }
}
const staff = (method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown, token = admin) =>
  insist(() => request(method, `/api/staff${path}`, body, { token }))
const logIn = (email: string, given: object = { password }) => staff('POST', '/login', { email, ...given }, '')
/** Waits until requests with a token get this status: a change applies within five seconds. */
const until = (status: number, token: string, path = '/me') =>
  waitUntil(`${path} is ${status}`, async () => (await staff('GET', path, undefined, token)).status === status, 8)
const setPassword = (code: string, given = password, side = '/api/staff') =>
  insist(() => request('POST', `${side}/sign-in/password`, { code, password: given }, { token: '' }))
const readCode = (url: string): string => url.split('/').at(-1) ?? ''
const runAdmin = (command: readonly string[]) =>
  runCommand(join(import.meta.dirname, '../../admin.ts'), { ORDERS_DATABASE_URL: database.url }, command)
const add = async (name: string, roles: string[]) => {
  const email = `${name.toLowerCase()}@courier.example`
  const { status, body } = await staff('POST', '/people', { name, email, roles })
  return { status, body, email, id: body.data?.id as string, code: readCode(body.invitation?.url ?? '') }
}
const find = async (id: string) =>
  (await staff('GET', '/people')).body.data.find((row: { id: string }) => row.id === id)

t.test('an admin adds a person, whose link sets a password once', async t => {
  const { status, body, id, email, code } = await add('Ruwan', ['dispatcher'])
  t.match([status, body.data], [201, { name: 'Ruwan', roles: ['dispatcher'], is_active: true, last_in_at: null }])
  t.match(body.invitation.url, /\/portal\/#\/password\/demo\/[\w-]{43}$/)
  t.notOk(JSON.stringify(await rows('select * from invitations')).includes(code), 'only a hash is stored')
  t.equal((await logIn(email)).status, 422, 'nobody has a password before')
  t.match((await setPassword(code, 'short')).body.errors, { password: [String] })
  t.equal((await setPassword(code)).status, 200)
  const again = await setPassword(code, 'another-password')
  t.match([again.status, again.body.message], [422, /does not work any more/])
  t.equal((await setPassword(code, password, '/api/public/merchant')).status, 422)
  const { token } = (await logIn(email)).body
  t.match((await staff('GET', '/me', undefined, token)).body.data, { name: 'Ruwan', roles: ['dispatcher'] })
  t.match(await find(id), { last_in_at: String, invited_until: null })
  const audited = await rows(`select action, actor from audit where action like 'staff.%' order by audit_id`)
  for (const action of ['staff.added', 'staff.invited', 'staff.password_changed', 'staff.logged_in'])
    t.ok(
      audited.some(row => row.action === action),
      action,
    )
})

t.test('both of two requests at once cannot use a link; an expired, later or deactivated one is no use', async t => {
  const { id, code } = await add('Dilani', ['viewer'])
  const both = await Promise.all([setPassword(code), setPassword(code, 'another-password')])
  t.strictSame(both.map(({ status }) => status).sort(), [200, 422])
  const first = readCode((await staff('POST', `/people/${id}/invite`, {})).body.data.url)
  const second = readCode((await staff('POST', `/people/${id}/invite`, {})).body.data.url)
  t.equal((await setPassword(first)).status, 422, 'a later link ends it')
  await rows(`update invitations set expires_at = now() - interval '1 second' where used_at is null`)
  t.equal((await setPassword(second)).status, 422)
  const third = readCode((await staff('POST', `/people/${id}/invite`, {})).body.data.url)
  await staff('PATCH', `/people/${id}`, { is_active: false })
  t.equal((await setPassword(third)).status, 422)
  t.match((await staff('POST', `/people/${id}/invite`, {})).body.errors, { staff_id: [/reactivate/] })
})

t.test('a forgotten password: the link ends the sessions, and those of nobody else', async t => {
  const kamala = await add('Kamala', ['viewer'])
  const sunila = await add('Sunila', ['viewer'])
  for (const { code } of [kamala, sunila]) await setPassword(code)
  const [before, other] = [(await logIn(kamala.email)).body.token, (await logIn(sunila.email)).body.token]
  const { url } = (await staff('POST', `/people/${kamala.id}/invite`, {})).body.data
  t.equal((await staff('GET', '/me', undefined, before)).status, 200)
  await setPassword(readCode(url), 'a-new-password')
  await until(401, before)
  t.equal((await staff('GET', '/me', undefined, other)).status, 200)
  t.equal((await logIn(kamala.email)).status, 422)
  t.equal((await logIn(kamala.email, { password: 'a-new-password' })).status, 200)
})

t.test('roles and deactivation apply within five seconds; one admin stays', async t => {
  await addStaff(pool, { tenant: 'demo', email: 'one@courier.example', name: 'One', role: 'admin' }, password)
  await addStaff(pool, { tenant: 'demo', email: 'two@courier.example', name: 'Two', role: 'admin,viewer' }, password)
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async name => ({
      id: (await rows('select staff_id::text as id from staff where email = $1', [`${name}@courier.example`]))[0].id,
      token: (await logIn(`${name}@courier.example`)).body.token as string,
    })),
  )
  if (!one || !two) throw new Error('nobody')
  const changes = await Promise.all([
    staff('PATCH', `/people/${two.id}`, { roles: ['viewer'] }, one.token),
    staff('PATCH', `/people/${one.id}`, { is_active: false }, two.token),
  ])
  t.strictSame(changes.map(({ status }) => status).sort(), [200, 422], 'not both')
  const [{ left }] = await rows(`select count(*)::int as left from staff where is_active and 'admin' = any(roles)`)
  t.equal(left, 1)
  await staff('PATCH', `/people/${one.id}`, { is_active: true })
  await staff('PATCH', `/people/${one.id}`, { roles: ['admin'] })
  await staff('PATCH', `/people/${two.id}`, { roles: ['viewer'] })
  await until(403, two.token, '/people')
  for (const path of [`/people/${one.id}/invite`, `/people/${one.id}/reset`, `/people/${one.id}/sessions/end`])
    t.equal((await staff('POST', path, {}, two.token)).status, 403, path)
  await staff('PATCH', `/people/${two.id}`, { is_active: false })
  await until(401, two.token)
  t.equal((await staff('PATCH', '/people/999999', { is_active: false })).status, 404)
  const dup = await staff('POST', '/people', { name: 'X', email: 'ONE@courier.example', roles: ['viewer'] })
  t.match(dup.body.errors, { email: [/already/] })
  const sameName = await staff('POST', '/people', { name: 'One', email: 'x@courier.example', roles: ['viewer'] })
  t.match(sameName.body.errors, { name: [String] })
})

t.test('sessions are listed and ended, one or all, own and others', async t => {
  const { id, email, code } = await add('Nuwan', ['viewer'])
  await setPassword(code)
  const tokens = []
  for (let index = 0; index < 4; index++) tokens.push((await logIn(email)).body.token as string)
  const [mine = '', other = '', third = ''] = tokens
  const listed = (await staff('GET', '/sessions', undefined, mine)).body.data
  t.equal(listed.length, 4)
  t.equal(listed.filter((row: { is_current: boolean }) => row.is_current).length, 1)
  const [{ token_id }] = await rows(`select token_id from tokens where hash = sha256($1::text::bytea)`, [other])
  t.match((await staff('POST', '/sessions/end', { id: token_id }, mine)).body.data, { ended: 1 })
  t.equal((await staff('POST', '/sessions/end', { id: token_id }, mine)).status, 404, 'it has ended')
  t.match((await staff('POST', '/sessions/end', {}, mine)).body.data, { ended: 2 })
  for (const token of [other, third]) await until(401, token)
  t.equal((await staff('GET', '/me', undefined, mine)).status, 200)
  t.equal((await staff('GET', `/people/${id}/sessions`)).body.data.length, 1)
  t.equal((await staff('GET', `/people/${id}/sessions`, undefined, mine)).status, 403)
  t.match((await staff('POST', `/people/${id}/sessions/end`, {})).body.data, { ended: 1 })
  await until(401, mine)
  t.equal(
    (await staff('POST', '/sessions/end', { id: 'tok_aaaaaaaaaaaa' })).status,
    404,
    "an operator's token has none",
  )
})

t.test("a merchant's person is invited by an owner, and ends own sessions", async t => {
  const base = '/api/public/merchant'
  const login = async (email: string, given: string) =>
    (await request('POST', `${base}/login`, { email, password: given }, { token: '' })).body.token as string
  const owner = await login('shop@example.com', 'lanka-shoes-demo')
  const books = await login('books@example.com', 'ceylon-books-demo')
  const call = (method: 'GET' | 'POST' | 'PATCH', path: string, body: unknown, token: string) =>
    request(method, `${base}${path}`, body, { token })
  const person = { name: 'Nimali', email: 'nimali@example.com', role: 'clerk' }
  const { id } = (await call('POST', '/person', person, owner)).body.data
  t.equal((await call('POST', `/person/${id}/invite`, {}, books)).status, 404, 'not by another merchant')
  const { data } = (await call('POST', `/person/${id}/invite`, {}, owner)).body
  t.match(data.url, /\/desk\/#\/password\/demo\/[\w-]{43}$/)
  const code = readCode(data.url)
  t.equal((await setPassword(code)).status, 422, 'it is no link of staff')
  t.equal((await setPassword(code, password, base)).status, 200)
  const clerk = await login(person.email, password)
  t.equal((await call('POST', `/person/${id}/invite`, {}, clerk)).status, 403)
  const account = (await call('GET', '/sessions', undefined, owner)).body.data.length
  t.equal((await call('GET', '/sessions', undefined, clerk)).body.data.length, 1, 'only own sessions')
  await login(person.email, password)
  t.match((await call('POST', '/sessions/end', {}, clerk)).body.data, { ended: 1 })
  t.equal((await call('GET', '/sessions', undefined, owner)).body.data.length, account)
  const open = readCode((await call('POST', `/person/${id}/invite`, {}, owner)).body.data.url)
  for (const is_active of [false, true])
    t.equal((await call('PATCH', `/person/${id}`, { is_active }, owner)).status, 200)
  t.match((await setPassword(open, password, base)).body.errors, { code: [String] }, 'the deactivation ended the link')
})

t.test("the operator's deactivation ends links too", async t => {
  const { id, email, code } = await add('Chamari', ['viewer'])
  const command = ['staff', 'deactivate', '--tenant', 'demo', '--email', email]
  t.equal((await runAdmin(command)).status, 0)
  t.equal((await staff('PATCH', `/people/${id}`, { is_active: true })).status, 200)
  t.match((await setPassword(code)).body.errors, { code: [String] })
})

t.test('the second factor: set-up, codes that count once, recovery codes, a limit, a reset', async t => {
  await apply(tenantFile({ sign_in: { second_factor: 'admin' } }))
  const { email, id, code } = await add('Tharindu', ['admin'])
  await setPassword(code)
  const viewer = await add('Pavithra', ['viewer'])
  await setPassword(viewer.code)
  t.equal((await logIn(viewer.email)).status, 200, 'only admins need one')
  t.match((await logIn(email)).body.errors, { second_factor: [String] })
  const setUp = (given = password, of = email) =>
    staff('POST', '/sign-in/second-factor', { email: of, password: given }, '')
  t.equal((await setUp('wrong-password')).status, 422)
  t.match((await setUp(password, viewer.email)).body.errors, { second_factor: [/no second factor/] })
  const { data } = (await setUp()).body
  t.equal(data.recovery_codes.length, 10)
  t.match(data.url, /^otpauth:\/\/totp\//)
  const stored = JSON.stringify(await rows('select sealed_secret::text, recovery_hashes::text from second_factors'))
  t.notOk(stored.includes(data.secret) || stored.includes(data.recovery_codes[0]))
  const totp = new TOTP({ secret: Secret.fromBase32(data.secret) })
  const at = (seconds: number) => totp.generate({ timestamp: Date.now() + seconds * 1000 })
  t.match((await logIn(email, { password, code: data.recovery_codes[0] })).body.errors, { code: [String] })
  t.match((await logIn(email, { password, code: at(-61) })).body.errors, { code: [/wrong/] }, 'no drift above 30 s')
  const now = at(0)
  const both = await Promise.all([1, 2].map(() => logIn(email, { password, code: now })))
  t.strictSame(both.map(({ status }) => status).sort(), [200, 422], 'a code counts once')
  t.match((await logIn(email)).body.errors, { code: [String] })
  t.equal((await setUp()).status, 422, 'a second set-up needs a reset')
  t.equal((await logIn(email, { password, code: data.recovery_codes[1].toLowerCase() })).status, 200)
  t.equal((await logIn(email, { password, code: data.recovery_codes[1] })).status, 422, 'once')
  t.equal((await logIn(email, { password: 'wrong-password', code: at(30) })).status, 422)
  const link = (await staff('POST', `/people/${id}/invite`, {})).body.data.url
  t.match((await setPassword(readCode(link))).body, { token: null }, 'a new password does not replace the factor')
  t.match((await logIn(email)).body.errors, { code: [String] })
  for (let index = 0; index < 10; index++) await logIn(email, { password, code: '000000' })
  t.equal((await logIn(email, { password, code: at(30) })).status, 429, 'guesses are throttled like passwords')
  t.equal((await staff('POST', `/people/${id}/reset`)).status, 200)
  t.equal((await find(id)).has_second_factor, false)
  await apply(tenantFile({}))
})

t.test("the second factor of merchants' people: owners alone, or all; not the account of programs", async t => {
  const base = '/api/public/merchant'
  const call = (path: string, body?: object, token = '') => request('POST', `${base}${path}`, body, { token })
  const login = (email: string, given: object = { password }) => call('/login', { email, ...given })
  const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
  const owner = (await call('/login', shop)).body.token
  const ids: Record<string, number> = {}
  for (const role of ['owner', 'clerk']) {
    const person = { name: `A ${role}`, email: `a-${role}@example.com`, role, password }
    ids[role] = (await call('/person', person, owner)).body.data.id
  }
  await apply(tenantFile({ sign_in: { merchants: { second_factor: 'admin' } } }))
  t.equal((await call('/login', shop)).status, 200, 'programs use the account')
  t.match((await call('/sign-in/second-factor', shop)).body.errors, { second_factor: [/no second factor/] })
  t.equal((await login('a-clerk@example.com')).status, 200, 'clerks need none')
  t.match((await login('a-owner@example.com')).body.errors, { second_factor: [String] })
  await apply(tenantFile({ sign_in: { merchants: { second_factor: 'all' } } }))
  t.match((await login('a-clerk@example.com')).body.errors, { second_factor: [String] })
  const clerk = { email: 'a-clerk@example.com', password }
  t.equal((await call('/sign-in/second-factor', { ...clerk, password: 'wrong-password' })).status, 422)
  const { data } = (await call('/sign-in/second-factor', clerk)).body
  t.equal(data.recovery_codes.length, 10)
  const totp = new TOTP({ secret: Secret.fromBase32(data.secret) })
  const at = (seconds: number) => totp.generate({ timestamp: Date.now() + seconds * 1000 })
  const both = await Promise.all([1, 2].map(() => login(clerk.email, { password, code: at(0) })))
  t.strictSame(both.map(({ status }) => status).sort(), [200, 422], 'a code counts once')
  t.equal((await login(clerk.email, { password, code: data.recovery_codes[0] })).status, 200)
  for (let index = 0; index < 10; index++) await login(clerk.email, { password, code: '000000' })
  t.equal((await login(clerk.email, { password, code: at(30) })).status, 429, 'guesses are throttled')
  const books = (await call('/login', { email: 'books@example.com', password: 'ceylon-books-demo' })).body.token
  t.equal((await call(`/person/${ids.clerk}/reset`, undefined, books)).status, 404, 'not by another merchant')
  t.equal((await call(`/person/${ids.clerk}/reset`, undefined, owner)).status, 200)
  t.strictSame(await rows(`select 1 from second_factors where kind = 'merchants'`), [])
  const audited = await rows(`select actor from audit where action = 'person.sign_in_reset'`)
  t.equal(audited.length, 1)
  await apply(tenantFile({}))
})

t.test('staff recover: a link of the operator signs in once and forgets the second factor', async t => {
  const console = ['--console', 'https://portal.example/portal', '--json']
  const recover = (email: string) => runAdmin(['staff', 'recover', '--tenant', 'demo', '--email', email, ...console])
  const { email, id, code } = await add('Sanduni', ['admin'])
  await setPassword(code)
  await apply(tenantFile({ sign_in: { second_factor: 'all' } }))
  const factor = (await staff('POST', '/sign-in/second-factor', { email, password }, '')).body.data
  const now = new TOTP({ secret: Secret.fromBase32(factor.secret) }).generate()
  t.equal((await logIn(email, { password, code: now })).status, 200)
  t.equal((await find(id)).has_second_factor, true)
  await apply(tenantFile({ sign_in: { password: false, second_factor: 'all' } }))
  const { url } = JSON.parse((await recover(email)).stdout)
  t.match(url, /^https:\/\/portal\.example\/portal\/#\/recover\/demo\/[\w-]{43}$/)
  t.equal((await find(id)).has_second_factor, false)
  const useLink = () => request('POST', '/api/staff/sign-in/password', { code: readCode(url) }, { token: '' })
  const opened = await useLink()
  t.match((await staff('GET', '/me', undefined, opened.body.token)).body.data, { name: 'Sanduni' })
  t.equal((await useLink()).status, 422, 'once')
  t.match((await logIn(email)).body.errors, { password: [/provider/] }, 'the company still has only its provider')
  const audited = await rows(`select action from audit where actor_kind = 'operator' order by audit_id desc limit 3`)
  t.strictSame(audited.map(row => row.action).sort(), ['staff.invited', 'staff.sign_in_reset', 'token.revoked'])
  await staff('PATCH', `/people/${id}`, { is_active: false })
  for (const each of [email, 'nobody@courier.example']) {
    const { status, stderr } = await recover(each)
    t.equal(status, 1)
    t.match(stderr, new RegExp(`no active member of staff ${each}`))
  }
  await apply(tenantFile({}))
})

t.test('keys rotate seals second factors with the newest key, which then opens them alone', async t => {
  await apply(tenantFile({ sign_in: { second_factor: 'all', merchants: { second_factor: 'all' } } }))
  const { email, id, code } = await add('Rashmi', ['viewer'])
  await setPassword(code)
  const { secret } = (await staff('POST', '/sign-in/second-factor', { email, password }, '')).body.data
  const person = { email: 'a-owner@example.com', password }
  const base = '/api/public/merchant'
  const other = (await request('POST', `${base}/sign-in/second-factor`, person, { token: '' })).body.data
  const [{ person_id }] = await rows(`select person_id from merchant_people where email = $1`, [person.email])
  const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
  const read = (text: string) => readKeys('WEBHOOK_KEYS', text)
  const [{ count }] = await rows('select count(*)::int as count from second_factors')
  t.equal((await rotateFactors(pool, read(`next:${key(6)},test:${key(5)}`))).count, count)
  const left = await rows(`select from second_factors where key_id <> 'next'`)
  t.equal(left.length, 0)
  const check = checkLogins(pool, read(`next:${key(6)}`))
  for (const [holder, of] of [
    [{ staff_id: id }, secret],
    [{ person_id }, other.secret],
  ] as const) {
    const now = new TOTP({ secret: Secret.fromBase32(of) }).generate()
    t.equal(await check({ tenant: 'demo', holder, code: now, requestId: undefined }), undefined)
  }
  const opens = (text: string) => inTenant(pool, 'demo', (tx: Tx) => opensFactor(tx, 'demo', read(text)))
  t.equal(await opens(`next:${key(6)}`), true)
  t.equal(await opens(`next:${key(7)}`), false, 'it is another key')
  await rows('delete from second_factors')
  await apply(tenantFile({}))
})

t.test('a mail server that hangs or refuses delays no invitation', async t => {
  const heard: string[] = []
  const server = createServer(socket => {
    socket.write('220 mail.test\r\n')
    socket.on('data', data => {
      heard.push(String(data))
      socket.write(/^(EHLO|MAIL|RCPT)/.test(String(data)) ? '250 ok\r\n' : '354 go\r\n')
    })
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const mailing = await ordersFixture(t, { smtpUrl: `smtp://127.0.0.1:${port}` })
  const body = { name: 'Mailed', email: 'mailed@courier.example', roles: ['viewer'] }
  const added = await mailing.request('POST', '/api/staff/people', body, { token: mailing.staffToken })
  t.match(added, { status: 201, body: { invitation: { url: null } } })
  for (let tries = 0; tries < 50 && !heard.join('').includes('/#/password/'); tries++) await delay(100)
  t.match(heard.join(''), /RCPT TO:<mailed@courier.example>/)
  const shown = await mailing.request(
    'POST',
    `/api/staff/people/${added.body.data.id}/invite`,
    { show: true },
    { token: mailing.staffToken },
  )
  t.match(shown.body.data.url, /#\/password/)
})
