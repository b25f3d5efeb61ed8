import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

/**
 * Linux and macOS give outgoing connections higher ports, so no connection takes one of these ports before a server
 * listens, or between two starts. The process id chooses the slice: processes with different slices never find the same
 * port free before one of them listens.
 */
const [firstPort, sliceCount, sliceSize] = [12_000, 519, 40]
const slice = Array.from(
  { length: sliceSize },
  (_, index) => firstPort + (process.pid % sliceCount) * sliceSize + index,
)
let turn = 0

/** Finds a loopback TCP port on which no process listens. Returns another port each time, while the slice lasts. */
export const findFreePort = async (): Promise<number> => {
  for (let tries = 0; tries < sliceSize; tries++) {
    const port = slice[turn++ % sliceSize]
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port as number
  }
  throw new Error(`No free port was found between ${slice.at(0)} and ${slice.at(-1)}.`)
}

/** Lets a server listen on loopback, on a free port of the system's choice unless one is given. Returns the port. */
export const listen = async (server: Server, port = 0): Promise<number> => {
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
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
export const toAddress = (host: string, port: number): string => {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}
