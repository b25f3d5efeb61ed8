import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  operationsFor,
  rolesFor,
  type StaffRole,
  staffOperations,
  staffRoles,
} from '@courier/shared/contract/staff-roles.ts'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import Fastify from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { readDocuments } from '../dev/openapi.ts'
import { listen } from '../dev/ports.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { createOrdersClient } from '../services/notifier/core/orders-client/http-client.ts'
import { addTenant, messageTo } from '../services/notifier/test/fixture.ts'
import { build as buildNotifier, serviceToken } from '../services/notifier/test/portal.ts'
import { addStaff, changeRole, deactivateStaff } from '../services/orders/core/access/staff-commands.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { admitStaff } from '../shared/access/staff.ts'
import type { OpenApi } from '../shared/api-docs/openapi.ts'

const password = 'courier-demo'
const log: string[] = []
const logger = pino({ level: 'trace' }, { write: (line: string) => log.push(line) })
const findLines = (event: string): string[] => log.filter(line => line.includes(event))

const limits = { tokenDays: 30, staffHours: 12, triesPerEmail: 100, triesPerAddress: 100 }
const { app: orders, pool, rows, bulk } = await buildOrders(t, { logger, login: limits })
await orders.listen({ host: '127.0.0.1', port: 0 })
const { port } = orders.addresses()[0] as { port: number }
/** Holds the address to which the proxy forwards the notifier's requests. */
const target = { host: '127.0.0.1', port }
const proxy = await startProxy(target)
t.teardown(proxy.close)
const client = createOrdersClient({ url: `http://127.0.0.1:${proxy.port}`, serviceToken, logger })
t.teardown(client.close)
/** Holds the number of tokens in each look-up. */
const lookUps: number[] = []
/** Delays the look-ups of `tenant` until `until` resolves, as a busy database does. */
const slow = { tenant: '', until: Promise.resolve() }
const counted: typeof client = {
  ...client,
  findStaff: async tokens => {
    lookUps.push(tokens.length)
    if (!tokens.some(({ tenant }) => tenant === slow.tenant)) return client.findStaff(tokens)
    await slow.until
    return { kind: 'unavailable', reason: 'no response in time' }
  },
}
/** Sets the milliseconds by which the notifier's clock is ahead. */
const clock = { ahead: 0 }
const now = () => performance.now() + clock.ahead
const notifier = await buildNotifier(t, 1_000_000, counted, {}, { logger, sessions: { now, pauseMilliseconds: 50 } })
const documents = await readDocuments()

const apps = { orders, notifier: notifier.app }
type Service = keyof typeof apps

const send = async (service: Service, method: string, url: string, token: string, payload?: unknown) => {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-tenant': 'demo',
    ...(payload !== undefined && { 'content-type': 'application/json' }),
  }
  const response = await apps[service].inject({
    method: method.toUpperCase() as 'GET',
    url,
    headers,
    ...(payload !== undefined && { payload: JSON.stringify(payload) }),
  })
  return { status: response.statusCode, headers: response.headers, body: response.body }
}

const tokens: string[] = []
const add = (role: StaffRole, name: string) =>
  addStaff(pool, { tenant: 'demo', email: `${name}@courier.example`, name, role }, password)
const logIn = async (name: string): Promise<string> => {
  const payload = { email: `${name}@courier.example`, password }
  const { token } = JSON.parse((await send('orders', 'POST', '/api/staff/login', '', payload)).body)
  tokens.push(token)
  return token
}
const signIn = async (role: StaffRole, name: string): Promise<string> => {
  await add(role, name)
  return logIn(name)
}

const list: Record<Service, string> = { orders: '/api/staff/order', notifier: '/api/messages' }
/** Returns the statuses of a read request to orders and of one to the notifier. */
const getStatuses = async (token: string): Promise<number[]> =>
  Promise.all((['orders', 'notifier'] as const).map(async name => (await send(name, 'GET', list[name], token)).status))

/** Lists all operations in the documents. */
const operations = (Object.entries(documents) as [Service, OpenApi][]).flatMap(([service, { paths }]) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ service, path, method, ...operation })),
  ),
)

