import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { build } from './test/build.ts'

t.test(
  'the service logs no warning or error when clients reset their connections at any point of a request',
  async t => {
    const log: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => log.push(line) })
    const { app, token } = await build(t, { logger, addressLimits: { requests: 1_000, refusals: 1_000 } })
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const merchant = '/api/public/merchant'
    const lines = [
      `POST ${merchant}/login`,
      `GET ${merchant}/order/tracking-info`,
      `POST ${merchant}/order/bulk`,
      'GET /t/demo/x',
    ]
    for (const line of lines)
      for (const milliseconds of [0, 20]) {
        const accepted = once(app.server, 'connection')
        const socket = connect(port, '127.0.0.1').on('error', () => {})
        await Promise.all([once(socket, 'connect'), accepted])
        const head = [
          'host: x',
          `authorization: Bearer ${token}`,
          'x-tenant: demo',
          'content-type: application/json',
          'content-length: 50',
        ]
        await new Promise(resolve => socket.write(`${line} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n{"email":`, resolve))
        await delay(milliseconds)
        socket.resetAndDestroy()
      }
    await delay(100)
    t.strictSame(log, [])
  },
)
