import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Linux and macOS give higher ports to outgoing connections: none of them takes one of these before a server listens,
 * or between two starts.
 */
const [firstPort, endPort] = [12_000, 32_768]

/** Finds a TCP port of loopback on which no process listens, at random. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(firstPort, endPort)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`No free port was found between ${firstPort} and ${endPort}.`)
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

/** Returns the URL at which a client on this machine reaches a server on that host and port. */
export const addressOf = (host: string, port: number): string => {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}
