import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildServer } from '../test/server.ts'
import { acceptJson } from './json-body.ts'

const limits = { inAll: 300_000, ofAddress: 200_000 }

/** Starts a server that distinguishes its callers by X-Forwarded-For. */
const start = async (t: Test) => {
  const app = await buildServer(t, {
    trustedProxies: '127.0.0.1',
    bytesInFlight: limits,
  })
  await app.register(async json => {
    acceptJson(json)
    json.post('/large', { bodyLimit: 150_000 }, async () => ({}))
    json.post('/small', async () => ({}))
  })
  app.get('/none', async () => ({}))
  const sockets: Socket[] = []
  app.server.on('connection', socket => sockets.push(socket))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo

  /** Sends a head and part of a body; `response` is the first data that comes back. */
  const send = (line: string, headers: Record<string, string | number>, part: string | Buffer = '') => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    const fields = Object.entries({ host: 'x', 'content-type': 'application/json', ...headers })
    socket.on('error', () => {})
    socket.write(`${line} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    socket.write(part)
    const response = new Promise<string>(resolve => socket.once('data', data => resolve(String(data))))
    const closed = new Promise(resolve => socket.once('close', resolve))
    return { socket, response, closed }
  }
  const countBytes = async () => {
    const { payload } = await app.inject('/metrics')
    return Number(/^body_bytes_in_flight (\d+)$/m.exec(payload)?.[1])
  }
  const waitForBytes = async (bytes: number) => {
    for (let tries = 0; (await countBytes()) !== bytes; tries++) {
      if (tries === 200) throw new Error(`${await countBytes()} bytes are in flight, not ${bytes}`)
      await delay(10)
    }
  }
  return { app, send, countBytes, waitForBytes, received: () => sockets.reduce((sum, one) => sum + one.bytesRead, 0) }
}

const megabytes = 1_000_000
const writeChunk = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`

t.test('a body that is announced as too large is refused by its head alone', async t => {
  const { send } = await start(t)
  for (const line of ['POST /small', 'GET /none', 'POST /nothing', 'DELETE /small', 'HEAD /none'])
    t.match(await send(line, { 'content-length': 4_097 }).response, /^HTTP\/1.1 413 .*connection: close/s, line)
  t.match(await send('POST /large', { 'content-length': 150_001 }).response, /^HTTP\/1.1 413 /)
  t.match(await send('POST /small', { 'content-length': 4_096 }, ' '.repeat(4_096)).response, /^HTTP\/1.1 400 /)
})

t.test('a client that writes all of a refused body before it reads gets its response', async t => {
  const { send } = await start(t)
  const body = Buffer.alloc(8 * megabytes, ' ')
  for (const line of ['POST /small', 'POST /nothing'])
    for (const headers of [{ 'content-length': body.length }, { 'transfer-encoding': 'chunked' }]) {
      const { socket, response, closed } = send(line, headers)
      const errors: Error[] = []
      socket.on('error', error => errors.push(error)).pause()
      const part = 'content-length' in headers ? body : writeChunk(body.length)
      await new Promise(resolve => socket.write(part, resolve))
      socket.resume()
      t.match(
        await Promise.race([response, closed]),
        /^HTTP\/1.1 413 .*connection: close.*"code":"payload_too_large"/is,
        line,
      )
      await closed
      t.same(errors, [])
    }
})

t.test('reads at most 16 MiB of a refused body', async t => {
  const { send, received } = await start(t)
  await send('POST /small', { 'content-length': 100 * megabytes }, Buffer.alloc(60 * megabytes, ' ')).closed
  t.ok(received() < 20 * megabytes, `${received()} bytes were received`)
})

t.test('keeps almost nothing of a hundred large bodies that no route expects', async t => {
  const { send, countBytes, waitForBytes } = await start(t)
  const body = Buffer.alloc(4.8 * megabytes, ' ')
  let most = 0
  for (const line of ['POST /small', 'GET /none', 'POST /nothing'])
    for (const headers of [{ 'content-length': 5 * megabytes }, { 'transfer-encoding': 'chunked' }]) {
      const part = 'content-length' in headers ? body : writeChunk(body.length)
      const requests = Array.from({ length: 17 }, () => send(line, headers, part))
      const watch = setInterval(() => countBytes().then(bytes => (most = Math.max(most, bytes))), 5)
      await Promise.all(requests.map(({ response }) => response))
      clearInterval(watch)
      for (const { socket } of requests) socket.destroy()
    }
  t.ok(most < 17 * 200_000, `${most} bytes were held`)
  await waitForBytes(0)
})

t.test('bytes in flight are limited per address and in total, and counted as they arrive', async t => {
  const { app, send, waitForBytes } = await start(t)
  const post = (address: string, bytes: number) =>
    send('POST /large', { 'content-length': 150_000, 'x-forwarded-for': address }, ' '.repeat(bytes))
  const [first, second] = ['192.0.2.1', '192.0.2.2'] as const
  const slow = post(first, 10)
  await waitForBytes(10)
  const held = post(first, 100_000)
  await waitForBytes(100_010)
  const refused = await post(first, 0).response
  t.match(refused, /^HTTP\/1.1 429 .*connection: close\r\nretry-after: 1\r\n/is, 'another body from that address')

  post(second, 100_000)
  await waitForBytes(200_010)
  t.match(await post('192.0.2.3', 0).response, /^HTTP\/1.1 503 .*retry-after: 1\r\n/is, 'another body from any address')
  const small = {
    method: 'POST',
    url: '/small',
    headers: { 'content-type': 'application/json' },
    payload: '{}',
  } as const
  t.equal((await app.inject(small)).statusCode, 200, 'small bodies pass')

  held.socket.write(' '.repeat(50_000))
  t.match(await held.response, /^HTTP\/1.1 400 /, 'the complete body gets its response')
  await waitForBytes(100_010)
  slow.socket.destroy()
  await waitForBytes(100_000)
})

t.test('a body of unknown length is refused when it exceeds the limits', async t => {
  const { send, waitForBytes } = await start(t)
  const chunked = { 'transfer-encoding': 'chunked', 'x-forwarded-for': '192.0.2.1' }
  const first = send('POST /large', chunked, writeChunk(140_000))
  await waitForBytes(140_000)
  t.match(await send('POST /large', chunked, writeChunk(140_000)).response, /^HTTP\/1.1 429 /)
  await waitForBytes(140_000)
  first.socket.write('0\r\n\r\n')
  t.match(await first.response, /^HTTP\/1.1 400 /)
  await waitForBytes(0)
})

t.test('refuses an overlong content type, so that it is not cached', async t => {
  const { app } = await start(t)
  const headers = { 'content-type': `application/${'x'.repeat(300)}` }
  t.equal((await app.inject({ method: 'POST', url: '/small', headers, payload: '{}' })).statusCode, 415)
})
