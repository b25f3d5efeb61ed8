import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client'

/** Logs one line per request, without its query and body: those may name a person. */
export const logRequests = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const level = route.startsWith('/health') || route === '/metrics' ? 'debug' : 'info'
    const fields = {
      method: request.method,
      route,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
    }
    request.log[level](fields, 'request.completed')
    done()
  })
}

/** Serves `registry` at /metrics, with the metrics of the process and the duration of requests by route. */
const Metrics = {
  description: 'In the text format of Prometheus.',
  content: { 'text/plain': { schema: { type: 'string' }, example: 'orders_booked_total 25\n' } },
}

export const serveMetrics = (app: FastifyInstance, registry: Registry): void => {
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from receiving a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })

  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    duration.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000)
    done()
  })

  app.get(
    '/metrics',
    {
      schema: {
        tags: ['operations'],
        operationId: 'getMetrics',
        summary: 'Metrics for Prometheus',
        response: { 200: Metrics },
      },
    },
    async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    },
  )
}
