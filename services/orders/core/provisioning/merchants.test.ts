import { setTimeout as delay } from 'node:timers/promises'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import t, { type Test } from 'tap'
import { connectTo } from '../../../../dev/test-database.ts'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { batch, tenantFile } from '../../test/tenant.ts'
import { createTokenFor } from '../access/token-commands.ts'
import { applyTenant } from './apply.ts'
import { checkFile } from './check-file.ts'
import { addMerchant, changePassword, deactivateMerchant } from './merchant-commands.ts'
import type { TenantFile } from './tenant-file.ts'

const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }

type Entry = TenantFile['merchants'][number]

/** Returns the small tenant; `fields` replace fields of its first merchant or add to them. */
const fileWith = (fields: Partial<Entry>): TenantFile => {
  const file = tenantFile()
  const [first, ...others] = file.merchants as [Entry, ...Entry[]]
  return { ...file, merchants: [{ ...first, ...fields }, ...others] }
}

const open = async (t: Test) => {
  const built = await build(t)
  const { pool, request, ordersOptions } = built
  const apply = async (fields: Partial<Entry>, dryRun = false) => {
    const checked = checkFile(fileWith(fields))
    const result = checked.kind === 'refused' ? checked : await applyTenant(pool, checked.file, dryRun)
    if (result.kind === 'refused') return result.errors
    return result.changes.map(({ kind, id, change, reason }) => `${kind} ${id} ${change}${reason ? `: ${reason}` : ''}`)
  }
  const login = async (credentials: { email: string; password: string } = shop) =>
    request('/login', credentials, { token: '' })
  /** Runs the service as another process would: it shares only the database. */
  const other = await createOrders(ordersOptions)
  t.teardown(() => other.app.close())
  const readStatusElsewhere = async (token: string) => {
    const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
    return (await other.app.inject({ url: '/api/public/merchant/user/get-current', headers })).statusCode
  }
  /** Returns the status of a request in this process and in the other. */
  const readStatuses = async (token: string) => [
    (await request('/user/get-current', undefined, { token })).status,
    await readStatusElsewhere(token),
  ]
  /** Begins a transaction of another operator; `waitForIt` resolves when somebody waits for its locks. */
  const begin = async () => {
    const operator = await connectTo(t, built.database.superuserUrl)
    await operator.query('begin')
    const waiting = `select 1 from pg_locks join pg_stat_activity using (pid) where not granted
      and datname = current_database()`
    const waitForIt = async () => {
      for (let polls = 0; (await built.rows(waiting)).length === 0; polls++) {
        if (polls > 600) throw new Error('nobody waits')
        await delay(20)
      }
    }
    return { operator, waitForIt }
  }
  return { ...built, apply, login, readStatuses, readStatusElsewhere, begin }
}

t.test('a new password ends the tokens of logins, at once and in every process', async t => {
  const { apply, login, readStatuses, token, rows } = await open(t)
  const tokens = [(await login()).body.token, (await login()).body.token]
  const books = (await login({ email: 'books@example.com', password: 'ceylon-books-demo' })).body.token
  for (const live of [...tokens, token, books]) t.strictSame(await readStatuses(live), [200, 200])
  const ended = await rows(
    `select token_id as id from tokens join merchants using (tenant_id, merchant_id)
    where from_login and email = $1 order by tokens.created_at`,
    [shop.email],
  )
  const lines = [
    'merchant shop@example.com changed',
    ...ended.map(({ id }) => `login token ${id} revoked: the password of shop@example.com changed`),
  ]
  t.same(await apply({ password: 'another-password' }, true), lines)
  for (const live of tokens) t.strictSame(await readStatuses(live), [200, 200], 'a dry run ends nothing')
  t.same(await apply({ password: 'another-password' }), lines)
  for (const dead of tokens) t.strictSame(await readStatuses(dead), [401, 401])
  t.strictSame(await readStatuses(token), [200, 200], 'the token of the operator stays')
  t.strictSame(await readStatuses(books), [200, 200], 'the tokens of another merchant stay')
  t.match(await login(), { status: 422 })
  t.match(await login({ ...shop, password: 'another-password' }), { status: 200 })
  const audited = await rows(`select object_id from audit where action = 'token.revoked' order by object_id`)
  t.strictSame(
    audited.map(row => row.object_id),
    ended.map(row => row.id).sort(),
  )
})

