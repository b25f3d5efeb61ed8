import { UsageError } from '@courier/shared/cli/command-line.ts'
import { operationsFor, ordersOperations } from '@courier/shared/contract/staff-roles.ts'
import t from 'tap'
import { build } from '../../test/build.ts'
import { tenantFile } from '../../test/tenant.ts'
import { addStaff, changeRole, changeStaffPassword, deactivateStaff, listStaff } from './staff-commands.ts'
import { createTokenFor, listTokens } from './token-commands.ts'

const nimali = { tenant: 'demo', email: 'nimali@courier.example', name: 'Nimali Silva', role: 'dispatcher' }
const password = 'nimali-demo'
const right = { email: nimali.email, password }
const wrong = {
  message: 'These credentials do not match our records.',
  code: 'validation_failed',
  errors: { email: ['These credentials do not match our records.'] },
}

const limits = { tokenDays: 30, staffHours: 12, triesPerEmail: 5, triesPerAddress: 1000 }
const { app, pool, rows, request, apply } = await build(t, { login: limits })
const add = (name: string, role = 'viewer') =>
  addStaff(pool, { tenant: 'demo', email: `${name.toLowerCase()}@courier.example`, name, role }, password)
await addStaff(pool, nimali, password)

const send = async (method: 'GET' | 'POST', path: string, token?: string, payload?: object, tenant = 'demo') => {
  const headers = { 'x-tenant': tenant, ...(token && { authorization: `Bearer ${token}` }) }
  const response = await app.inject({ method, url: `/api/staff${path}`, headers, ...(payload && { payload }) })
  return { status: response.statusCode, body: response.json() }
}
const login = (body: object = right, tenant = 'demo') => send('POST', '/login', undefined, body, tenant)

/** Returns true for an operation of the core, and for those of the notifier. */
const isServed = (operation: string): boolean => !ordersOperations.includes(operation) || app.operations.has(operation)

t.test('a correct password gets a working token for twelve hours, with name and role', async t => {
  const { status, body } = await login({ email: ' Nimali@Courier.example ', password })
  t.equal(status, 200)
  const { token, expires_at, ...rest } = body
  const { email, name, role } = nimali
  t.strictSame(rest, { message: 'success', staff: { name, email, role, roles: [role] } })
  const hours = (Date.parse(expires_at) - Date.now()) / 3_600_000
  t.ok(hours > 11.9 && hours <= 12, `${hours} hours`)
  const tenant = {
    id: 'demo',
    name: 'Demo Couriers',
    currency: 'LKR',
    decimals: 2,
    country: 'LK',
    time_zone: 'Asia/Colombo',
    secondary_phone: true,
  }
  t.strictSame(await send('GET', '/me', token), {
    status: 200,
    body: {
      data: { name, email, role, roles: [role], tenant, operations: operationsFor('dispatcher').filter(isServed) },
    },
  })
  t.same(await rows('select staff_name, from_login, merchant_id from tokens where staff_id is not null'), [
    { staff_name: name, from_login: true, merchant_id: null },
  ])

  await t.test('a token of staff works until logout, and the audit names both the login and the logout', async t => {
    t.equal((await send('GET', '/order', token)).status, 200)
    t.strictSame(await send('POST', '/logout', token), { status: 200, body: { message: 'success' } })
    t.equal((await send('GET', '/order', token)).status, 401)
    const done = await rows(`select actor_kind, actor, action, token_id = object_id as of_token from audit
      where action like 'staff.logged%' order by audit_id`)
    const by = { actor_kind: 'staff', actor: name, of_token: true }
    t.same(done, [
      { ...by, action: 'staff.logged_in' },
      { ...by, action: 'staff.logged_out' },
    ])
  })
})

t.test('a person with several roles has the rights of each', async t => {
  const { tenant_id: tenant, email } = await add('Ruwani', 'dispatcher, messenger')
  const { body } = await login({ email, password })
  const roles = ['dispatcher', 'messenger'] as const
  t.match(body.staff, { role: 'dispatcher', roles })
  const { data } = (await send('GET', '/me', body.token)).body
  t.match(data, { role: 'dispatcher', roles })
  t.strictSame(data.operations, operationsFor(roles).filter(isServed))
  t.ok(data.operations.includes('moveOrders') && data.operations.includes('sendMessage'))
  t.match(
    (await listStaff(pool)).find(each => each.email === email),
    { role: 'dispatcher,messenger' },
  )
  await rows(`update staff set role = 'viewer', roles = null where email = $1`, [email])
  t.match(
    (await login({ email, password })).body.staff,
    { role: 'viewer', roles: ['viewer'] },
    'an older row has one role',
  )
  await changeRole(pool, { tenant, email, role: 'messenger,messenger' })
  t.match((await login({ email, password })).body.staff, { role: 'messenger', roles: ['messenger'] })
  t.throws(() => changeRole(pool, { tenant, email, role: 'viewer,' }), /one or more of viewer, .* not nothing$/)
})

t.test('a token made by the operator has every right in orders, and no e-mail address', async t => {
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Portal' })
  const { body } = await send('GET', '/me', token)
  t.match(body.data, { name: 'Portal', email: null, role: 'admin' })
  t.strictSame(body.data.operations, ordersOperations.filter(isServed))
  const merchant = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  t.equal((await send('GET', '/me', merchant.token)).status, 401, 'a merchant is not staff')
})