t.test('the table lists exactly the staff operations in both documents', async t => {
  const isOfStaff = ({ service, path, security }: (typeof operations)[number]): boolean =>
    (service === 'notifier' || path.startsWith('/api/staff')) && !!security?.some(scheme => 'token' in scheme)
  const ofStaff = operations.filter(isOfStaff).map(({ operationId }) => operationId)
  t.strictSame(ofStaff.sort(), [...staffOperations].sort())
  // Merchants have roles of their own.
  for (const operation of operations.filter(({ path }) => !path.startsWith('/api/public/merchant/')))
    t.equal('403' in operation.responses, isOfStaff(operation) || operation.operationId === 'verifyWebhook')
  for (const role of staffRoles) t.ok(operationsFor('admin').length >= operationsFor(role).length)
})

t.test('a staff route without roles prevents its service from starting', async t => {
  const app = Fastify()
  admitStaff(
    app,
    Object.assign(async () => undefined, { forget: () => {} }),
    1,
  )
  t.throws(() => app.get('/api/new', { schema: { operationId: 'new' } as object }, () => ''), /no roles for new/)
  t.throws(() => app.get('/api/new', () => ''), /has no roles/)
  t.equal(rolesFor('toString'), undefined)
})

/** Lists the roles that read orders and messages. */
const office: readonly StaffRole[] = staffRoles.filter(role => role !== 'rider')

for (const role of staffRoles)
  t.test(`${role}: both services refuse what the table does not allow, before they read the body`, async t => {
    const token = await signIn(role, `${role}-one`)
    for (const { service, path, method, operationId = '', requestBody } of operations) {
      const allowed = rolesFor(operationId)
      if (!allowed || operationId === 'logOutStaff') continue
      const url = path.replace(/\{\w+\}/g, '1A')
      const { status, body } = await send(service, method, url, token, requestBody && [])
      if (allowed.includes(role)) t.notOk([401, 403, 500].includes(status), `${operationId}: ${status} ${body}`)
      else {
        const message = `Your role, ${role}, may not do this. Allowed: ${allowed.join(', ')}.`
        t.strictSame([status, JSON.parse(body)], [403, { message, code: 'role_forbidden' }], operationId)
      }
    }
    const expected = office.includes(role) ? 200 : 403
    t.strictSame(await getStatuses(token), [expected, expected], 'refusals do not count as guessed tokens')
  })

t.test('only a role that may read costs sees the cost of a message', async t => {
  const { body } = await notifier.call('POST', '/api/messages', messageTo('0770000101'))
  await notifier.rows(
    `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, template)
    values ('demo', $1, 'wamid.1', now(), 'utility', true, 'order_created')`,
    [body.data.id],
  )
  for (const role of office) {
    const token = await signIn(role, `${role}-costs`)
    const responses = [`/api/messages/${body.data.id}`, `/api/messages?id=${body.data.id}`]
    const costs = await Promise.all(
      responses.map(async url => [JSON.parse((await send('notifier', 'GET', url, token)).body).data].flat()[0].cost),
    )
    const expected = rolesFor('getCosts')?.includes(role) ? { category: 'utility', is_free: true } : null
    for (const cost of costs) t.match(cost, expected, role)
  }
})

t.test('the timeline of a parcel shows costs to roles that may read them', async t => {
  const [waybill] = (await bulk(batch([order()]))).body.data
  const { body } = await notifier.call('POST', '/api/messages', messageTo('0770000101'))
  await notifier.rows('update messages set waybill_number = $2 where message_id = $1', [body.data.id, waybill])
  await notifier.rows(
    `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, template)
    values ('demo', $1, 'wamid.2', now(), 'utility', true, 'order_created')`,
    [body.data.id],
  )
  for (const role of office) {
    const response = await send('notifier', 'GET', `/api/timeline/${waybill}`, await signIn(role, `${role}-timeline`))
    const messages = JSON.parse(response.body).data.timeline.filter(({ kind }: { kind: string }) => kind === 'message')
    const expected = rolesFor('getCosts')?.includes(role) ? { category: 'utility', is_free: true } : null
    t.match(messages, [{ message_id: body.data.id, cost: expected }], role)
  }
})

