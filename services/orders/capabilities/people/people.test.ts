import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { connectTo } from '../../../../dev/test-database.ts'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { untilWaiting } from '../../test/waiting.ts'

const fixture = await tenantFixture(t)
const { request, bulk, make, move, staffGet, rows, apply, token: program, booksToken, tenant } = fixture
const base = '/api/public/merchant'
const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown, token = owner) =>
  request(method, `${base}${path}`, body, { token })
const attempt = (email: string, password: string) =>
  request('POST', `${base}/login`, { email, password }, { token: '' })
const logIn = async (email: string, password: string): Promise<string> => (await attempt(email, password)).body.token
const owner = await logIn('shop@example.com', 'lanka-shoes-demo')
const nimali = { name: 'Nimali Silva', email: 'Nimali@Example.com', role: 'clerk', password: 'nimali-silva' }
const added = await call('POST', '/person', nimali)
const id: number = added.body.data?.id
const clerk = await logIn('nimali@example.com', 'nimali-silva')

const forbidden = (message: string) => ({ message, code: 'role_forbidden' })
const ofClerks = forbidden('A clerk may not do this. Ask an owner of the merchant.')

t.test('an owner adds people, who log in with addresses of their own', async t => {
  t.match(added, { status: 201, body: { message: 'Person Added Successfully', data: { id: Number, is_active: true } } })
  const { data } = (await call('GET', '/person')).body
  const account = { id: null, name: 'Lanka Shoes', email: 'shop@example.com', role: 'owner', created_at: null }
  t.match(data, [account, { name: 'Nimali Silva', email: 'nimali@example.com', role: 'clerk' }])
  const { body } = await attempt(' NIMALI@example.com ', 'nimali-silva')
  const user = {
    first_name: 'Nimali',
    last_name: 'Silva',
    email: 'nimali@example.com',
    merchant: { name: 'Lanka Shoes' },
    role: 'clerk',
    person: { id, name: 'Nimali Silva' },
  }
  t.match(body.user, user)
  t.match((await call('GET', '/user/get-current', undefined, clerk)).body.data, user)
  for (const [token, role] of [
    [owner, 'owner'],
    [program, 'program'],
  ])
    t.match((await call('GET', '/user/get-current', undefined, token)).body.data, {
      ...{ first_name: 'Lanka Shoes', last_name: '', email: 'shop@example.com', role, person: null },
    })
  t.equal((await attempt('nimali@example.com', 'lanka-shoes-demo')).status, 422)
})

t.test('clerks and programs get 403 for operations of owners, and the error names the remedy', async t => {
  const ofOwners = [
    ['GET', '/person'],
    ['POST', '/person', nimali],
    ['PATCH', `/person/${id}`, { role: 'owner' }],
    ['GET', '/token'],
    ['POST', '/token', { name: 'x' }],
    ['DELETE', '/token/tok_x'],
  ] as const
  const ofPrograms = 'A token of a program may not do this. Log in as an owner of the merchant, with POST /login.'
  for (const [method, path, body] of ofOwners)
    for (const [token, refused] of [
      [clerk, ofClerks],
      [program, forbidden(ofPrograms)],
    ] as const) {
      const response = await call(method, path, body, token)
      t.strictSame([response.status, response.body], [403, refused], `${method} ${path}`)
    }
  const webhook = '/webhook/00000000-0000-4000-8000-000000000000'
  const notOfClerks = [
    ['GET', '/webhook'],
    ['POST', '/webhook', { url: 'https://shop.example' }],
    ['PATCH', webhook, { is_active: false }],
    ['DELETE', webhook],
    ['POST', `${webhook}/rotate`],
    ['POST', `${webhook}/ping`],
    ['POST', `${webhook}/replay`, {}],
    ['GET', `${webhook}/deliveries`],
    ['POST', '/invoice/X/approve', {}],
    ['POST', '/invoice/X/dispute', { waybill_numbers: ['X'], reason: 'x' }],
  ] as const
  for (const [method, path, body] of notOfClerks) {
    const response = await call(method, path, body, clerk)
    t.strictSame([response.status, response.body], [403, ofClerks], `${method} ${path}`)
    t.not((await call(method, path, body, program)).status, 403, `a program ${method} ${path}`)
  }
})

