import t from 'tap'
import { connect, credentials, message, startServer } from '../../test/messaging-api-server.ts'

t.test('does not offer HTTP/2, over which undici repeats a POST on its own', async t => {
  const { url, bytes } = await startServer(t, { onBytes: socket => socket.destroy() })
  const got = await connect(t, url.replace('http:', 'https:')).send(credentials, '1', message)
  t.equal(bytes().charCodeAt(0), 22, 'a TLS handshake')
  // Matches the whole ALPN extension: random keys of the handshake may contain the bytes of any one name.
  t.match(bytes(), '\x00\x10\x00\x0b\x00\x09\x08http/1.1')
  t.equal(got.kind, 'not_written')
})

t.test('sends nothing of the request to a server that does not finish the TLS handshake', async t => {
  const { url, bytes } = await startServer(t, {})
  const got = await connect(t, url.replace('http:', 'https:')).send(credentials, '1', message)
  t.same(got, { kind: 'not_written', reason: 'no connection in time' })
  t.notMatch(bytes(), /EAAG|messages/)
})
