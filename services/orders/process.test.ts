import { connect, createServer } from 'node:net'
import { createPool } from '@courier/shared/postgres/database.ts'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { listen } from '../../dev/ports.ts'
import { launch } from '../../dev/service-process.ts'
import { startProxy } from '../../dev/tcp-proxy.ts'
import { cloneDatabase, connectTo } from '../../dev/test-database.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { applyTenant } from './core/provisioning/apply.ts'
import { startReceiver, waitUntil } from './test/receiver.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

interface Body {
  message: string
  code?: string
  data?: string[]
}

interface Posting {
  responses: object
  requestBody: { content: Record<string, { schema: object }> }
}

interface ApiDocument {
  paths: Record<string, { post: Posting }>
  components: { schemas: Record<string, object> }
}

/** Starts the service with a service token and these settings. */
const launchOrders = (t: Test, settings: Record<string, string>) => {
  const launched = launch(t, 'services/orders/main.ts', { SERVICE_TOKEN: 'a-service-token-of-tests', ...settings })
  const logs = (): Record<string, unknown>[] => launched.lines.map(line => JSON.parse(line))
  return { ...launched, logs }
}

/** Restricts `pg_locks`, which shows the locks of all databases, to locks that sessions of this database wait for. */
const ofThisDatabase = 'database = (select oid from pg_database where datname = current_database()) and not granted'

/** Adds a tenant to the database. Returns a token of its merchant. */
const addTenant = async (url: string, tenant: string): Promise<string> => {
  const pool = createPool({ url, name: 'test', connections: 2 })
  await applyTenant(pool, tenantFile({ id: tenant }), false)
  const { token } = await createTokenFor(pool, { tenant, merchant: 'shop@example.com' })
  await pool.end()
  return token
}

/** Creates a database with the small tenant and a token, and a connection of its owner. */
const prepare = async (t: Test) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const token = await addTenant(url, 'demo')
  const owner = await connectTo(t, ownerUrl)
  return { url, ownerUrl, token, owner }
}

/** Starts the service, with a connection to Postgres that can be cut, and waits until it listens. */
const start = async (t: Test, more: Record<string, string> = {}) => {
  const prepared = await prepare(t)
  const url = new URL(prepared.url)
  const proxy = await startProxy({ port: Number(url.port), host: url.hostname })
  t.teardown(proxy.close)
  url.port = String(proxy.port)
  const service = launchOrders(t, {
    ORDERS_DATABASE_URL: url.href,
    ORDERS_MIGRATE_DATABASE_URL: prepared.ownerUrl,
    ORDERS_PORT: '0',
    ...more,
  })
  const address = await service.listening()
  const get = (path: string) => fetch(`${address}${path}`)
  const isReady = () => waitUntil('the service is ready', async () => (await get('/health/ready')).ok, 5)
  const bulk = async (body: unknown = batch(), token = prepared.token, more = {}) => {
    const own = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
    const headers = { ...own, ...more }
    const payload = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(`${address}/api/public/merchant/order/bulk`, {
      method: 'POST',
      headers,
      body: payload,
    })
    const { status } = response
    return { status, headers: response.headers, body: (await response.json()) as Body }
  }
  return { ...prepared, ...service, proxy, address, get, isReady, bulk }
}

/** Serves several tests, each of which leaves it ready. */
const shared = await start(t)

/** Keeps every new order waiting until `release`. */
const holdOrders = async (owner: pg.Client) => {
  await owner.query('begin')
  await owner.query('lock table orders in access exclusive mode')
  const waiting = `select 1 from pg_locks where relation = 'orders'::regclass and ${ofThisDatabase}`
  return {
    untilWaiting: (requests: number) =>
      waitUntil(
        `${requests} statements wait`,
        async () => Number((await owner.query(waiting)).rowCount) >= requests,
        60,
      ),
    release: () => owner.query('rollback'),
  }
}

t.test('invalid settings stop the process before it listens, and the error names them all', async t => {
  const { ended, stderr, lines } = launchOrders(t, {
    ORDERS_DATABASE_URL: 'mysql://orders:s3cret@there',
    ORDERS_MIGRATE_DATABASE_URL: 'postgres://orders:s3cret@there:port/orders',
    ORDERS_PORT: 'http',
    LOG_LEVEL: 'loud',
    MAX_ORDERS_PER_BATCH: '0',
  })
  t.equal(await ended, 1)
  t.match(stderr(), /^The settings are wrong; nothing was started:\n/)
  for (const name of ['ORDERS_DATABASE_URL', 'ORDERS_PORT', 'LOG_LEVEL', 'MAX_ORDERS_PER_BATCH'])
    t.match(stderr(), new RegExp(`^  ${name} must be `, 'm'))
  t.match(stderr(), /ORDERS_MIGRATE_DATABASE_URL must be a postgres:\/\/ address/)
  t.notMatch(stderr(), /s3cret/)
  t.strictSame(lines, [])
})

