import { once } from 'node:events'
import { createServer } from 'node:net'

/** A TCP port of loopback that is free at the moment. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** Throws an Error that names `setting` when the port is not available. */
export const refuseTakenPort = async (port: number, host: string, setting: string): Promise<void> => {
  const server = createServer().listen(port, host)
  await once(server, 'listening').catch(error => {
    throw new Error(`Port ${port} of ${host} cannot be used (${error.code}). Set ${setting} to a free port.`)
  })
  server.close()
  await once(server, 'close')
}

/** The URL at which a client on this machine reaches a server on that host and port. */
export const addressOf = (host: string, port: number): string => {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}
