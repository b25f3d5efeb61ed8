import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { httpError } from '../errors/errors.ts'
import { describeError } from '../log.ts'
import { CommitInDoubt } from '../postgres/database.ts'
import { buildServer } from '../test/server.ts'

const failures: Record<string, unknown> = {
  inner: new Error('the vault key is s3cret'),
  text: 's3cret',
  library: Object.assign(new Error('s3cret'), { statusCode: 502 }),
  stopping: Object.assign(new Error('terminating connection s3cret'), { code: '57P01' }),
  refused: Object.assign(new Error('connect ECONNREFUSED s3cret'), { code: 'ECONNREFUSED' }),
  doubtful: new CommitInDoubt({ cause: new Error('s3cret') }),
  conflict: httpError('idempotency_key_running', 'Busy.', { headers: { 'x-owner': 'somebody' }, retryAfterSeconds: 7 }),
  wrong: httpError('validation_failed', 'The given data was invalid.', {
    errors: { cod: ['The cod field is required.'] },
  }),
}

/** Starts a server with routes of this test; `lines` holds what it logs. */
const start = async (t: Test) => {
  const stream = new PassThrough()
  const lines: Record<string, unknown>[] = []
  stream.on('data', (line: Buffer) => lines.push(JSON.parse(line.toString())))
  const app = await buildServer(t, {
    logger: pino({ serializers: { err: describeError } }, stream),
  })
  app.get('/orders/:waybill', async () => ({}))
  app.put('/orders/:waybill', async () => ({}))
  await app.register(async bodies => {
    bodies.removeAllContentTypeParsers()
    const parser = bodies.getDefaultJsonParser('error', 'error')
    bodies.addContentTypeParser('application/json', { parseAs: 'string' }, parser)
    bodies.post('/orders', { bodyLimit: 100, schema: { body: Type.Object({ cod: Type.Integer() }) } }, async () => ({}))
  })
  app.route({
    method: ['GET', 'POST'],
    url: '/fails/:how',
    handler: async ({ params }) => {
      throw failures[(params as { how: string }).how]
    },
  })

  const request = async (method: 'GET' | 'POST' | 'DELETE', url: string, body?: string, type = 'application/json') => {
    const given = body === undefined ? {} : { payload: body, headers: { 'content-type': type } }
    const response = await app.inject({ method, url, ...given })
    t.match(response.headers['content-type'], /^application\/json/, `${method} ${url} gets JSON`)
    return { status: response.statusCode, headers: response.headers, body: response.json() }
  }
  const listen = async (): Promise<number> => {
    await app.listen({ port: 0, host: '127.0.0.1' })
    return (app.server.address() as AddressInfo).port
  }
  return { request, listen, lines }
}

t.test('an address without a route gets 404', async t => {
  const { request } = await start(t)
  for (const url of ['/nothing', '/orders/a/b', '/docs/nothing'])
    t.match(await request('GET', url), { status: 404, body: { message: 'There is nothing at this address.' } }, url)
})

t.test('a wrong method gets 405 and the allowed methods', async t => {
  const { request } = await start(t)
  const table: [string, string][] = [
    ['/orders', 'POST'],
    ['/orders?page=2', 'POST'],
    ['/orders/', 'POST'],
    ['/orders/DM00000001', 'GET, HEAD, PUT'],
    ['/orders/DM00000001/', 'GET, HEAD, PUT'],
    [`/orders/${'D'.repeat(255)}`, 'GET, HEAD, PUT'],
    ['/health/live', 'GET, HEAD'],
  ]
  for (const [url, allow] of table) {
    const { status, headers, body } = await request('DELETE', url)
    t.strictSame([status, headers.allow], [405, allow], url.slice(0, 30))
    t.strictSame(body, {
      message: `The DELETE method is not supported here; use ${allow}.`,
      code: 'method_not_allowed',
    })
  }
})

t.test('a wrong address or method is reported, whatever the body', async t => {
  const { request } = await start(t)
  const bodies: [string, string][] = [
    ['{"cod":', 'application/json'],
    ['', 'application/json'],
    ['cod=1', 'text/plain'],
  ]
  for (const [body, type] of bodies) {
    t.equal((await request('POST', '/nothing', body, type)).status, 404, type)
    t.equal((await request('DELETE', '/orders', body, type)).status, 405, type)
  }
})

t.test('an address that cannot be decoded gets 400', async t => {
  const { request } = await start(t)
  for (const url of ['/orders/%zz', '/%zz', '/orders/%ff'])
    t.match(
      await request('GET', url),
      { status: 400, headers: { 'x-request-id': /^[0-9a-f-]{36}$/ }, body: { message: 'The address is malformed.' } },
      url,
    )
})

t.test('the error of an unreadable body says why', async t => {
  const { request } = await start(t)
  const postOrders = (body: string, type?: string) => request('POST', '/orders', body, type)
  t.match(await postOrders('{"cod":'), { status: 400, body: { message: /JSON/ } })
  t.match(await postOrders('', 'application/json'), { status: 400, body: { message: /empty/ } })
  t.match(await postOrders('"'.padEnd(101)), {
    status: 413,
    body: { message: 'The body is too large. Send it in smaller parts.' },
  })
  t.match(await postOrders('cod=1', 'application/x-www-form-urlencoded'), {
    status: 415,
    body: { message: 'Send the body as application/json.' },
  })
  const { status, body } = await postOrders('{"cod":"1"}')
  t.equal(status, 422)
  t.strictSame(body, {
    message: 'The given data was invalid.',
    code: 'validation_failed',
    errors: { cod: ['The cod field must be an integer.'] },
  })
})