t.test('a port in use stops the process and names the setting', async t => {
  const { url, ownerUrl } = shared
  const server = createServer()
  t.teardown(() => server.close())
  const { ended, logs, stderr } = launchOrders(t, {
    ORDERS_DATABASE_URL: url,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    ORDERS_PORT: String(await listen(server)),
  })
  t.equal(await ended, 1)
  t.match(logs().at(-1), { level: 60, err: { code: 'EADDRINUSE' }, msg: /ORDERS_PORT/ })
  t.equal(stderr(), '')
})

t.test('startup waits for Postgres, and SIGTERM ends the wait at once', async t => {
  const { url, ownerUrl } = shared
  const { hostname: host, port } = new URL(url)
  const proxy = await startProxy({ host, port: Number(port) })
  t.teardown(proxy.close)
  await proxy.cut()
  const through = (address: string) => Object.assign(new URL(address), { port: String(proxy.port) }).href
  const environment = {
    ORDERS_DATABASE_URL: through(url),
    ORDERS_MIGRATE_DATABASE_URL: through(ownerUrl),
    ORDERS_PORT: '0',
  }
  const [stopped, waiting] = [launchOrders(t, environment), launchOrders(t, environment)]
  const migrated = launchOrders(t, { ...environment, ORDERS_MIGRATE_DATABASE_URL: ownerUrl })
  for (const { logs } of [stopped, waiting, migrated])
    await waitUntil(
      'the process waits for Postgres',
      () => logs().some(({ msg }) => String(msg).startsWith('database.waiting')),
      60,
    )
  const since = performance.now()
  stopped.child.kill('SIGTERM')
  t.equal(await stopped.ended, 0)
  // The next attempt would come after three seconds.
  t.ok(performance.now() - since < 3_000, `ended after ${performance.now() - since} ms`)
  await proxy.restore()
  for (const { logs } of [waiting, migrated])
    await waitUntil('the process listens', () => logs().some(({ msg }) => /listening/.test(String(msg))), 10)
  t.notMatch(JSON.stringify([stopped, waiting, migrated].flatMap(({ logs }) => logs())), /postgres:\/\/|_failed/)
})

t.test('the process serves its health, metrics and requests', async t => {
  const { get, bulk } = shared
  for (const path of ['/health/live', '/health/ready']) {
    const response = await get(path)
    t.strictSame([response.status, await response.json()], [200, { status: 'ok' }], path)
  }
  t.equal((await bulk(batch([order(), order()]))).status, 200)
  const metrics = await (await get('/metrics')).text()
  t.match(metrics, /^orders_booked_total 2$/m)
  const request = 'method="POST",route="/api/public/merchant/order/bulk",status="200"'
  t.ok(metrics.includes(`http_request_duration_seconds_count{${request}} 1`))
  t.match(metrics, /^database_connections\{state="waiting"\} 0$/m)

  const api = (await (await get('/openapi.json')).json()) as ApiDocument
  const post = api.paths['/api/public/merchant/order/bulk']?.post as Posting
  t.strictSame(Object.keys(post.responses).map(Number), [200, 400, 401, 405, 408, 409, 413, 415, 422, 429, 431, 503])
  t.match(post.requestBody.content['application/json']?.schema, { $ref: /Batch$/ })
  t.match(api.components.schemas.Batch, { required: ['general_data', 'order_data'] })
  for (const path of ['/docs/merchants', '/docs/merchants/']) {
    const page = await get(path)
    t.match([page.status, page.headers.get('content-type')], [200, /^text\/html/], path)
    t.match(await page.text(), /swagger-ui/)
  }
})

