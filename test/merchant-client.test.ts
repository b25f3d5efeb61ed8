import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from '../dev/settings.ts'
import { request } from './courier.ts'
import { createMerchantClient, expectRefusal, listSentences, type MerchantClient } from './merchant-client.ts'
import { testLists } from './merchant-lists.ts'
import { testKnownKeys, testOrders } from './merchant-orders.ts'
import { testTracking } from './merchant-tracking.ts'
import { type Stack, startStack } from './stack.ts'

const shop = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
const books = { email: 'books@example.com', password: 'ceylon-books-demo' }
const demoFile = join(root, 'examples/demo-tenant.json')
const prefix = '/api/public/merchant'

/** Applies the demo tenant's file again as `manual`, a company whose merchants number their own parcels. */
const applyManualTenant = async (t: Test, { admin }: Stack): Promise<void> => {
  const file = JSON.parse(await readFile(demoFile, 'utf8'))
  Object.assign(file.tenant, { id: 'manual', waybills: { mode: 'manual', format: 'MC########' } })
  const path = join(t.testdir(), 'manual-tenant.json')
  await writeFile(path, JSON.stringify(file))
  await admin('orders', 'apply', path)
}

t.test('a client written from the description of the merchant API works with every request in it', async t => {
  const stack = await startStack(t)
  const base = stack.orders.url
  await stack.admin('orders', 'apply', demoFile)
  await applyManualTenant(t, stack)
  const open = async (tenant: string, { email, password }: typeof shop, tenantHeader?: string) => {
    const client = createMerchantClient({ base, tenant, ...(tenantHeader && { tenantHeader }) })
    t.match(await client.login(email, password), { status: 200 }, `${email} is logged in`)
    return client
  }
  const client = await open('demo', shop)
  const stranger = await open('demo', books, 'X-Tenant')
  const passerBy = createMerchantClient({ base, tenant: 'demo' })
  const staff = (await stack.admin('orders', 'token', 'create', '--tenant', 'demo', '--staff', 'Ruwan')) as {
    token: string
  }
  const move = async (waybill: string, status_key: string) => {
    const body = { waybill_numbers: [waybill], status_key }
    t.equal((await request(`${base}/api/staff/order/status`, { token: staff.token, body })).status, 200, status_key)
  }

  await t.test('a merchant logs in', t => testLogin(t, base))
  await t.test('wrong tokens and methods are refused', t => testRefusals(t, base, client))
  await t.test('a client reads the lists', t => testLists(t, base, client))
  await t.test('a client books orders', t => testOrders(t, client))
  await t.test('errors have the keys that clients know by name', async t =>
    testKnownKeys(t, await open('manual', books, 'x-tenant')),
  )
  await testTracking(t, { client, stranger, passerBy, move })
  await t.test('too many login attempts lock the address out', t => testManyTries(t, passerBy))
  t.notOk(
    stack.orders.lines.some(line => /"level":(50|60)|"status":5\d\d/.test(line)),
    'the service logs no error and returns no 5xx',
  )
})

const testLogin = async (t: Test, base: string): Promise<void> => {
  for (const tenantHeader of ['X-tenant', 'X-Tenant', 'x-tenant', 'X-TENANT']) {
    const client = createMerchantClient({ base, tenant: 'demo', tenantHeader })
    const { status, body } = await client.login(shop.email, shop.password)
    t.equal(status, 200, tenantHeader)
    t.match(body, {
      message: /^success$/,
      token: /^\S{20,}$/,
      user: { id: Number, first_name: String, last_name: String, email: shop.email },
    })
    const current = await client.currentUser()
    t.equal(current.status, 200)
    t.strictSame(Object.keys(current.body), ['data'])
    t.match(current.body.data, { ...body.user, merchant: { id: Number, name: 'Lanka Shoes' } })
    t.notMatch(JSON.stringify([body, current.body]), /password/)
  }
  const client = createMerchantClient({ base, tenant: 'demo' })
  const wrong = await client.login(shop.email, 'not-this')
  expectRefusal(t, wrong, { message: String, errors: { email: /./ } })
  const nobody = await client.login('nobody@example.com', 'not-this')
  t.strictSame(nobody.body, wrong.body, 'the response does not show which addresses are known')
  const more = { ...shop, remember: true, device_name: null }
  t.equal(
    (await client.send(`${prefix}/login`, { method: 'POST', body: more })).status,
    200,
    'unknown fields are ignored',
  )
  expectRefusal(t, await client.login('', ''), { errors: { email: /required/, password: /required/ } })
}

/** Lists `[method, path]` of the client's requests that need a token; the service refuses other methods of a path. */
const requests: ['GET' | 'POST', string][] = [
  ['GET', `${prefix}/user/get-current`],
  ['GET', `${prefix}/business`],
  ['GET', `${prefix}/state`],
  ['GET', `${prefix}/city`],
  ['POST', `${prefix}/order/single`],
  ['POST', `${prefix}/order/bulk`],
  ['GET', `${prefix}/order/status-list`],
  ['GET', `${prefix}/order/tracking-info`],
  ['POST', `${prefix}/order/tracking-info`],
  ['GET', `${prefix}/order/waybill-finance-status`],
  ['POST', `${prefix}/order/waybill-finance-status`],
  ['GET', '/api/merchant/order/waybill-finance-status'],
  ['POST', '/api/merchant/order/waybill-finance-status'],
]
const openRequests: typeof requests = [
  ['POST', `${prefix}/login`],
  ['POST', '/api/public/order/tracking-info'],
]

const testRefusals = async (t: Test, base: string, client: MerchantClient): Promise<void> => {
  const makeBody = (method: string) => (method === 'GET' ? {} : { body: {} })
  for (const token of ['', 'no-token-of-ours']) {
    const intruder = createMerchantClient({ base, tenant: 'demo', token })
    for (const [method, path] of requests) {
      const response = await intruder.send(path, { method, ...makeBody(method) })
      expectRefusal(t, response, { status: 401, message: /^Unauthenticated\.$/ })
    }
  }
  const all = [...requests, ...openRequests]
  for (const [, path] of all) {
    const known = all.filter(([, other]) => other === path).map(([method]) => method)
    for (const method of (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).filter(
      word => !known.includes(word as 'GET'),
    )) {
      const response = await client.send(path, { method, ...makeBody(method) })
      t.equal(response.status, 405, `${method} ${path}`)
      t.match(listSentences(response), [/./])
      for (const word of known) t.match(response.headers.allow, word, 'the 405 names the known methods')
    }
  }
}

/** Runs last, since it locks this address out. */
const testManyTries = async (t: Test, client: MerchantClient): Promise<void> => {
  let response = await client.login(books.email, 'not-this')
  for (let tries = 1; tries < 50 && response.status === 422; tries++)
    response = await client.login(books.email, 'not-this')
  t.equal(response.status, 429)
  t.ok(Number(response.headers['retry-after']) > 0, 'Retry-After gives a pause in seconds')
  t.match(listSentences(response), [/./])
}