t.test(
  'timelines and edits name a clerk to the merchant and to staff, not to the public; the audit names the clerk',
  async t => {
    await make(['DM00000002'])
    const booked = await bulk(batch([order({ waybill_number: 'DM00000001' })]), { token: clerk })
    t.equal(booked.status, 200)
    for (const waybill of ['DM00000001', 'DM00000002'])
      await call('POST', '/order/confirm', { waybill_numbers: [waybill] }, waybill === 'DM00000001' ? clerk : owner)
    await call('PATCH', '/order/DM00000001', { customer_phone: '0770000109' }, clerk)
    for (const status of ['key_5', 'key_6', 'key_14', 'key_15', 'key_17']) await move(['DM00000001'], status)
    const { data } = (await call('GET', '/order/DM00000001', undefined, clerk)).body
    const person = { first_name: 'Nimali', last_name: 'Silva' }
    t.match(data.timeline.slice(-2), [
      { status: { key: 'key_2' }, user: person, by: 'merchant' },
      { status: { key: 'key_1' }, user: person, by: 'merchant' },
    ])
    t.match(data.edits, [{ user: person, by: 'merchant' }])
    const ofStaff = (await staffGet('/order/DM00000001')).body.data
    t.match([ofStaff.timeline.at(-2), ofStaff.edits[0]], [{ user: person, by: 'merchant' }, { user: person }])
    const other = (await call('GET', '/order/DM00000002')).body.data
    for (const event of other.timeline)
      t.match(event, { user: { first_name: 'Lanka Shoes', last_name: '' }, by: 'merchant' })
    const shown = await request(
      'POST',
      '/api/public/order/tracking-info',
      { waybill_number: 'DM00000001' },
      { token: '' },
    )
    t.equal(shown.status, 200)
    t.notMatch(JSON.stringify(shown.body), /Nimali Silva|"Silva"/)
    const [{ merchant_id }] = await rows(`select merchant_id from merchants where email = 'shop@example.com'`)
    const audited = await rows(
      `select actor from audit where action in ('order.edited', 'merchant.logged_in') order by audit_id`,
    )
    t.strictSame(
      [audited[0], audited.at(-1)].map(row => row.actor),
      [merchant_id, `${merchant_id} Nimali Silva`],
    )
  },
)

t.test(
  'a deactivation ends sessions within 5 seconds and frees the address; a new password ends them, too',
  async t => {
    const kasun = { name: 'Kasun', email: 'kasun@example.com', role: 'owner', password: 'kasun-perera' }
    const { id } = (await call('POST', '/person', kasun)).body.data
    const second = await logIn(kasun.email, kasun.password)
    t.equal((await call('GET', '/person', undefined, second)).status, 200, 'an owner manages people')
    t.match((await call('PATCH', `/person/${id}`, { role: 'clerk' })).body.data, { role: 'clerk' })
    await delay(3_100)
    t.strictSame((await call('GET', '/person', undefined, second)).body, ofClerks)
    t.equal((await call('PATCH', `/person/${id}`, { password: 'another-word' })).status, 200)
    await delay(3_100)
    t.equal((await call('GET', '/state', undefined, second)).status, 401)
    const third = await logIn(kasun.email, 'another-word')
    t.match((await call('PATCH', `/person/${id}`, { is_active: false })).body.data, { is_active: false })
    await delay(3_100)
    t.equal((await call('GET', '/state', undefined, third)).status, 401)
    t.equal((await attempt(kasun.email, 'another-word')).status, 422)

    const again = await call('POST', '/person', kasun)
    t.equal(again.status, 201, 'the address is free')
    const clash = await call('PATCH', `/person/${id}`, { is_active: true })
    t.match([clash.status, clash.body.errors], [422, { email: [/already been taken/] }])
    await call('PATCH', `/person/${again.body.data.id}`, { is_active: false })
    t.equal((await call('PATCH', `/person/${id}`, { is_active: true })).status, 200)
    t.equal((await attempt(kasun.email, 'another-word')).status, 200)
  },
)