t.test('the notifier gets a batch at once, and the rest when the process starts again', async t => {
  const receiver = await startReceiver(t)
  const { bulk, child, ended, logs, url, ownerUrl } = await start(t, { NOTIFIER_URL: receiver.url })
  await bulk(batch([order(), order()]))
  await waitUntil('both events are delivered', () => receiver.events.size === 2, 60)
  receiver.react = () => 503
  await bulk()
  await waitUntil('one event is refused', () => logs().some(({ msg }) => msg === 'outbox.refused'), 60)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.notOk(logs().some(({ level }) => Number(level) >= 50))
  t.match(
    logs().find(({ msg }) => msg === 'outbox.delivered'),
    { tenant: 'demo', events: 2 },
  )
  t.notMatch(JSON.stringify(logs()), /Nimali|0770000101|a-service-token/)
  receiver.react = () => 'acknowledge'
  launchOrders(t, {
    ORDERS_DATABASE_URL: url,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    ORDERS_PORT: '0',
    NOTIFIER_URL: receiver.url,
  })
  await waitUntil('all events are delivered', () => receiver.events.size === 3, 60)
})

for (const [how, seconds] of [
  ['refuses connections', 3],
  ['is silent', 5.5],
] as const)
  t.test(
    `while Postgres ${how} the process stays alive but not ready, responds with 503, and recovers on its own`,
    async t => {
      const { proxy, get, isReady, bulk, child } = shared
      const response = {
        message: 'The service is unavailable for a moment. Nothing was changed; repeat the request.',
        code: 'unavailable',
      }
      t.equal((await bulk()).status, 200)
      if (how === 'is silent') proxy.trouble = { kind: 'black_hole' }
      else await proxy.cut()
      for (const token of [undefined, newToken().token]) {
        const started = performance.now()
        const { status, headers, body } = await bulk(batch(), token)
        t.strictSame([status, headers.get('retry-after'), body], [503, '1', response])
        t.ok(performance.now() - started < seconds * 1_000)
      }
      const ready = await get('/health/ready')
      t.strictSame(
        [ready.status, await ready.json()],
        [503, { message: 'The database cannot be reached.', code: 'unavailable' }],
      )
      t.equal((await get('/health/live')).status, 200)
      const metrics = await get('/metrics')
      t.equal(metrics.status, 200)
      t.notMatch(await metrics.text(), /^outbox_(depth|age_seconds) /m)
      if (how === 'is silent') proxy.trouble = undefined
      else await proxy.restore()
      await isReady()
      t.equal((await bulk()).status, 200)
      t.equal(child.exitCode, null)
    },
  )

t.test('a connection cut during a request fails only that request', async t => {
  const { proxy, isReady, bulk, child, owner } = shared
  const { untilWaiting, release } = await holdOrders(owner)
  const requests = [bulk(), bulk(), bulk()]
  // Small batches of one tenant share statements.
  await untilWaiting(1)
  await proxy.cut()
  for (const { status, headers } of await Promise.all(requests))
    t.strictSame([status, headers.get('retry-after')], [503, '1'])
  await release()
  await proxy.restore()
  await isReady()
  t.equal((await bulk()).status, 200)
  t.equal(child.exitCode, null)
})

/** Holds each commit that changed rows of the table, until `release`; the test ends with the service ready. */
const holdCommits = async (t: Test, table: string) => {
  const { owner, proxy, isReady } = shared
  t.teardown(async () => {
    await owner.query('drop function wait cascade')
    await proxy.restore()
    await isReady()
  })
  await owner.query(`create function wait() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(1); return null; end $$`)
  await owner.query(`create constraint trigger slow_commit after insert or update or delete on ${table}
    deferrable initially deferred for each row execute function wait()`)
  await owner.query('select pg_advisory_lock(1)')
  const committing = `select 1 from pg_locks where locktype = 'advisory' and ${ofThisDatabase}`
  return {
    untilCommitting: () =>
      waitUntil('the transaction commits', async () => (await owner.query(committing)).rowCount, 60),
    release: () => owner.query('select pg_advisory_unlock(1)'),
  }
}

for (const [did, table] of [
  ['reserved numbers', 'waybill_counters'],
  ['used its token', 'tokens'],
  ['deleted an expired key', 'idempotency_keys'],
] as const)
  t.test(`the response to a request that only ${did} says that nothing was changed`, async t => {
    const { proxy, bulk, url, owner } = shared
    // A tenant and token of its own, which have reserved and used nothing yet.
    const token = await addTenant(url, table)
    const key = table === 'idempotency_keys' && { 'idempotency-key': 'a key' }
    const send = () => bulk(batch(), token, { 'x-tenant': table, ...key })
    if (key) {
      t.equal((await send()).status, 200)
      await owner.query(`set app.tenant = '${table}'`)
      await owner.query(`update idempotency_keys set created_at = now() - interval '25 hours'`)
    }
    const { untilCommitting, release } = await holdCommits(t, table)
    const request = send()
    await untilCommitting()
    await proxy.cut()
    const { status, headers, body } = await request
    t.strictSame([status, headers.get('retry-after'), body.code], [503, '1', 'unavailable'])
    await release()
  })

