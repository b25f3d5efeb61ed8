import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands in for the notifier: takes every call and forgets it. Returns its address. */
export const startEventsSink = async (cleanUps: AsyncDisposableStack): Promise<string> => {
  const server = createServer((request, answer) => {
    request.resume().on('end', () => answer.setHeader('content-type', 'application/json').end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.defer(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
