import { randomUUID } from 'node:crypto'
import { compile } from '@fastify/proxy-addr'
import sensible from '@fastify/sensible'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ApiDescription } from '../api-docs/description.ts'
import { docs } from '../api-docs/docs.ts'
import type { Tracer } from '../traces.ts'
import { type AddressLimits, limitAddresses } from './addresses.ts'
import { type BytesInFlight, limitBytesInFlight, refuseLargeBodies, smallBodyBytes } from './bodies.ts'
import { handleConnections, refuseBrokenRequest } from './connections.ts'
import { allowOrigins } from './cors.ts'
import { handleErrors, malformedAddress, routerOptions, sendError } from './error-handler.ts'
import { healthRoutes } from './health.ts'
import { refuseVainKeys } from './idempotency.ts'
import { serveMetrics } from './metrics.ts'
import { observeRequests } from './observability.ts'
import { refuseOddPaths } from './paths.ts'
import { namePublicUrl } from './public-url.ts'
import { serializer, validator } from './validator.ts'

/** Configures a service that faces the network. */
export interface Edge {
  /** Lists the proxies, comma-separated addresses, whose X-Forwarded headers the service trusts. */
  trustedProxies?: string | undefined
  /** Limits requests by address; undefined: there is no limit. */
  addressLimits?: AddressLimits | undefined
  /**
   * Sets the address at which callers reach the service; the default comes from a trusted proxy, else from the
   * connection.
   */
  publicUrl?: string | undefined
  bytesInFlight?: BytesInFlight | undefined
  /** Lists the origins whose scripts may send requests; see `allowOrigins`. */
  corsOrigins?: string | undefined
  /** Lists the origins of the staff console, comma-separated. */
  portalOrigins?: string | undefined
  tracer?: Tracer | undefined
  /** Leaves the login of the demo out of /docs. */
  hidesDemo?: boolean | undefined
}

interface ServerOptions extends Edge {
  api: ApiDescription
  /** Serves paths that begin with `from`, such as /a/, like the paths that begin with `to`. */
  alias?: { readonly from: string; readonly to: string } | undefined
  logger: Logger
  registry: Registry
  isReady: () => Promise<unknown>
}

/** Repeats the settings of helmet, without the headers for pages and old browsers, which JSON does not need. */
const securityHeaders = {
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
}

/** Creates the part of an HTTP application that every service has: limits, errors, logs, docs, health and metrics. */
export const createServer = async (options: ServerOptions) => {
  const isTrusted = compile(options.trustedProxies?.split(',') ?? [])
  const app = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: () => randomUUID(),
    // Hooks do not run for these errors.
    frameworkErrors: (_error, request, reply: FastifyReply) => {
      reply.header('x-request-id', request.id)
      countRequest(request as FastifyRequest, reply, refusal => {
        sendError(request as FastifyRequest, reply, refusal ?? malformedAddress())
      })
    },
    clientErrorHandler: refuseBrokenRequest,
    bodyLimit: smallBodyBytes,
    trustProxy: options.trustedProxies === undefined ? false : isTrusted,
    // Without a short timeout, a busy keep-alive socket holds close() for 72 s.
    keepAliveTimeout: 5_000,
    // Together these three disconnect a client that sends its head or body too slowly.
    requestTimeout: 5_000,
    http: { headersTimeout: 3_000, connectionsCheckingInterval: 250 },
    // Requests that still arrive on open connections while closing are served, with connection: close.
    return503OnClosing: false,
    routerOptions,
    ...(options.alias && { rewriteUrl: createRewriter(options.alias) }),
  }).withTypeProvider<TypeBoxTypeProvider>()

  namePlugins(app)
  listOperations(app)
  for (const identity of ['staff', 'rawBody', 'guessingPause', 'isGuess']) app.decorateRequest(identity)
  app.setValidatorCompiler(validator)
  app.setSerializerCompiler(serializer)
  acceptAnyBody(app)
  // CORS comes first, so that every error has its headers and no 405 lists the OPTIONS route of CORS.
  await allowOrigins(app, options.corsOrigins, options.portalOrigins)
  handleErrors(app)
  observeRequests(app, options.registry, options.tracer)
  const countRequest = options.addressLimits ? limitAddresses(app, options.addressLimits) : passUncounted
  refuseOddPaths(app)
  refuseLargeBodies(app)
  refuseVainKeys(app)
  if (options.bytesInFlight) limitBytesInFlight(app, options.bytesInFlight, options.registry)
  namePublicUrl(app, options.publicUrl, isTrusted)
  handleConnections(app)
  await app.register(sensible)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(securityHeaders)
    done()
  })
  docs(app, options.api, options)
  serveMetrics(app, options.registry)
  await app.register(healthRoutes, { isReady: options.isReady })
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Holds the operationIds of all routes, for pages that hide what the service leaves out. */
    operations: Set<string>
  }
}

const displayName = Symbol.for('fastify.display-name')

/** Gives each plugin its name: Fastify would look for it among all modules that the process has loaded. */
const namePlugins = (app: { register: unknown }): void => {
  const register = app.register as (this: unknown, plugin: object, ...rest: unknown[]) => unknown
  app.register = function (this: unknown, plugin: { name?: string; [displayName]?: string }, ...rest: unknown[]) {
    plugin[displayName] ??= plugin.name || 'routes'
    return register.call(this, plugin, ...rest)
  }
}

const listOperations = (app: FastifyInstance): void => {
  const operations = new Set<string>()
  app.decorate('operations', operations)
  app.addHook('onRoute', ({ schema }) => {
    if (schema?.operationId) operations.add(schema.operationId)
  })
}

/** Rewrites a path before the router, so that hooks, limits, logs and metrics see one path. */
const createRewriter =
  ({ from, to }: { from: string; to: string }) =>
  ({ url = '' }: { url?: string | undefined }): string =>
    url.startsWith(from) ? to + url.slice(from.length) : url

const passUncounted: ReturnType<typeof limitAddresses> = (_request, _reply, done) => done()

/** Reads and discards a small body that no route expects: the error to report is the wrong path or method. */
const acceptAnyBody = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _bytes, done) => done(null))
}
