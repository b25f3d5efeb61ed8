import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { isPlainRefusal, type Operation } from './document.ts'
import { mix } from './odd-values.ts'
import type { Broken } from './promise.ts'
import type { Headers } from './sender.ts'
import type { Target } from './targets.ts'

interface RawRequest {
  method: string
  target: string
  lines: string[]
  body: string
}

const count = (length: number, line: (n: number) => string): string =>
  Array.from({ length }, (_, n) => line(n)).join('\r\n')

/** Bytes of a head, a header a line, that a well-behaved client would not send. */
const oddLines = [
  ...['-1', '1, 2', '99999999999999999999'].map(length => `content-length: ${length}`),
  ...['chunked', 'gzip, chunked', 'cow'].map(coding => `transfer-encoding: ${coding}`),
  ...['websocket\r\nconnection: upgrade', 'h2c\r\nconnection: upgrade, http2-settings'].map(to => `upgrade: ${to}`),
  'content-type: application/json\r\ncontent-type: text/plain',
  ...['x-tenant: demo\r\nx-tenant: rival', 'x-tenant: \xff\xfe', 'x-tenant:\tdemo', 'x-tenant : demo'],
  ...['authorization: Bearer a\r\nauthorization: Bearer b', ' folded: line', 'no colon', ': no name'],
  ...['expect: 100-continue', 'expect: a miracle', 'connection: close, close, keep-alive', 'host: b', 'host: \0'],
  ...['x-null: a\0b', 'x-forwarded-for: 1.2.3.4', 'x-http-method-override: DELETE', 'te: trailers'],
  ...['accept-encoding: br;q=1e9', 'range: bytes=0-', 'cookie: a=b; a=c; =;', `x-long: ${'a'.repeat(17_000)}`],
  count(300, n => `x-${n}: ${n}`),
  count(2_500, n => `h${n}:`),
]
const oddTargets = [
  ...'* / // /% /%00 /../../etc/passwd http://other.example/health/live /?% /health/live#a'.split(' '),
  ...['/\xff', '/a b', `/${'a'.repeat(9_000)}`],
]
const oddMethods = ['OPTIONS', 'TRACE', 'HEAD', 'DELETE', 'PROPFIND', 'QUERY', 'get', 'FOO']
const chunks = [
  ...['', '{}', '5\r\n{"a":\r\n0\r\n\r\n', '0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\n'],
  '1;a=b\r\n{\r\n0\r\nx: y\r\n\r\n',
]

const rawRequests = (operations: readonly Operation[]): fc.Arbitrary<RawRequest> =>
  fc.constantFrom(...operations).chain(({ method, path }) =>
    fc.record({
      method: mix([5, fc.constant(method)], [1, fc.constantFrom(...oddMethods)]),
      target: mix([5, fc.constant(path.replace(/\{[^}]+\}/g, '1'))], [1, fc.constantFrom(...oddTargets)]),
      lines: fc.array(fc.oneof(fc.constantFrom(...oddLines), headerLine), { minLength: 1, maxLength: 3 }),
      body: fc.constantFrom(...chunks),
    }),
  )

const headerLine = fc
  .tuple(
    fc.constantFrom('accept', 'x-tenant', 'idempotency-key', 'content-type', 'x-hub-signature-256'),
    fc.uint8Array({ maxLength: 40 }),
  )
  .map(([name, bytes]) => `${name}: ${Buffer.from(bytes).toString('latin1')}`)

/** Returns the first response to the bytes; undefined when the connection ends without one. */
const talk = async (url: string, headers: Headers, { method, target, lines, body }: RawRequest) => {
  const common = Object.entries({ host: 'a', ...headers, 'content-type': 'application/json' }).map(pair =>
    pair.join(': '),
  )
  const isFramed = body === '' || lines.some(line => /^(content-length|transfer-encoding)/.test(line))
  const head = [
    `${method} ${target} HTTP/1.1`,
    ...[...common, 'connection: close', ...(isFramed ? [] : [`content-length: ${body.length}`]), ...lines],
  ]
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setTimeout(8_000, () => socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => (text += chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.end(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'))
  await closed
  return readResponse(text)
}

const readResponse = (text: string) => {
  const [head = '', ...rest] = text.replace(/^HTTP\/1.1 1\d\d .*?\r\n\r\n/s, '').split('\r\n\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  const type = /^content-type: *(.*)$/im.exec(head)?.[1]?.trim()
  const isChunked = /^transfer-encoding: chunked/im.test(head)
  // The rest of the connection is the response to bytes that the service read as a second request.
  const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
  const body = rest.join('\r\n\r\n').slice(0, length)
  return status === undefined
    ? undefined
    : { status: Number(status), headers: { 'content-type': type }, text: isChunked ? unchunk(body) : body }
}

const unchunk = (body: string): string => /^[0-9a-f]+\r\n(.*)\r\n0\r\n/is.exec(body)?.[1] ?? body

/** Sends heads and bodies as bytes, over real connections. Returns how many were tried. */
export const fuzzSockets = async (
  { url, name, operations, headersFor }: Target,
  count: number,
  seed: number,
  broken: Broken,
): Promise<number> => {
  const headers = headersFor(operations[0] as Operation)
  let tried = 0
  const attempt = async (request: RawRequest): Promise<void> => {
    tried++
    const response = await talk(url, headers, request)
    if (!response || response.status < 400) return
    // HEAD has no body.
    if (request.method === 'HEAD' && response.status < 500) return
    if (!isPlainRefusal(response))
      throw new Error(`responded ${response.status} ${response.headers['content-type']} ${response.text.slice(0, 200)}`)
  }
  const result = await fc.check(fc.asyncProperty(rawRequests(operations), attempt), { numRuns: count, seed })
  if (result.failed)
    broken.add(`${name} over a socket: ${result.errorInstance}: ${JSON.stringify(result.counterexample).slice(0, 600)}`)
  return tried
}