t.test('a command for one merchant keeps what another operator changes meanwhile', async t => {
  const { begin, pool, rows } = await open(t)
  const books = { tenant: 'demo', email: 'books@example.com' }
  const commands = [
    () => changePassword(pool, { tenant: 'demo', email: shop.email }, 'another-password'),
    () => deactivateMerchant(pool, books),
  ]
  for (const command of commands) {
    const { operator, waitForIt } = await begin()
    await operator.query(`select pg_advisory_xact_lock(hashtextextended('demo', 0))`)
    await operator.query(`update merchants set name = name || '!', charges_apart = true, password_hash = 'new'`)
    await operator.query(`update businesses set name = name || '!' where tenant_id = 'demo'`)
    const changed = command()
    await waitForIt()
    await operator.query('commit')
    t.match(await changed, { kind: 'applied', changes: [{ kind: 'merchant', change: /changed|deactivated/ }] })
  }
  const merchants = await rows('select name, charges_apart, is_active, password_hash from merchants order by email')
  t.match(merchants, [
    { name: 'Ceylon Books!!', charges_apart: true, is_active: false, password_hash: 'new' },
    { name: 'Lanka Shoes!!', charges_apart: true, is_active: true, password_hash: 'new' },
  ])
  const names = (await rows('select name from businesses where is_active order by 1')).map(({ name }) => name)
  t.strictSame(names, ['Ceylon Books!!', 'Lanka Shoes Online!!', 'Lanka Shoes Outlet!!'])
})

