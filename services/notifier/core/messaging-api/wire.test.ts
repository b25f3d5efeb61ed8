import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../../dev/ports.ts'
import {
  accepted,
  type Behaviour,
  connect,
  credentials,
  message,
  respond,
  startServer,
} from '../../test/messaging-api-server.ts'
import { classify } from './classify.ts'

const halfResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"messages":[{"id":"wamid.1"}]'

/**
 * Returns the outcome of one send to a server with this behaviour, and its duration. Requires that the server saw the
 * request `seen` times.
 */
const send = async (t: Test, behaviour: Behaviour, requestMilliseconds = 500, seen = 1) => {
  const { url, arrived } = await startServer(t, behaviour)
  const api = connect(t, url, { requestMilliseconds })
  const began = performance.now()
  const got = await api.send(credentials, '1', message)
  const took = performance.now() - began
  await sleep(50)
  t.equal(arrived.length, seen)
  t.notMatch(JSON.stringify(got), /EAAG|9477|Nimali/)
  return { got, took }
}

/** Returns an address at which nobody listens. */
const findUnusedAddress = async (): Promise<string> => `http://127.0.0.1:${await findFreePort()}`

t.test('a refused connection writes nothing', async t => {
  const got = await connect(t, await findUnusedAddress()).send(credentials, '1', message)
  t.same(got, { kind: 'not_written', reason: 'connection refused' })
})

t.test('a host without an address gets nothing', async t => {
  const got = await connect(t, 'http://nowhere.invalid').send(credentials, '1', message)
  t.match(got, { kind: 'not_written', reason: /^host not found/ })
})

t.test('a server that accepts the request and never responds leaves the outcome unknown by the deadline', async t => {
  for (const requestMilliseconds of [300, 5_000]) {
    const { got, took } = await send(t, {}, requestMilliseconds)
    t.same(got, { kind: 'no_response', reason: 'no response in time' })
    t.ok(took < (requestMilliseconds === 300 ? 900 : 4_000), `${took} ms`)
  }
})

t.test('a connection that ends after the first bytes leaves the outcome unknown', async t => {
  const { got } = await send(t, { onBytes: socket => socket.destroy() })
  t.match(got, { kind: 'no_response', reason: /^connection (closed|reset)$/ })
})

t.test(
  'a connection that ends as it begins leaves the outcome unknown, unless it ended before the first byte was written',
  async t => {
    const { got } = await send(t, { onConnect: socket => socket.resetAndDestroy() }, 500, 0)
    t.match(got, { kind: /^(no_response|not_written)$/, reason: /^connection (closed|reset)$/ })
    const closed = await send(t, { onConnect: socket => socket.end() })
    t.match(closed.got, { kind: 'no_response', reason: /^connection (closed|reset)$/ })
  },
)

t.test('a connection that ends after the whole request leaves the outcome unknown', async t => {
  const { got } = await send(t, { onRequest: ({ socket }) => socket.end() })
  t.same(got, { kind: 'no_response', reason: 'connection closed' })
  const reset = await send(t, { onRequest: ({ socket }) => socket.resetAndDestroy() })
  t.match(reset.got, { kind: 'no_response', reason: /^connection (closed|reset)$/ })
})

t.test('half a success leaves the outcome unknown, though the id may be in it', async t => {
  const { got } = await send(t, { onRequest: ({ socket }) => socket.end(halfResponse) })
  t.match(got, { kind: 'no_response' })
  const stalled = await send(t, { onRequest: ({ socket }) => socket.write(halfResponse) }, 5_000)
  t.same(stalled.got, { kind: 'no_response', reason: 'no response in time' })
})

t.test('half a refusal is a refusal, after which the request may be repeated', async t => {
  const half = halfResponse.replace('200 OK', '400 Bad')
  const { got } = await send(t, { onRequest: ({ socket }) => socket.end(half) })
  t.match(got, { kind: 'refused', status: 400, code: null, isTransient: true })
})

t.test('a page from a gateway that gave up leaves the outcome unknown, even if it is cut off or too large', async t => {
  for (const status of [408, 502, 504, 524]) {
    const half = halfResponse.replace('200 OK', `${status} Late`)
    const cut = await send(t, { onRequest: ({ socket }) => socket.end(half) })
    const large = await send(t, { onRequest: ({ socket }) => respond(socket, status, '<'.repeat(262_145)) })
    for (const { got } of [cut, large])
      t.equal(got.kind === 'refused' && classify(got).mayHaveBeenSent, true, `${status}`)
  }
})

t.test('stops at the deadline when a response trickles for ever', async t => {
  const { got, took } = await send(t, {
    onRequest: ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n')
      const drip = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => clearInterval(drip))
    },
  })
  t.same(got, { kind: 'no_response', reason: 'no response in time' })
  t.ok(took < 1_500, `${took} ms`)
})

