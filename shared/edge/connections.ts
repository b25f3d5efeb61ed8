import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { ErrorCode } from '../errors/errors.ts'

/** Handles events of connections that Fastify leaves to Node, or unhandled. */
export const handleConnections = (app: FastifyInstance): void => {
  // Node itself would respond to an `Expect` header other than 100-continue with a 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Node keeps an address that was read once: `request.ip` has it even after the client has reset the connection.
  app.server.on('connection', socket => void socket.remoteAddress)
  drainConnectionsOnClose(app)
}

/**
 * Waits for two turns of the event loop, which accept the connections in the backlog and read what has arrived: a close
 * would reset them. While the process was busy, both had to wait.
 */
const nextTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
}

/** Sets the time in which an idle connection may still deliver a request that was on its way when closing began. */
const lastRequestMilliseconds = 1_000

/**
 * While closing, ends each connection with its next response instead of keeping it alive. Node and Fastify would close
 * idle connections at once, and lose a request that a client is writing at that moment: `closeIdleConnections`, which
 * both call, is replaced and runs a second later. No timeout of Node ends a connection once the server is closing, so a
 * connection that sends nothing, or half a request, is closed after six seconds.
 */
export const drainConnectionsOnClose = (app: FastifyInstance): void => {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    const { server } = app
    if (!server.listening) return
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {}
    const timers = [
      setTimeout(() => nextTurns().then(closeIdle), lastRequestMilliseconds).unref(),
      setTimeout(() => server.closeAllConnections(), 6_000).unref(),
    ]
    // Otherwise the timers would keep the closed application in memory.
    server.once('close', () => timers.forEach(clearTimeout))
    await nextTurns()
  })
  waitForHandlers(app)
  app.addHook('onSend', (_request, reply, payload, done) => {
    // Keeps connections alive while the server still listens: the client would reconnect, only to be reset.
    if (isClosing && !app.server.listening) reply.header('connection', 'close')
    done(null, payload)
  })
}

/**
 * Delays the end of closing until every handler has ended: a handler whose connection was closed may still use what is
 * closed next.
 */
const waitForHandlers = (app: FastifyInstance): void => {
  const running = new Set<unknown>()
  app.addHook('onRoute', route => {
    const { handler } = route
    route.handler = function (request, reply) {
      const handling: unknown = handler.call(this, request, reply)
      if (handling instanceof Promise) {
        running.add(handling)
        const forget = () => running.delete(handling)
        handling.then(forget, forget)
      }
      return handling
    }
  })
  app.addHook('onClose', async () => {
    while (running.size > 0) await Promise.allSettled(running)
  })
}

/** Bounds the time for which, and the bytes up to which, the server discards what a client still writes. */
const discardMilliseconds = 5_000
const discardBytes = 16_777_216

/** Drops, unparsed, what still arrives on the connection, so that it does not become a request. */
const discardRest = (socket: Socket): void => {
  let left = discardBytes
  socket.removeAllListeners('data').on('data', ({ length }) => {
    left -= length
    if (left < 0) socket.destroy()
  })
  socket.resume()
}

const endSlowly = (socket: Socket): void => {
  socket.end()
  setTimeout(() => socket.destroy(), discardMilliseconds).unref()
}

/**
 * Closes a connection only when the client has written the body that was refused, up to the limits above: closing it
 * over unread bytes resets it, and a client that writes everything before it reads would never see the response.
 */
export const discardRefusedBody = (request: IncomingMessage): void => {
  const { socket } = request
  const { destroySoon } = socket
  // Node calls this function after the last response of a connection.
  socket.destroySoon = () => {
    if (request.complete) return destroySoon.call(socket)
    endSlowly(socket)
    discardRest(socket)
  }
}

const brokenRequests: Record<string, [status: string, code: ErrorCode]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'headers_too_large'],
}

/** Describes a connection of Node's server, with the response that it is to write next. */
type Connection = Socket & { readonly _httpMessage?: ServerResponse | null }

/**
 * Responds in JSON to what is not HTTP, comes too slowly or has too large a head, and closes the connection. It
 * discards what arrives later: the response says that nothing was done. While an earlier request on the connection is
 * being handled, this writes nothing, because the client would take it for the response to that request.
 */
export const refuseBrokenRequest = (error: Error & { code?: string }, socket: Connection): void => {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  discardRest(socket)
  socket.destroySoon = () => endSlowly(socket)
  const handled = socket._httpMessage
  if (handled && (handled.req.complete || handled.headersSent)) {
    handled.shouldKeepAlive = false
    return void handled.once('finish', () => socket.destroySoon())
  }
  const [status, code] = brokenRequests[error.code ?? ''] ?? ['400 Bad Request', 'malformed_request']
  const body = JSON.stringify({ message: `${status.slice(4)}.`, code })
  const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.write(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`)
  socket.destroySoon()
}
