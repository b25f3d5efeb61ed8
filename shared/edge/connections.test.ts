import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { drainConnectionsOnClose } from './connections.ts'

t.test('closing waits for a handler whose client has disconnected: the handler may still use the database', async t => {
  const app = Fastify()
  drainConnectionsOnClose(app)
  const done: string[] = []
  const started = Promise.withResolvers<void>()
  app.get('/', async () => {
    started.resolve()
    await delay(300)
    done.push('handler')
    return {}
  })
  const gone = new AbortController()
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const request = fetch(url, { signal: gone.signal }).catch(() => undefined)
  await started.promise
  gone.abort()
  await request
  await app.close()
  done.push('closed')
  t.same(done, ['handler', 'closed'])
})

t.test('closing ends no connection whose request arrived while the process was too busy to read it', async t => {
  const app = Fastify({ return503OnClosing: false })
  drainConnectionsOnClose(app)
  app.get('/', async () => ({}))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { server } = app
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const ask = () => socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  ask()
  await once(socket, 'data')
  const { closeIdleConnections } = server
  const closing = app.close()
  while (server.closeIdleConnections === closeIdleConnections) await delay(1)
  // Timers come next, before arrived bytes.
  await new Promise(setImmediate)
  ask()
  const busyUntil = performance.now() + 1_500
  while (performance.now() < busyUntil);
  const [response] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  t.match(String(response), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i)
  await closing
})
