import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses, httpError, isHttpError } from '../errors/errors.ts'
import { UnusableDatabase } from '../postgres/history.ts'

const Healthy = Type.Object({ status: Type.Literal('ok') }, { title: 'Healthy', examples: [{ status: 'ok' }] })

/**
 * Serves liveness and readiness. `isReady` rejects while the process cannot do its work; an HttpError says why. It must
 * settle within seconds.
 */
export const healthRoutes: FastifyPluginAsyncTypebox<{ isReady: () => Promise<unknown> }> = async (
  app,
  { isReady },
) => {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })

  const getLivenessSchema = {
    tags: ['operations'],
    operationId: 'getLiveness',
    summary: 'The process runs',
    response: { 200: Healthy },
  }
  app.get('/health/live', { schema: getLivenessSchema }, async () => ({ status: 'ok' as const }))

  const getReadinessSchema = {
    tags: ['operations'],
    operationId: 'getReadiness',
    summary: 'The process can do its work',
    response: { 200: Healthy, ...errorResponses(503) },
  }
  app.get('/health/ready', { schema: getReadinessSchema }, async request => {
    if (closing) throw httpError('unavailable', 'Shutting down.', { retryAfterSeconds: 1 })
    await isReady().catch(error => {
      if (isHttpError(error)) throw error
      request.log.warn({ err: error }, 'health.not_ready')
      const reason = error instanceof UnusableDatabase ? error.message : 'The database cannot be reached.'
      throw httpError('unavailable', reason, { retryAfterSeconds: 1 })
    })
    return { status: 'ok' as const }
  })
}
