import { createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { listen } from '../../../dev/ports.ts'
import {
  createMessagingApi,
  type MessagingApi,
  type MessagingApiOptions,
  type OutboundMessage,
} from '../core/messaging-api/client.ts'

export interface Arrived {
  readonly line: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  readonly socket: Socket
}

export interface Behaviour {
  readonly onConnect?: (socket: Socket) => void
  /** Runs whenever bytes arrive, even if the request is not complete. */
  readonly onBytes?: (socket: Socket) => void
  readonly onRequest?: (request: Arrived, index: number) => void
}

/** Starts a server of bare sockets, which can break every rule of HTTP. The end of the test stops it. */
export const startServer = async (t: Test, { onConnect, onBytes, onRequest }: Behaviour) => {
  const arrived: Arrived[] = []
  const pieces: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    let rest = ''
    socket.on('error', () => {})
    socket.on('data', data => {
      const piece = data.toString('latin1')
      pieces.push(piece)
      onBytes?.(socket)
      const [requests, left] = split(rest + piece)
      rest = left
      for (const { line, headers, body } of requests) {
        const request = { line, headers, body: Buffer.from(body, 'latin1').toString('utf8'), socket }
        arrived.push(request)
        onRequest?.(request, arrived.length - 1)
      }
    })
    onConnect?.(socket)
  })
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  return { url, server, arrived, bytes: () => pieces.join(''), connections: () => connections }
}

type Split = Omit<Arrived, 'socket'>

/** Returns the complete requests received so far, and the rest. */
const split = (received: string): [Split[], string] => {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return [[], received]
  const [line = '', ...fields] = received.slice(0, end).split('\r\n')
  const headers = new Map(fields.map(field => field.split(': ', 2).map(part => part) as [string, string]))
  const length = Number(headers.get('content-length') ?? 0)
  if (received.length < end + 4 + length) return [[], received]
  const body = received.slice(end + 4, end + 4 + length)
  const [more, rest] = split(received.slice(end + 4 + length))
  return [[{ line, headers, body }, ...more], rest]
}

export const respond = (socket: Socket, status: number, body: string, headers: Record<string, string> = {}): void => {
  const fields = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} Whatever\r\n${head.join('')}\r\n${body}`)
}

export const accepted = (id = 'wamid.HBgL'): string =>
  JSON.stringify({ messaging_product: 'whatsapp', messages: [{ id, message_status: 'accepted' }] })

export const credentials = { accessToken: 'EAAG-secret-token' }

export const message: OutboundMessage = {
  to: '+94770000101',
  callbackData: 'ntf_1',
  template: {
    name: 'order_update',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: [{ type: 'text', text: 'Nimali Perera' }] }],
  },
}

/** Creates a client with short deadlines. The end of the test closes it. */
export const connect = (t: Test, baseUrl: string, more: Partial<MessagingApiOptions> = {}): MessagingApi => {
  const api = createMessagingApi({
    baseUrl,
    version: 'v17.0',
    product: 'whatsapp',
    connections: 4,
    connectMilliseconds: 400,
    headersMilliseconds: 200,
    bodyMilliseconds: 200,
    requestMilliseconds: 500,
    ...more,
  })
  t.teardown(() => api.close())
  return api
}