t.test('one of two operators who add a merchant at once is refused', async t => {
  const { pool, login } = await open(t)
  const add = (password: string) =>
    addMerchant(pool, { tenant: 'demo', email: 'new@example.com', name: password, business: [] }, password)
  const passwords = ['first-password', 'second-password']
  const added = await Promise.allSettled(passwords.map(add))
  t.strictSame(added.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const password = passwords[added.findIndex(({ status }) => status === 'fulfilled')] ?? ''
  t.equal((await login({ email: 'new@example.com', password })).status, 200)
})

t.test('a login that began before the password changed gets no token', async t => {
  const { login, begin, rows } = await open(t)
  const { operator, waitForIt } = await begin()
  await operator.query(`update merchants set password_hash = password_hash || 'x' where email = $1`, [shop.email])
  const attempt = login()
  await waitForIt()
  await operator.query('commit')
  t.match(await attempt, { status: 422, body: { errors: { email: ['These credentials do not match our records.'] } } })
  t.strictSame(await rows('select 1 from tokens where from_login'), [])
})

t.test('a merchant stays the same under another name and e-mail address', async t => {
  const { apply, login, request, bulk, token } = await open(t)
  const { id } = (await request('/user/get-current')).body.data
  const [waybill] = (await bulk(batch())).body.data
  const renamed = { email: 'New@Example.com', was: shop.email, name: 'Lanka Boots' }
  const lines = ['merchant new@example.com changed: its e-mail address was shop@example.com']
  t.same(await apply(renamed, true), lines)
  t.match((await request('/user/get-current')).body.data, { email: shop.email })
  t.same(await apply(renamed), lines)
  t.same(await apply(renamed), [], 'the same file again changes nothing')
  const user = { id, first_name: 'Lanka Boots', email: 'new@example.com' }
  t.match((await request('/user/get-current')).body.data, user, 'the tokens of the merchant stay')
  t.match(
    (await request(`/order/${waybill}`)).body.data.merchant,
    { id, name: 'Lanka Boots' },
    'the orders keep their merchant',
  )
  t.match((await login({ ...shop, email: 'new@example.com' })).body, { user })
  t.match(await login(), { status: 422 })
  t.same(await apply({ id, email: 'third@example.com', name: 'Lanka Boots' }), [
    'merchant third@example.com changed: its e-mail address was new@example.com',
  ])
  t.match((await request('/user/get-current', undefined, { token })).body.data, { ...user, email: 'third@example.com' })
})

t.test('refuses an ambiguous merchant, and reports every other error too', async t => {
  const { apply, request } = await open(t)
  const { id } = (await request('/user/get-current')).body.data
  const books = id + 1
  t.same(await apply({ id: 99 }), {
    'merchants.0.id': ['There is no merchant 99: a new one has no id.'],
    'merchants.0.businesses.0.id': ['Business 7290 belongs to a merchant that this file does not name.'],
    'merchants.0.businesses.1.id': ['Business 7291 belongs to a merchant that this file does not name.'],
  })
  t.match(await apply({ email: 'new@example.com', was: 'nobody@example.com' }), {
    'merchants.0.was': ['There is no merchant nobody@example.com: a new one has no "was".'],
  })
  t.match(await apply({ id: books, email: 'new@example.com' }), {
    'merchants.1': ['This is the same merchant as merchants.0.'],
  })
  const taken = tenantFile()
  taken.merchants = [{ ...(taken.merchants[0] as Entry), id, email: 'books@example.com' }]
  const { pool } = await open(t)
  t.match(await applyTenant(pool, taken, false), {
    errors: { 'merchants.0.email': [`Merchant ${books} has the e-mail address books@example.com.`] },
  })
  for (const fields of [{ id: 0 }, { was: 'nobody' }, { active: 'no' as unknown as boolean }])
    t.match(Object.keys(await apply(fields)), [`merchants.0.${Object.keys(fields)[0]}`])
})

t.test('a deactivated merchant has no valid token and no login; its orders stay', async t => {
  const { apply, login, bulk, readStatuses, token, pool, app } = await open(t)
  const [waybill] = (await bulk(batch())).body.data
  const ofLogin = (await login()).body.token
  for (const live of [token, ofLogin]) t.strictSame(await readStatuses(live), [200, 200])
  t.same(await apply({ active: false }), [
    'merchant shop@example.com deactivated: its tokens are refused; its orders stay',
  ])
  for (const dead of [token, ofLogin]) t.strictSame(await readStatuses(dead), [401, 401])
  t.match(await bulk(batch()), { status: 401, body: { message: 'Unauthenticated.' } })
  const refused = await login()
  t.match(refused, { status: 422, body: { errors: { email: ['These credentials do not match our records.'] } } })
  t.strictSame(refused.body, (await login({ ...shop, password: 'wrong-password' })).body)
  await t.rejects(
    createTokenFor(pool, { tenant: 'demo', merchant: shop.email }),
    new UsageError('merchant shop@example.com of tenant demo is deactivated'),
  )
  t.same(await apply({}), [], 'a file without the field leaves the merchant deactivated')
  const staff = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  const headers = { 'x-tenant': 'demo', authorization: `Bearer ${staff.token}` }
  const { data } = (await app.inject({ url: `/api/staff/order/${waybill}`, headers })).json()
  t.match(data, { waybill_number: waybill, merchant: { name: 'Lanka Shoes' } })
  t.same(await apply({ active: true }), ['merchant shop@example.com changed'])
  for (const live of [token, ofLogin]) t.strictSame(await readStatuses(live), [200, 200], 'its tokens are valid again')
})

t.test('a logout ends only the token it is sent with', async t => {
  const { login, request, readStatuses, readStatusElsewhere, token, rows } = await open(t)
  const mine = (await login()).body.token
  t.strictSame(await readStatuses(mine), [200, 200])
  const logout = (body: unknown, given: string) => request('/logout', body, { token: given })
  t.match(await logout({ device: 'x' }, mine), { status: 200, body: { message: 'success' } })
  t.match(await logout({}, mine), { status: 401, body: { message: 'Unauthenticated.' } })
  for (let polls = 0; (await readStatusElsewhere(mine)) === 200; polls++) {
    if (polls > 600) throw new Error('the other process still admits the token')
    await delay(50)
  }
  t.strictSame(await readStatuses(token), [200, 200])
  t.match(
    await rows(
      `select actor_kind, actor = merchant_id::text as own, object_id = token_id as same from audit
    cross join (select merchant_id from merchants where email = $1) m where action = 'merchant.logged_out'`,
      [shop.email],
    ),
    [{ actor_kind: 'merchant', own: true, same: true }],
  )
  t.match(await logout('', token), { status: 200 }, 'a logout ends a token of the operator too, and needs no body')
  t.strictSame((await readStatuses(token))[0], 401)
})