t.test('an e-mail address is unique in the company, even across its file and concurrent requests', async t => {
  const books = await logIn('books@example.com', 'ceylon-books-demo')
  for (const email of ['shop@example.com', 'BOOKS@example.com', 'nimali@example.com'])
    for (const token of [owner, books]) {
      const { status, body } = await call('POST', '/person', { ...nimali, email }, token)
      t.match([status, Object.keys(body.errors ?? {})], [422, ['email']], email)
      t.match(body.errors.email[0], /Use another one/)
    }
  const both = await Promise.all(
    [owner, books].map(token => call('POST', '/person', { ...nimali, email: 'both@example.com' }, token)),
  )
  t.strictSame(both.map(({ status }) => status).sort(), [201, 422])
  const file = tenantFile()
  const [first] = file.merchants
  Object.assign(first ?? {}, { was: first?.email, email: 'nimali@example.com' })
  t.match(await apply(file), {
    kind: 'refused',
    errors: { 'merchants.0.email': [/^Person \d+ of merchant \d+ logs in with this address/] },
  })
})

t.test('a merchant sees and changes only its own people; invalid input is refused under its field', async t => {
  const books = await logIn('books@example.com', 'ceylon-books-demo')
  t.notMatch((await call('GET', '/person', undefined, books)).body.data, [{}, { email: 'nimali@example.com' }])
  t.equal((await call('PATCH', `/person/${id}`, { is_active: false }, books)).status, 404)
  t.equal((await call('PATCH', '/person/999999999999999999', { is_active: false })).status, 404)
  const table: [body: object, field: string][] = [
    [{ ...nimali, email: 'x' }, 'email'],
    [{ ...nimali, email: 'x@y.example', role: 'boss' }, 'role'],
    [{ ...nimali, email: 'x@y.example', password: 'short' }, 'password'],
    [{ ...nimali, email: 'x@y.example', name: ' ' }, 'name'],
  ]
  for (const [body, field] of table)
    t.match((await call('POST', '/person', body)).body.errors, { [field]: [String] }, field)
  t.equal((await call('PATCH', `/person/${id}`, {})).status, 422)
  t.equal((await call('PATCH', `/person/${id}`, { email: 'x@y.example' })).status, 422)
  const short = await call('PATCH', `/person/${id}`, { password: 'short' })
  t.strictSame(short.body, refusal({ password: ['The password field must be 8 to 255 characters long.'] }))
})

t.test('a person stays deactivated if somebody takes the address meanwhile', async t => {
  const books = await logIn('books@example.com', 'ceylon-books-demo')
  const { id } = (await call('POST', '/person', { ...nimali, email: 'race@example.com' }, books)).body.data
  const race = await connectTo(t, fixture.database.superuserUrl)
  await race.query(`begin; select pg_advisory_xact_lock(hashtextextended('${tenant}', 0))`)
  await race.query('update merchant_people set is_active = false where person_id = $1', [id])
  const activated = call('PATCH', `/person/${id}`, { is_active: true }, books)
  await untilWaiting(race)
  await race.query(`insert into merchant_people (tenant_id, merchant_id, email, name, role, password_hash)
    select tenant_id, merchant_id, email, 'Another', role, password_hash from merchant_people where person_id = ${id}`)
  await race.query('commit')
  t.match(await activated, { status: 422, body: { errors: { email: [/already been taken/] } } })
})

t.test(
  "a new password of the account ends its sessions, not those of people; a deactivated merchant's people are refused",
  async t => {
    const file = tenantFile()
    file.merchants = file.merchants.map(merchant => ({ ...merchant, rate_card: 'standard' }))
    const [shop] = file.merchants
    Object.assign(shop ?? {}, { password: 'a-new-password' })
    await apply(file)
    t.equal((await call('GET', '/state', undefined, owner)).status, 401)
    t.equal((await call('GET', '/state', undefined, clerk)).status, 200)
    t.equal((await call('GET', '/state', undefined, booksToken)).status, 200)
    Object.assign(shop ?? {}, { active: false })
    await apply(file)
    t.equal((await call('GET', '/state', undefined, clerk)).status, 401)
    t.equal((await attempt('nimali@example.com', 'nimali-silva')).status, 422)
  },
)
