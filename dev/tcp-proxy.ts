import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { listen } from './ports.ts'

/** Describes a network failure. A request is what the client sends; a response is what comes back. */
export type Trouble =
  /** The request does not arrive; the client's connection is reset. */
  | { kind: 'reset' }
  /** Nothing arrives, and neither end notices. */
  | { kind: 'black_hole' }
  /** The request arrives; a reset replaces its response. */
  | { kind: 'lost_response' }
  /** Half of the request arrives, or half of the response, then both ends are reset. */
  | { kind: 'half_request' }
  | { kind: 'half_response' }
  /** Everything arrives `milliseconds` later, in both directions. */
  | { kind: 'slow'; milliseconds: number }

/** Applies to the connections that `TcpProxy.silence` has silenced. */
const silence: Trouble = { kind: 'black_hole' }

/** Describes a proxy in front of servers, which injects failures. */
export interface TcpProxy {
  /** Is a port on 127.0.0.1. */
  readonly port: number
  /** Applies to data from now on, on open connections too; undefined ends the failure. */
  trouble: Trouble | undefined
  /**
   * Lets nothing more arrive over the connections that are open now. Neither end notices, even when the other end
   * closes.
   */
  silence: () => void
  /** Destroys every connection and refuses new ones. */
  cut: () => Promise<void>
  restore: () => Promise<unknown>
  close: () => Promise<void>
}

/**
 * Starts a proxy that connects each client to the next target that accepts it. Reads a target's address at each
 * connection, so that the address may change.
 */
export const startProxy = async (...targets: readonly { port: number; host: string }[]): Promise<TcpProxy> => {
  const sockets = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  let connections = 0
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
  }
  const findUpstream = async (): Promise<Socket | undefined> => {
    const rotated = [...targets, ...targets].splice(connections++ % targets.length, targets.length)
    for (const target of rotated) {
      const upstream = keep(connect(target))
      const isOpen = await once(upstream, 'connect').catch(() => false)
      if (isOpen) return upstream
    }
  }
  const server = createServer(async client => {
    keep(client)
    const upstream = await findUpstream()
    if (!upstream || client.destroyed) {
      client.destroy()
      upstream?.destroy()
      return
    }
    const findTrouble = (): Trouble | undefined => (silent.has(client) ? silence : proxy.trouble)
    client.on('close', () => silent.has(client) || upstream.destroy())
    upstream.on('close', () => silent.has(client) || client.destroy())
    pass(client, upstream, 'request', findTrouble)
    pass(upstream, client, 'response', findTrouble)
  })
  const cut = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const port = await listen(server)
  const proxy: TcpProxy = {
    port,
    trouble: undefined,
    silence: () => sockets.forEach(socket => void silent.add(socket)),
    cut,
    restore: () => listen(server, port),
    close: cut,
  }
  return proxy
}

/** Forwards data from one end to the other, in order, subject to the current trouble. */
const pass = (from: Socket, to: Socket, part: 'request' | 'response', findTrouble: () => Trouble | undefined): void => {
  let earlier: Promise<void> = Promise.resolve()
  from.on('data', bytes => {
    const trouble = findTrouble()
    earlier = earlier.then(async () => {
      from.pause()
      if (trouble?.kind === 'slow') await delay(trouble.milliseconds)
      await write(to, spoil(bytes, part, trouble))
      if (endsWith(part, trouble)) for (const end of [from, to]) end.resetAndDestroy()
      from.resume()
    })
  })
  from.on('end', () => {
    earlier = earlier.then(() => void (findTrouble() === silence || to.end()))
  })
}

/** Returns the bytes that pass. */
const spoil = (bytes: Buffer, part: 'request' | 'response', trouble: Trouble | undefined): Buffer => {
  if (trouble?.kind === `half_${part}`) return bytes.subarray(0, bytes.length / 2)
  const isGone = trouble?.kind === 'black_hole' || endsWith(part, trouble)
  return isGone ? bytes.subarray(0, 0) : bytes
}

const endsWith = (part: 'request' | 'response', trouble: Trouble | undefined): boolean =>
  trouble?.kind === `half_${part}` ||
  (part === 'request' && trouble?.kind === 'reset') ||
  (part === 'response' && trouble?.kind === 'lost_response')

const write = async (to: Socket, bytes: Buffer): Promise<void> => {
  if (bytes.length === 0 || !to.writable) return
  await new Promise<void>(resolve => to.write(bytes, () => resolve()))
}
