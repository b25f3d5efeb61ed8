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
