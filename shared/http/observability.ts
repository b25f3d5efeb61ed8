import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client'

/** Logs one line per request, without its query and body (those may name a person), and counts its duration by route. */
export const observeRequests = (app: FastifyInstance, registry: Registry): void => {
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from receiving a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = request.routeOptions.url ?? 'none'
    const status = reply.statusCode
    const milliseconds = reply.elapsedTime
    duration.observe({ method, route, status }, milliseconds / 1000)
    const level = route.startsWith('/health') || route === '/metrics' ? 'debug' : 'info'
    request.log[level]({ method, route, status, duration_ms: Math.round(milliseconds) }, 'request.completed')
    done()
  })
}

const Metrics = {
  description: 'In the text format of Prometheus.',
  content: { 'text/plain': { schema: { type: 'string' }, example: 'orders_booked_total 25\n' } },
}

/** Serves `registry` at /metrics, with the metrics of the process. */
export const serveMetrics = (app: FastifyInstance, registry: Registry): void => {
  collectDefaultMetrics({ register: registry })
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
