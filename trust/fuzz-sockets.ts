import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import type { Application } from './applications.ts'
import { isPlainRefusal, type Operation } from './document.ts'
import { chunks, oddLines, oddMethods, oddTargets } from './odd-heads.ts'
import type { Broken } from './promise.ts'

interface RawCall {
  method: string
  target: string
  lines: string[]
  body: string
}

const rawCalls = (operations: readonly Operation[]): fc.Arbitrary<RawCall> =>
  fc.constantFrom(...operations).chain(({ method, path }) => {
    const own = path.replace(/\{[^}]+\}/g, '1')
    return fc.record({
      method: fc.oneof(
        { weight: 5, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom(...oddMethods) },
      ),
      target: fc.oneof(
        { weight: 5, arbitrary: fc.constant(own) },
        { weight: 1, arbitrary: fc.constantFrom(...oddTargets) },
      ),
      lines: fc.array(fc.oneof(fc.constantFrom(...oddLines), headerLine), { minLength: 1, maxLength: 3 }),
      body: fc.constantFrom(...chunks),
    })
  })

const headerLine = fc
  .tuple(
    fc.constantFrom('accept', 'x-tenant', 'idempotency-key', 'content-type', 'x-hub-signature-256'),
    fc.uint8Array({ maxLength: 40 }),
  )
  .map(([name, bytes]) => `${name}: ${Buffer.from(bytes).toString('latin1')}`)

/** The first answer to the bytes; undefined when the connection ends without one. */
const talk = async (port: number, token: string, { method, target, lines, body }: RawCall) => {
  const own = [
    'host: a',
    `authorization: Bearer ${token}`,
    'x-tenant: demo',
    'content-type: application/json',
    'connection: close',
  ]
  const given =
    body === '' || lines.some(line => /^(content-length|transfer-encoding)/.test(line))
      ? []
      : [`content-length: ${body.length}`]
  const socket = connect(port, '127.0.0.1').setTimeout(8_000, () => socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => (text += chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.end(
    Buffer.from(
      `${method} ${target} HTTP/1.1\r\n${[...own, ...given, ...lines].join('\r\n')}\r\n\r\n${body}`,
      'latin1',
    ),
  )
  await closed
  return readAnswer(text)
}

const readAnswer = (text: string) => {
  const [head = '', ...rest] = text.replace(/^HTTP\/1.1 1\d\d .*?\r\n\r\n/s, '').split('\r\n\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]
  const type = /^content-type: *(.*)$/im.exec(head)?.[1]?.trim()
  const isChunked = /^transfer-encoding: chunked/im.test(head)
  // What follows in the same connection answers bytes that the service took for a second request.
  const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
  const body = rest.join('\r\n\r\n').slice(0, length)
  return status === undefined
    ? undefined
    : { status: Number(status), headers: { 'content-type': type }, text: isChunked ? unchunk(body) : body }
}

const unchunk = (body: string): string => /^[0-9a-f]+\r\n(.*)\r\n0\r\n/is.exec(body)?.[1] ?? body

/** Heads and bodies as bytes, over real connections. Returns how many were tried. */
export const fuzzSockets = async (
  { app, name, operations, tokenFor }: Application,
  count: number,
  seed: number,
  broken: Broken,
): Promise<number> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const token = tokenFor(operations[0] as Operation)
  let tried = 0
  const attempt = async (call: RawCall): Promise<void> => {
    tried++
    const answer = await talk(port, token, call)
    if (!answer || answer.status < 400) return
    // HEAD has no body.
    if (call.method === 'HEAD' && answer.status < 500) return
    if (!isPlainRefusal(answer))
      throw new Error(`answered ${answer.status} ${answer.headers['content-type']} ${answer.text.slice(0, 200)}`)
  }
  const result = await fc.check(fc.asyncProperty(rawCalls(operations), attempt), { numRuns: count, seed })
  if (result.failed)
    broken.add(`${name} over a socket: ${result.errorInstance}: ${JSON.stringify(result.counterexample).slice(0, 600)}`)
  return tried
}
