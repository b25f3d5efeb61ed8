import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server that a test can cut. */
export interface TcpProxy {
  /** On 127.0.0.1. */
  port: number
  /** Destroys every connection and refuses new ones. */
  cut: () => Promise<void>
  restore: () => Promise<void>
  close: () => Promise<void>
}

export const startProxy = async (target: { port: number; host: string }): Promise<TcpProxy> => {
  const sockets = new Set<Socket>()
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.pipe(to)
  }
  const server = createServer(client => {
    const upstream = connect(target)
    join(client, upstream)
    join(upstream, client)
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const cut = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return { port, cut, restore: () => listen(port), close: cut }
}
