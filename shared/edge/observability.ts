import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Histogram, type Registry } from 'prom-client'
import { readTraceId, readTraceparent, type Span, type Tracer } from '../traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Identifies the trace that the request belongs to, for the work that follows from it. */
    traceparent: string | undefined
    span: Span | undefined
  }
}

/**
 * Logs one line per request, without its query and body, which may name a person, and records its duration by route.
 * Continues its trace.
 */
export const observeRequests = (app: FastifyInstance, registry: Registry, tracer?: Tracer): void => {
  for (const name of ['traceparent', 'span']) app.decorateRequest(name)
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from receiving a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (tracer || request.headers.traceparent) continueTrace(request, reply, tracer)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = nameRoute(request)
    const status = reply.statusCode
    const milliseconds = reply.elapsedTime
    duration.observe({ method, route, status }, milliseconds / 1000)
    request.span?.end(status >= 500, { 'http.response.status_code': status })
    request.log[isWatched(route) ? 'debug' : 'info'](
      { method, route, status, duration_ms: Math.round(milliseconds) },
      'request.completed',
    )
    done()
  })
}

const nameRoute = (request: FastifyRequest): string => request.routeOptions.url ?? 'none'

const isWatched = (route: string): boolean => route.startsWith('/health') || route === '/metrics'

const continueTrace = (request: FastifyRequest, reply: FastifyReply, tracer: Tracer | undefined): void => {
  const route = nameRoute(request)
  if (isWatched(route)) return
  const given = readTraceparent(request.headers.traceparent)
  request.span = tracer?.start(`${request.method} ${route}`, 'server', given)
  request.traceparent = request.span?.traceparent ?? given
  if (request.traceparent) request.log = reply.log = request.log.child(readTraceId(request.traceparent))
}
