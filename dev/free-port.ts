import { once } from 'node:events'
import { createServer } from 'node:net'

/** A TCP port of loopback that nothing uses at the moment. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}