t.test('the notifier’s audit names the person and the token', async t => {
  const token = await signIn('messenger', 'Ruwani')
  const { status } = await send('notifier', 'POST', '/api/conversations/0770000101/opt-out', token, { reason: 'asked' })
  t.equal(status, 200)
  const [{ token_id }] = await rows(`select token_id from tokens where staff_name = 'Ruwani'`)
  t.match(
    await notifier.rows(`select actor_kind, actor, token_id from audit where action = 'conversation.opted_out'`),
    [{ actor_kind: 'staff', actor: 'Ruwani', token_id }],
  )
})

t.test('a person with two roles may do what either role allows, in both services', async t => {
  await addStaff(
    pool,
    { tenant: 'demo', email: 'two@courier.example', name: 'two', role: 'viewer,messenger' },
    password,
  )
  const token = await logIn('two')
  t.equal((await send('notifier', 'POST', '/api/messages', token, {})).status, 422, 'a messenger sends')
  const refused = await send('orders', 'POST', '/api/staff/order/status', token, {})
  const message = 'Your roles, viewer and messenger, may not do this. Allowed: dispatcher, admin.'
  t.strictSame([refused.status, JSON.parse(refused.body)], [403, { message, code: 'role_forbidden' }])
})

t.test('within five seconds both services apply another role, a deactivation and a logout', async t => {
  const [changed, gone, left] = await Promise.all(['A', 'B', 'C'].map(name => signIn('viewer', name)))
  for (const token of [changed, gone, left]) t.strictSame(await getStatuses(token as string), [200, 200])
  await changeRole(pool, { tenant: 'demo', email: 'a@courier.example', role: 'admin' })
  await deactivateStaff(pool, { tenant: 'demo', email: 'b@courier.example' })
  await send('orders', 'POST', '/api/staff/logout', left as string)
  const start = performance.now()
  const move = async (name: Service, url: string) => (await send(name, 'POST', url, changed as string, [])).status
  const isDone = async () =>
    JSON.stringify([
      await move('orders', '/api/staff/order/status'),
      await move('notifier', '/api/messages'),
      await getStatuses(gone as string),
      await getStatuses(left as string),
    ]) === '[422,422,[401,401],[401,401]]'
  while (!(await isDone()) && performance.now() - start < 8_000) await delay(50)
  const seconds = (performance.now() - start) / 1000
  t.ok(seconds < 5, `${seconds.toFixed(2)} s`)
})

t.test('an unknown token costs orders two look-ups at most, however many requests carry it', async t => {
  const { token } = newToken()
  lookUps.length = 0
  const all = await Promise.all(Array.from({ length: 50 }, () => send('notifier', 'GET', '/api/messages', token)))
  t.ok(all.every(({ status }) => status === 401))
  t.ok(lookUps.length <= 2, `${lookUps}`)
  lookUps.length = 0
  for (const garbage of ['courier_x', token.slice(0, -1), `${token.slice(0, -1)}!`])
    t.equal((await send('notifier', 'GET', '/api/messages', garbage)).status, 401)
  t.equal((await send('notifier', 'GET', '/api/messages', notifier.token)).status, 200)
  t.same(lookUps, [], 'neither garbage nor its own tokens cost a look-up')
})

t.test('a token made by the operator is valid only in its own service', async t => {
  const ofOrders = await createTokenFor(pool, { tenant: 'demo', staff: 'Portal' })
  t.strictSame(await getStatuses(ofOrders.token), [200, 401])
  t.strictSame(await getStatuses(notifier.token), [401, 200])
  const merchant = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  t.strictSame(await getStatuses(merchant.token), [401, 401])
  const { data } = JSON.parse((await send('orders', 'GET', '/api/staff/me', ofOrders.token)).body)
  const ofService = operations.filter(({ service }) => service === 'orders').map(({ operationId }) => operationId)
  t.strictSame(
    data.operations,
    staffOperations.filter(each => ofService.includes(each)),
  )
})

t.test('refuses HEAD like GET, with or without a trailing slash, and reveals nothing by OPTIONS', async t => {
  const token = await signIn('viewer', 'Heshan')
  const path = '/api/staff/order/1A/label'
  for (const [method, url] of [
    ['GET', path],
    ['HEAD', path],
    ['GET', `${path}/`],
  ] as const)
    t.equal((await send('orders', method, url, token)).status, 403, `${method} ${url}`)
  t.equal((await send('orders', 'OPTIONS', path, token)).status, 405)
  t.equal((await send('notifier', 'HEAD', '/api/costs', token)).status, 403)
})

