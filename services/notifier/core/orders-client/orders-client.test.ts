import { createServer } from 'node:http'
import { pino } from 'pino'
import t from 'tap'
import { listen } from '../../../../dev/ports.ts'
import { serviceToken } from '../../test/portal.ts'
import { createOrdersClient } from './http-client.ts'

t.test('slow look-ups of orders and their open circuit delay no look-up of staff', async t => {
  const server = createServer((request, response) => {
    if (request.url !== '/internal/staff-tokens') return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ now: new Date().toISOString(), data: [null] }))
  })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  const client = createOrdersClient({ url, serviceToken, logger: pino({ level: 'silent' }) })
  t.teardown(client.close)
  const findStaff = () => client.findStaff([{ tenant: 'demo', hash: '0'.repeat(64) }])
  const slow = Promise.all(Array.from({ length: 8 }, () => client.find('demo', 'DM00000001')))
  t.match(await Promise.race([findStaff(), slow]), { kind: 'found' })
  t.match(await slow, Array(8).fill({ kind: 'unavailable' }))
  t.match(await findStaff(), { kind: 'found' })
})