t.test('does not read a response beyond 256 KiB', async t => {
  const large = (status: number) => send(t, { onRequest: ({ socket }) => respond(socket, status, ' '.repeat(262_145)) })
  t.same((await large(200)).got, { kind: 'no_response', reason: 'the response is too large' })
  t.match((await large(500)).got, { kind: 'refused', status: 500, code: null })
  const fits = accepted().padEnd(262_144)
  t.match((await send(t, { onRequest: ({ socket }) => respond(socket, 200, fits) })).got, { kind: 'accepted' })
})

t.test('a response that is not HTTP leaves the outcome unknown', async t => {
  const { got } = await send(t, { onRequest: ({ socket }) => socket.end('220 mail.example ESMTP\r\n') })
  t.match(got, { kind: 'no_response', reason: 'the response is not HTTP' })
})

t.test('treats redirects as refusals and does not follow them', async t => {
  const elsewhere = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `${elsewhere.url}/v17.0/1/messages`
    const { got } = await send(t, { onRequest: ({ socket }) => respond(socket, status, '', { location }) })
    t.match(got, { kind: 'refused', status, code: null })
  }
  t.equal(elsewhere.connections(), 0)
})

t.test('ignores informational responses', async t => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
  const { got } = await send(t, {
    onRequest: ({ socket }) => {
      socket.write(hints)
      respond(socket, 200, accepted())
    },
  })
  t.match(got, { kind: 'accepted', providerMessageId: 'wamid.HBgL' })
})

t.test('reads a slow response within the deadlines', async t => {
  const { got } = await send(t, { onRequest: ({ socket }) => setTimeout(() => respond(socket, 200, accepted()), 120) })
  t.match(got, { kind: 'accepted' })
})

t.test('a request that finds no free connection in time is never written', async t => {
  const { url, arrived, bytes } = await startServer(t, {
    onRequest: ({ socket }) => setTimeout(() => respond(socket, 200, accepted()), 900),
  })
  const slow = { connections: 1, headersMilliseconds: 2_000 }
  const api = connect(t, url, { ...slow, requestMilliseconds: 600 })
  const patient = connect(t, url, { ...slow, requestMilliseconds: 2_000 })
  const first = api.send(credentials, '1', message)
  const second = api.send(credentials, '1', { ...message, callbackData: 'ntf_2', withinMilliseconds: 100 })
  t.same(await first, { kind: 'no_response', reason: 'no response in time' })
  t.same(await second, { kind: 'not_written', reason: 'no connection in time' })
  t.match(await patient.send(credentials, '1', message), { kind: 'accepted' })
  t.equal(arrived.length, 2)
  t.notMatch(bytes(), 'ntf_2')
})

t.test('requests for which no connection is free wait, and are then written once each', async t => {
  const { url, arrived, connections } = await startServer(t, {
    onRequest: ({ socket }) => setTimeout(() => respond(socket, 200, accepted()), 10),
  })
  const api = connect(t, url, { connections: 2 })
  const calls = Array.from({ length: 20 }, () => api.send(credentials, '1', message))
  t.ok((await Promise.all(calls)).every(({ kind }) => kind === 'accepted'))
  t.equal(arrived.length, 20)
  t.equal(connections(), 2)
})

t.test(
  'a queued request that is written leaves the outcome unknown like any other when its response is lost',
  async t => {
    const { url } = await startServer(t, {
      onRequest: ({ socket }, index) => (index === 0 ? respond(socket, 200, accepted()) : socket.destroy()),
    })
    const api = connect(t, url, { connections: 1 })
    const got = await Promise.all([1, 2, 3].map(() => api.send(credentials, '1', message)))
    t.same(
      got.map(({ kind }) => kind),
      ['accepted', 'no_response', 'no_response'],
    )
  },
)

t.test('replaces a connection that the server closed while idle', async t => {
  const { url, connections } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, accepted()) })
  const closing = await startServer(t, {
    onRequest: ({ socket }) => {
      respond(socket, 200, accepted())
      socket.end()
    },
  })
  const [kept, closed] = [connect(t, url), connect(t, closing.url)]
  for (let call = 0; call < 3; call++) {
    t.match(await kept.send(credentials, '1', message), { kind: 'accepted' })
    t.match(await closed.send(credentials, '1', message), { kind: 'accepted' })
    await sleep(20)
  }
  t.equal(connections(), 1)
  t.equal(closing.connections(), 3)
})

t.test('neither writes nor shows a token that no header can hold', async t => {
  const { url, arrived } = await startServer(t, {})
  const api = connect(t, url)
  for (const accessToken of ['two\r\nlines', 'ключ'])
    t.same(await api.send({ accessToken }, '1', message), {
      kind: 'not_written',
      reason: 'a request that cannot be written as HTTP',
    })
  t.equal(arrived.length, 0)
})

t.test('closing waits for requests in flight and refuses later ones', async t => {
  const { url } = await startServer(t, {
    onRequest: ({ socket }) => setTimeout(() => respond(socket, 200, accepted()), 100),
  })
  const api = connect(t, url)
  const inFlight = api.send(credentials, '1', message)
  await sleep(20)
  await api.close()
  t.match(await inFlight, { kind: 'accepted' })
  t.same(await api.send(credentials, '1', message), { kind: 'not_written', reason: 'shutting down' })
})