t.test('a response says that nothing was changed only when that is certain', async t => {
  const { proxy, bulk, url, owner } = shared
  const token = await addTenant(url, 'certain')
  const { untilCommitting, release } = await holdCommits(t, 'orders')
  const request = bulk(batch(), token, { 'x-tenant': 'certain' })
  await untilCommitting()
  await proxy.cut()
  const { status, body } = await request
  t.equal(status, 503)
  await release()
  await owner.query(`select set_config('app.tenant', 'certain', false)`)
  await waitUntil('the order exists after all', async () => (await owner.query('select 1 from orders')).rowCount, 60)
  t.notMatch(body.message, /nothing was changed/i)
})

/** Sends a request without its last `rest` bytes, which `finish` sends later. The client keeps the connection open. */
const sendOverOpenConnection = (
  t: Test,
  address: string,
  { tenant, token, rest }: { tenant: string; token: string; rest: number },
) => {
  const body = JSON.stringify(batch())
  const headers = [
    'POST /api/public/merchant/order/bulk HTTP/1.1',
    `host: ${new URL(address).host}`,
    `authorization: Bearer ${token}`,
    `x-tenant: ${tenant}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`${headers.join('\r\n')}\r\n\r\n${body.slice(0, body.length - rest)}`)
  let response = ''
  socket.on('data', chunk => {
    response += chunk
  })
  return { finish: () => socket.write(body.slice(body.length - rest)), response: () => response }
}

t.test('SIGTERM ends the process within 10 seconds even when a request waits for Postgres in vain', async t => {
  const { child, ended, owner, token, logs, address } = await start(t)
  const { untilWaiting } = await holdOrders(owner)
  const waits = sendOverOpenConnection(t, address, { tenant: 'demo', token, rest: 0 })
  await untilWaiting(1)
  const signalled = performance.now()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  const seconds = (performance.now() - signalled) / 1000
  t.ok(seconds < 10, `ended after ${seconds} s`)
  t.match(waits.response(), /^HTTP\/1\.1 503 Service Unavailable\r\n/)
  t.ok(logs().some(line => line.msg === 'process.stopped'))
})

t.test('the log is JSON lines with request ids, without personal data or tokens, even for failed requests', async t => {
  const { bulk, get, lines, logs, owner, token } = shared
  const person = {
    customer_name: 'Zebulon Quixote',
    customer_address: '77 Xylophone Lane',
    customer_phone: '0779998887',
    customer_secondary_phone: '0776665554',
    customer_email: 'zebulon@example.com',
    description: 'A brass kazoo',
    remark: 'Ring the gong',
  }
  const ids: (string | null)[] = []
  const expectStatus = async (
    expected: number,
    request: Promise<{ status: number; headers: Headers }>,
  ): Promise<void> => {
    const { status, headers } = await request
    t.equal(status, expected)
    ids.push(headers.get('x-request-id'))
  }
  const failing = async (constraint: string): Promise<void> => {
    await owner.query(`alter table orders add constraint failing check (${constraint}) not valid`)
    await expectStatus(500, bulk(batch([order(person)])))
    await owner.query('alter table orders drop constraint failing')
  }
  await expectStatus(200, bulk(batch([order(person)])))
  await expectStatus(422, bulk(batch([order({ ...person, destination_city_id: 9 })])))
  await expectStatus(422, bulk(batch([order({ ...person, cod: person.customer_name })])))
  await expectStatus(400, bulk(`{"customer_name": "${person.customer_name}", ${person.customer_phone}`))
  await expectStatus(401, bulk(batch([order(person)]), `${token}x`))
  await expectStatus(404, get(`/${encodeURIComponent(person.customer_name)}?phone=${person.customer_phone}`))
  await failing('length(customer_name) < 3')
  await failing('customer_name::integer > 0')

  const ofRequests = (msg: string) => logs().filter(line => line.msg === msg && ids.includes(String(line.request_id)))
  const completed = () => ofRequests('request.completed')
  await waitUntil('every request is logged', () => completed().length === ids.length, 60)
  t.strictSame(
    completed().map(line => line.request_id),
    ids,
  )
  t.equal(new Set(ids).size, 8)
  const failed = ofRequests('request.failed')
  t.match(failed, [
    { request_id: ids[6], level: 50, err: { code: '23514', constraint: 'failing' } },
    { request_id: ids[7], level: 50, err: { code: '22P02' } },
  ])
  const log = lines.join('\n')
  for (const [field, text] of Object.entries(person)) t.notOk(log.includes(text), field)
  t.notMatch(log, /Zebulon|Quixote|Xylophone/i)
  t.notOk(log.includes(token) || log.includes(token.slice('courier_'.length)))
})

t.test('limits of an address follow the settings, and wrong tokens block no valid one, in any process', async t => {
  const limits = { ADDRESS_REFUSALS_PER_MINUTE: '2', ADDRESS_LIMIT_PER_MINUTE: '30', TRUSTED_PROXIES: '127.0.0.0/8' }
  const first = await start(t, limits)
  const readStatuses = async (path: string, from: string) => {
    const headers = { 'x-tenant': 'demo', authorization: 'Bearer courier_x', 'x-forwarded-for': from }
    const statuses: number[] = []
    for (let round = 0; round < 32; round++) statuses.push((await fetch(`${first.address}${path}`, { headers })).status)
    return statuses
  }
  const times = (count: number, status: number): number[] => Array<number>(count).fill(status)
  t.strictSame(await readStatuses('/docs/merchants', '192.0.2.1'), [...times(30, 200), 429, 429])
  t.strictSame(await readStatuses('/api/public/merchant/state', '192.0.2.2'), [401, 401, ...times(30, 429)])
  const second = launchOrders(t, {
    ORDERS_DATABASE_URL: first.url,
    ORDERS_MIGRATE_DATABASE_URL: first.ownerUrl,
    ORDERS_PORT: '0',
    ...limits,
  })
  const addresses = [first.address, await second.listening()]
  const merchant = '/api/public/merchant'
  const readStatus = async (address: string, token: string) => {
    const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
    return (await fetch(`${address}${merchant}/state`, { headers })).status
  }
  for (const address of addresses) {
    const statuses: number[] = []
    for (let index = 0; index < 40; index++)
      statuses.push(await readStatus(address, index % 2 ? newToken().token : `courier_${index}`))
    t.strictSame([...new Set(statuses)], [401, 429])
  }
  const login = await fetch(`${first.address}${merchant}/login`, {
    method: 'POST',
    headers: { 'x-tenant': 'demo', 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'shop@example.com', password: 'lanka-shoes-demo' }),
  })
  const { token: fresh } = (await login.json()) as { token: string }
  for (const address of addresses)
    for (const token of [fresh, first.token]) t.equal(await readStatus(address, token), 200)
})

t.test('SIGTERM lets the requests in flight finish, then the process ends', async t => {
  const { child, ended, logs, owner, address, url } = shared
  const token = await addTenant(url, 'stopping')
  const { untilWaiting, release } = await holdOrders(owner)
  const waits = sendOverOpenConnection(t, address, { tenant: 'stopping', token, rest: 0 })
  const arrives = sendOverOpenConnection(t, address, { tenant: 'stopping', token, rest: 10 })
  await untilWaiting(1)
  const signalled = performance.now()
  child.kill('SIGTERM')
  await waitUntil('the process begins to stop', () => logs().some(line => line.msg === 'process.stopping'), 60)
  const isRefused = () =>
    new Promise<boolean>(resolve => {
      const socket = connect(Number(new URL(address).port), '127.0.0.1', () => resolve(false))
      socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'))
      t.teardown(() => socket.destroy())
    })
  await waitUntil('the process accepts no new connection', isRefused)
  t.equal(child.exitCode, null)
  arrives.finish()
  await release()
  t.equal(await ended, 0)
  const seconds = (performance.now() - signalled) / 1000
  t.ok(seconds < 10, `ended after ${seconds} s`)
  for (const { response } of [waits, arrives]) {
    t.match(response(), /^HTTP\/1\.1 200 OK\r\n/)
    t.match(response(), /"message":"Orders Created Successfully","data":\["DM0000000[12]"\]/)
  }
  t.ok(logs().some(line => line.msg === 'process.stopped'))
})
