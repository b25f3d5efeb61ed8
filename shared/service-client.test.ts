import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { listen } from '../dev/ports.ts'
import { createServiceClient, type ServiceClientOptions } from './service-client.ts'

const serviceToken = 'a-service-token-of-tests'

interface Arrived {
  line: string
  headers: IncomingMessage['headers']
  body: string
}

const start = async (t: Test, react: (response: ServerResponse, index: number) => void, port = 0) => {
  const arrived: Arrived[] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    arrived.push({ line: `${method} ${url}`, headers, body: await text(request) })
    react(response, arrived.length - 1)
  })
  server.on('connection', () => connections++)
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    if (server.listening) await new Promise(resolve => server.close(resolve))
  }
  t.teardown(close)
  const actualPort = await listen(server, port)
  return { baseUrl: `http://127.0.0.1:${actualPort}`, port: actualPort, arrived, close, connections: () => connections }
}

const createClient = (t: Test, baseUrl: string, more: Partial<ServiceClientOptions> = {}) => {
  const client = createServiceClient({ baseUrl, serviceToken, callMilliseconds: 1_000, ...more })
  t.teardown(() => client.close())
  return client
}

const respond = (response: ServerResponse, status = 200, body = '{"data":1}'): unknown =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)

t.test('a request carries the token and JSON, and connections are kept alive', async t => {
  const { baseUrl, arrived, connections } = await start(t, response => respond(response))
  const client = createClient(t, baseUrl)
  t.strictSame(await client.get('/internal/orders/demo/DM1'), { kind: 'response', status: 200, body: { data: 1 } })
  t.strictSame(await client.post('/internal/events', { tenant: 'démo' }), {
    kind: 'response',
    status: 200,
    body: { data: 1 },
  })
  t.match(arrived, [
    { line: 'GET /internal/orders/demo/DM1', headers: { authorization: `Bearer ${serviceToken}` }, body: '' },
    { line: 'POST /internal/events', headers: { 'content-type': 'application/json' }, body: '{"tenant":"démo"}' },
  ])
  for (let turn = 0; turn < 20; turn++) await client.get('/')
  t.ok(connections() < 5)
})

t.test('any status is a response, with or without JSON; redirects are not followed', async t => {
  const responses: [number, string, unknown][] = [
    [404, '{"message":"No."}', { message: 'No.' }],
    [500, 'broken', undefined],
    [302, '', undefined],
    [422, '{"message":', undefined],
  ]
  const { baseUrl, arrived } = await start(t, (response, index) => {
    response.setHeader('location', '/elsewhere')
    respond(response, responses[index]?.[0], responses[index]?.[1])
  })
  const client = createClient(t, baseUrl, { failuresToOpen: 1 })
  for (const [status, , body] of responses) t.strictSame(await client.get('/'), { kind: 'response', status, body })
  t.equal(arrived.length, responses.length)
})

t.test('a missing response resolves to a reason without content of the request', async t => {
  const reactions: [(response: ServerResponse) => void, RegExp][] = [
    [response => response.destroy(), /^connection (closed|reset)$/],
    [() => {}, /^no response in time$/],
    [response => void response.writeHead(200, { 'content-length': 100 }).write('{"data":'), /^no response in time$/],
    [response => void response.socket?.end('nonsense\r\n\r\n'), /^the response is not HTTP$/],
    [response => respond(response, 200, `"${'x'.repeat(2_000_000)}"`), /^the response is too large$/],
  ]
  for (const [react, reason] of reactions) {
    const { baseUrl, arrived } = await start(t, react)
    const started = performance.now()
    const got = await createClient(t, baseUrl).post('/internal/events', { customer_phone: '0770000101' })
    t.match(got, { kind: 'unreachable', reason })
    t.ok(performance.now() - started < 4_000)
    await delay(50)
    t.equal(arrived.length, 1, 'the request is sent once')
  }
  t.match(await createClient(t, 'http://127.0.0.1:1').get('/'), { kind: 'unreachable', reason: 'connection refused' })
  t.match(await createClient(t, 'http://nowhere.invalid').get('/'), { kind: 'unreachable', reason: /^host not found/ })
})

t.test('the circuit opens after several failures in a row, and closes on its own', async t => {
  const first = await start(t, response => respond(response))
  const client = createClient(t, first.baseUrl, { failuresToOpen: 3, openMilliseconds: 500 })
  t.match(await client.get('/'), { kind: 'response' })
  await first.close()
  for (let turn = 0; turn < 3; turn++) t.match(await client.get('/'), { reason: 'connection refused' })
  const second = await start(t, response => respond(response), first.port)
  const open = await client.get('/')
  t.match(open, { kind: 'unreachable', reason: 'not tried: the circuit is open' })
  t.equal(second.arrived.length, 0)
  await delay(700)
  t.match(await Promise.all([client.get('/'), client.get('/'), client.get('/')]), [
    { kind: 'response' },
    { kind: 'response' },
    { kind: 'response' },
  ])
})

t.test('a single request tests an open circuit; the others wait no longer than a request may take', async t => {
  let isHanging = true
  const { baseUrl, arrived } = await start(t, response => void (isHanging || respond(response)))
  const client = createClient(t, baseUrl, { failuresToOpen: 2, openMilliseconds: 300 })
  await Promise.all([client.get('/'), client.get('/')])
  t.equal(arrived.length, 2)
  await delay(400)
  const started = performance.now()
  const responses = await Promise.all([client.get('/'), client.get('/'), client.get('/')])
  t.strictSame(
    responses.map(({ kind }) => kind),
    ['unreachable', 'unreachable', 'unreachable'],
  )
  t.equal(arrived.length, 3)
  t.ok(performance.now() - started < 2_500)
  isHanging = false
  await delay(400)
  t.match(await client.get('/'), { kind: 'response' })
})