t.test('while orders is unavailable the notifier admits known staff for 60 s', async t => {
  const token = await signIn('viewer', 'Kasun')
  const soonOver = await signIn('viewer', 'Malini')
  await rows(`update tokens set expires_at = now() + interval '40 s' where staff_name = 'Malini'`)
  const stranger = await signIn('viewer', 'Nuwan')
  const read = (which: string) => send('notifier', 'GET', '/api/messages', which)
  for (const known of [token, soonOver]) t.equal((await read(known)).status, 200)
  await proxy.cut()
  clock.ahead += 3_000
  t.strictSame([(await read(token)).status, (await read(soonOver)).status], [200, 200])
  const refused = await read(stranger)
  t.equal(refused.status, 503)
  t.match(JSON.parse(refused.body), { code: 'unavailable', message: /orders service does not respond.*repeat/ })
  t.ok(Number(refused.headers['retry-after']) >= 1)
  clock.ahead += 40_000
  t.strictSame(
    [(await read(token)).status, (await read(soonOver)).status],
    [200, 503],
    'the token would have expired by now',
  )
  clock.ahead += 17_500
  t.equal((await read(token)).status, 503)
  t.equal((await read(notifier.token)).status, 200, "the notifier's own tokens do not need orders")
  t.equal(findLines('staff_tokens.unconfirmed').length, 1, 'the outage is logged once')
  await proxy.restore()
  while ((await read(token)).status === 503) await delay(100)
  t.equal((await read(token)).status, 200)
  t.equal(findLines('staff_tokens.confirmed_again').length, 1)
})

t.test('slow look-ups of one company do not delay another company', async t => {
  await addTenant(notifier.pool, 'busy', '106540352242999', {})
  const token = await signIn('viewer', 'Amila')
  t.strictSame(await getStatuses(token), [200, 200])
  const { promise, resolve } = Promise.withResolvers<void>()
  Object.assign(slow, { tenant: 'busy', until: promise })
  t.teardown(() => Object.assign(slow, { tenant: '' }))
  const headers = { authorization: `Bearer ${newToken().token}`, 'x-tenant': 'busy' }
  const held = notifier.app.inject({ url: '/api/messages', headers })
  held.catch(() => {})
  await delay(50)
  clock.ahead += 3_000
  const start = performance.now()
  const read = await Promise.race([send('notifier', 'GET', '/api/messages', token), delay(2_000)])
  t.match(read, { status: 200 })
  t.ok(performance.now() - start < 2_000)
  await send('orders', 'POST', '/api/staff/logout', token)
  resolve()
  t.equal((await held).statusCode, 503)
  clock.ahead += 3_000
  t.equal((await send('notifier', 'GET', '/api/messages', token)).status, 401, 'nor is a revocation delayed')
})

/** Starts a server in place of orders. */
const replaceOrders = async (t: Test, body: string): Promise<void> => {
  const other = createServer((_request, response) => response.writeHead(404).end(body))
  t.teardown(() => other.close())
  await proxy.cut()
  target.port = await listen(other)
  await proxy.restore()
}

t.test('a proxy that responds 404 while orders is unavailable logs nobody out', async t => {
  const token = await signIn('viewer', 'Ishara')
  t.strictSame(await getStatuses(token), [200, 200])
  await replaceOrders(t, '<h1>no backend</h1>')
  clock.ahead += 3_000
  t.equal((await send('notifier', 'GET', '/api/messages', token)).status, 200)
  clock.ahead += 60_000
  t.equal((await send('notifier', 'GET', '/api/messages', token)).status, 503)
})

t.test('logs no token, token hash or password', async t => {
  const text = log.join('\n')
  t.ok(text.length > 0)
  for (const token of tokens) t.notOk(text.includes(token.slice('courier_'.length)))
  const hashes = await rows('select hash from tokens')
  for (const { hash } of hashes)
    for (const form of ['hex', 'base64', 'base64url']) t.notOk(text.includes(hash.toString(form)))
  t.notOk(text.includes(password))
})