t.test('an internal error is logged, and its message is hidden from the client', async t => {
  const { request, lines } = await start(t)
  for (const how of ['inner', 'text', 'library']) {
    const { status, headers, body } = await request('GET', `/fails/${how}`)
    t.equal(status, 500, how)
    t.strictSame(body, {
      message: 'Something went wrong on our side. Quote the x-request-id of this response.',
      code: 'internal_error',
    })
    const id = headers['x-request-id']
    t.match(id, /^[0-9a-f-]{36}$/)
    const line = lines.find(line => line.request_id === id && line.msg === 'request.failed')
    t.type(line, 'object', `the log has ${how}`)
    if (how !== 'text') t.match(JSON.stringify(line?.err), /s3cret/)
  }
})

t.test('an unavailable Postgres gives 503 with Retry-After', async t => {
  const { request, lines } = await start(t)
  for (const how of ['stopping', 'refused']) {
    const { status, headers, body } = await request('GET', `/fails/${how}`)
    t.strictSame([status, headers['retry-after']], [503, '1'], how)
    t.notMatch(JSON.stringify(body), /s3cret/)
    t.match(body, { message: /unavailable/ })
    t.ok(lines.some(line => line.request_id === headers['x-request-id'] && line.msg === 'request.failed'))
  }
})

t.test('a commit in doubt gives 503 without Retry-After; a read gets the 503 of an unavailable Postgres', async t => {
  const { request } = await start(t)
  const changed = await request('POST', '/fails/doubtful')
  t.strictSame([changed.status, changed.body.code], [503, 'outcome_unknown'])
  t.notOk('retry-after' in changed.headers)
  const read = await request('GET', '/fails/doubtful')
  t.strictSame([read.status, read.body.code, read.headers['retry-after']], [503, 'unavailable', '1'])
})

t.test('an HttpError keeps its headers, and is not logged as a failure', async t => {
  const { request, lines } = await start(t)
  const conflict = await request('GET', '/fails/conflict')
  t.strictSame([conflict.status, conflict.body], [409, { message: 'Busy.', code: 'idempotency_key_running' }])
  t.match(conflict.headers, { 'x-owner': 'somebody', 'retry-after': '7' })
  const wrong = await request('GET', '/fails/wrong')
  t.strictSame(wrong.body, {
    message: 'The given data was invalid.',
    code: 'validation_failed',
    errors: { cod: ['The cod field is required.'] },
  })
  t.notOk('retry-after' in wrong.headers)
  t.notOk(lines.some(line => line.msg === 'request.failed'))
})

/** Writes the parts, half a second apart, until the server closes; returns the whole response and its seconds. */
const talk = async (port: number, ...parts: string[]) => {
  const socket = connect(port, '127.0.0.1')
  const started = performance.now()
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  for (const part of parts) {
    if (socket.closed) break
    socket.write(part)
    if (parts.length > 1) await Promise.race([delay(500), closed])
  }
  const isClosed = await Promise.race([closed.then(() => true), delay(8_000, false, { ref: false })])
  socket.destroy()
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { isClosed, seconds: (performance.now() - started) / 1000, head, body }
}

t.test('bytes that are not HTTP get a short response and a closed connection', async t => {
  const port = await (await start(t)).listen()
  const table: [bytes: string, status: string, message: string, code: string][] = [
    ['\x16\x03\x01\x02\x00 no HTTP', '400 Bad Request', 'Bad Request.', 'malformed_request'],
    ['GET / HTTP/9.9\r\n\r\n', '400 Bad Request', 'Bad Request.', 'malformed_request'],
    ['GET / HTTP/1.1\r\nbroken header\r\n\r\n', '400 Bad Request', 'Bad Request.', 'malformed_request'],
    [
      `GET / HTTP/1.1\r\nhost: a\r\nx-large: ${'a'.repeat(20_000)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'Request Header Fields Too Large.',
      'headers_too_large',
    ],
  ]
  for (const [bytes, status, message, code] of table) {
    const { isClosed, head, body } = await talk(port, bytes)
    t.equal(isClosed, true, `closed after ${JSON.stringify(bytes.slice(0, 20))}`)
    t.equal(head.split('\r\n')[0], `HTTP/1.1 ${status}`)
    t.match(head, /content-type: application\/json/i)
    t.same(JSON.parse(body), { message, code })
  }
})

t.test('ignores an Expect header that cannot be met', async t => {
  const port = await (await start(t)).listen()
  const { head, body } = await talk(
    port,
    'GET /orders/A HTTP/1.1\r\nhost: a\r\nexpect: a miracle\r\nconnection: close\r\n\r\n',
  )
  t.equal(head.split('\r\n')[0], 'HTTP/1.1 200 OK')
  t.same(JSON.parse(body), {})
})

t.test('a client that sends too slowly gets 408 and is disconnected within seconds', async t => {
  const port = await (await start(t)).listen()
  const slowly = 'x-slow: 1\r\n'.split('')
  const head = 'POST /orders HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n'
  const [slowHead, slowBody] = await Promise.all([
    talk(port, 'GET /orders/A HTTP/1.1\r\nhost: a\r\n', ...slowly),
    talk(port, head, ...'{"cod":          '.split('')),
  ])
  for (const { isClosed, head, body, seconds } of [slowHead, slowBody]) {
    t.equal(isClosed, true)
    t.equal(head.split('\r\n')[0], 'HTTP/1.1 408 Request Timeout')
    t.same(JSON.parse(body), { message: 'Request Timeout.', code: 'request_timeout' })
    t.ok(seconds < 7, `after ${seconds} s`)
  }
  t.ok(slowHead.seconds < 6, `a slow head is closed after ${slowHead.seconds} s`)
})
