import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Teardown } from '../dev/test-database.ts'

/** Gives each new connection to the next of the ports that takes it, as any load balancer does. Returns its address. */
export const startBalancer = async (t: Teardown, ports: readonly number[]): Promise<string> => {
  const sockets = new Set<Socket>()
  let next = 0
  const join = (from: Socket, to: Socket): void => {
    from.on('close', () => to.destroy())
    from.pipe(to)
  }
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
  }
  const server = createServer(async client => {
    keep(client)
    const first = next++
    for (let tries = 0; tries < ports.length * 2; tries++) {
      const upstream = connect({ host: '127.0.0.1', port: ports[(first + tries) % ports.length] as number })
      keep(upstream)
      const isOpen = await once(upstream, 'connect').then(
        () => true,
        () => false,
      )
      if (!isOpen) continue
      join(client, upstream)
      join(upstream, client)
      return
    }
    client.resetAndDestroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
