import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type AddressLimits, limitAddresses } from './addresses.ts'
import { answerErrors, routerOptions } from './answers.ts'
import { type ApiDescription, docs } from './docs.ts'
import { health } from './health.ts'
import { metrics } from './metrics.ts'
import { validator } from './validator.ts'

export interface ServerOptions {
  api: ApiDescription
  logger: Logger
  registry: Registry
  bodyLimitBytes: number
  /** Addresses of proxies, with commas between: what they say of a call's origin is believed. */
  trustedProxies?: string | undefined
  /** Without them an address may call as often as it likes. */
  addressLimits?: AddressLimits | undefined
  isReady: () => Promise<unknown>
}

/** What helmet adds for pages and old browsers costs each answer as much as a tenth of its work, and JSON has no use for it. */
const ofJson: FastifyHelmetOptions = {
  contentSecurityPolicy: false,
  crossOriginOpenerPolicy: false,
  dnsPrefetchControl: false,
  hidePoweredBy: false,
  ieNoOpen: false,
  originAgentCluster: false,
  permittedCrossDomainPolicies: false,
  xssFilter: false,
}

/** The part of an HTTP application that every service has: limits, errors, logs, docs, health and metrics. */
export const createServer = async (options: ServerOptions) => {
  const app = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: () => randomUUID(),
    frameworkErrors: (_error, request, reply: FastifyReply) => {
      reply.header('x-request-id', request.id).code(400).send({ message: 'The address is malformed.' })
    },
    clientErrorHandler: answerBrokenRequest,
    bodyLimit: options.bodyLimitBytes,
    trustProxy: options.trustedProxies ?? false,
    // Without a short one, a busy keep-alive socket holds close() for 72 s.
    keepAliveTimeout: 5_000,
    // Together these three close a client that sends its headers or body too slowly.
    requestTimeout: 5_000,
    http: { headersTimeout: 3_000, connectionsCheckingInterval: 500 },
    // What still arrives on open connections while closing is answered, with connection: close.
    return503OnClosing: false,
    routerOptions,
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.setValidatorCompiler(validator)
  acceptAnyBody(app)
  answerErrors(app)
  tellRequests(app)
  if (options.addressLimits) limitAddresses(app, options.addressLimits)
  ignoreExpectations(app)
  endConnectionsWhileClosing(app)
  await app.register(helmet, ofJson)
  await docs(app, options.api)
  await metrics(app, { registry: options.registry })
  await app.register(health, { isReady: options.isReady })
  return app
}

/** A body that no route asked for is read and forgotten: a wrong address or method is the fault to tell. */
const acceptAnyBody = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload
      .resume()
      .on('end', () => done(null))
      .on('error', done)
  })
}

/** One log line per answered request, without its query and body: those may name a person. */
const tellRequests = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const level = route.startsWith('/health') || route === '/metrics' ? 'debug' : 'info'
    const fact = { method: request.method, route, status: reply.statusCode, duration_ms: Math.round(reply.elapsedTime) }
    request.log[level](fact, 'request.completed')
    done()
  })
}

/** `Expect` with anything but 100-continue is passed over: Node's own answer to it, 417, has no body. */
const ignoreExpectations = (app: FastifyInstance): void => {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
}

/** How long a kept connection may still bring a call that was on its way when the closing began. */
const lastCallMilliseconds = 1_000

/**
 * While closing, a connection ends with its next answer, not with its keep-alive. Node and Fastify would cut the idle ones
 * at once, and with them the call that a client is just writing. One that sends nothing, or half a request, is cut after
 * six seconds: no time-out ends it once the server is closing.
 */
const endConnectionsWhileClosing = (app: FastifyInstance): void => {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    const { server } = app
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {}
    setTimeout(closeIdle, lastCallMilliseconds).unref()
    setTimeout(() => server.closeAllConnections(), 6_000).unref()
    // What waits to be let in would be reset: two turns of the event loop let it in.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    // Not while it still listens: the client would come back with a new connection, to be reset.
    if (isClosing && !app.server.listening) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** What is not HTTP, or comes too slowly or with too large a head, gets a short JSON answer and a closed connection. */
const answerBrokenRequest = (error: Error & { code?: string }, socket: Socket): void => {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const answers: Record<string, string> = {
    ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
    HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  }
  const status = answers[error.code ?? ''] ?? '400 Bad Request'
  const body = JSON.stringify({ message: `${status.slice(4)}.` })
  const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`)
}
