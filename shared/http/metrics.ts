import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Histogram, type Registry } from 'prom-client'

/** Serves `registry` at /metrics, with the process's own figures and the duration of every call by route. */
export const metrics = async (app: FastifyInstance, { registry }: { registry: Registry }): Promise<void> => {
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
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
    { schema: { tags: ['operations'], summary: 'Figures for Prometheus' } },
    async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    },
  )
}