t.test('every failed login gets the same response', async t => {
  await apply(tenantFile({ id: 'other' }))
  const gone = { tenant: 'demo', email: (await add('Gone')).email }
  await deactivateStaff(pool, gone)
  const table: [object, string][] = [
    [{ ...right, password: 'nimali-dem' }, 'demo'],
    [{ ...right, email: 'nobody@courier.example' }, 'demo'],
    [{ ...right, email: gone.email }, 'demo'],
    [{ email: 'shop@example.com', password: 'lanka-shoes-demo' }, 'demo'],
    [right, 'other'],
    [right, 'nowhere'],
    [right, "'; drop table staff"],
  ]
  for (const [body, tenant] of table)
    t.strictSame(await login(body, tenant), { status: 422, body: wrong }, `${JSON.stringify(body)} of ${tenant}`)
  t.match(await login({ email: 'nimali' }), { status: 422, body: { errors: { email: [String], password: [String] } } })
  t.equal((await login({ email: `${'a'.repeat(5_000)}@x`, password })).status, 413)
})

t.test('failed logins of staff are throttled without affecting a merchant with the same e-mail address', async t => {
  await addStaff(pool, { ...nimali, email: 'books@example.com', name: 'Books' }, password)
  const asMerchant = (password: string) => request('/login', { email: 'books@example.com', password }, { token: '' })
  const asStaff = (password: string) => login({ email: 'books@example.com', password })
  for (let tries = 0; tries < 5; tries++) t.equal((await asStaff('wrong')).status, 422)
  t.match(await asStaff(password), { status: 429, body: { message: 'Too Many Attempts.' } })
  t.equal((await asMerchant('ceylon-books-demo')).status, 200)
  t.equal((await login()).status, 200, 'a colleague')
})

t.test('concurrent logins all work', async t => {
  const all = await Promise.all(Array.from({ length: 20 }, () => login()))
  t.strictSame(new Set(all.map(({ status }) => status)), new Set([200]))
  const tokens = new Set<string>(all.map(({ body }) => body.token))
  t.equal(tokens.size, 20)
  for (const token of tokens) t.equal((await send('GET', '/me', token)).status, 200)
})

t.test('the commands add, list, change and deactivate staff, and the audit names them', async t => {
  const { tenant_id: tenant, email } = await add('Kamal', 'dispatcher')
  const who = { tenant, email: ' KAMAL@courier.example' }
  const logInKamal = (password = 'nimali-demo') => login({ email, password })
  for (const [request, sentence] of [
    [nimali, /already exists/],
    [{ ...nimali, email: 'b@courier.example' }, /nimali@courier.example .* already has the name Nimali Silva/],
    [{ ...nimali, role: 'boss' }, /viewer, dispatcher, messenger, accounts, admin, rider, not boss/],
    [{ ...nimali, email: 'b' }, /--email/],
    [{ ...nimali, email: 'b@courier.example', name: 'A\nB' }, /--name/],
    [{ ...nimali, tenant: 'nowhere' }, /no tenant nowhere/],
  ] as const) {
    const error = await addStaff(pool, request, password).catch(error => error)
    t.ok(error instanceof UsageError, error.message)
    t.match(error.message, sentence)
  }
  await t.rejects(addStaff(pool, { ...nimali, email: 'b@courier.example', name: 'B' }, 'short'), /8 to 255/)
  await t.rejects(changeRole(pool, { tenant, email: 'b@courier.example', role: 'viewer' }), /has no member of staff/)

  await logInKamal()
  t.match(await changeRole(pool, { ...who, role: 'viewer' }), { email, role: 'viewer', is_active: true })
  t.equal((await logInKamal()).body.staff.role, 'viewer')
  await changeStaffPassword(pool, who, 'another-one')
  t.equal((await logInKamal()).status, 422)
  t.equal((await logInKamal('another-one')).status, 200)
  await deactivateStaff(pool, who)
  t.equal((await logInKamal('another-one')).status, 422)
  t.ok(
    (await listTokens(pool, 'demo'))
      .filter(({ staff_name }) => staff_name === 'Kamal')
      .every(({ revoked_at }) => revoked_at),
  )
  const row = (await listStaff(pool)).find(each => each.email === email)
  t.match(row, { tenant_id: 'demo', name: 'Kamal', role: 'viewer', is_active: false })
  await add('Kamal', 'dispatcher')
  t.equal((await logInKamal()).body.staff.role, 'dispatcher', 'active again')
  const done = await rows(`select action, string_agg(object_id, ', ' order by audit_id) as objects from audit
    where action like 'staff.%' group by action, happened_at having 'Kamal' = any(array_agg(object_id))
      order by happened_at`)
  t.same(done, [
    { action: 'staff.added', objects: 'Kamal, dispatcher' },
    { action: 'staff.role_changed', objects: 'Kamal, viewer' },
    { action: 'staff.password_changed', objects: 'Kamal' },
    { action: 'staff.deactivated', objects: 'Kamal' },
    { action: 'staff.added', objects: 'Kamal, dispatcher' },
  ])
})
