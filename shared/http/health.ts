import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { DomainError, errorAnswers } from './errors.ts'

const Healthy = Type.Object({ status: Type.Literal('ok') })

/** `isReady` rejects when the process cannot do its work now; it must settle within seconds by itself. */
export const health: FastifyPluginAsyncTypebox<{ isReady: () => Promise<unknown> }> = async (app, { isReady }) => {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })

  app.get(
    '/health/live',
    { schema: { tags: ['operations'], summary: 'The process runs', response: { 200: Healthy } } },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/health/ready',
    {
      schema: {
        tags: ['operations'],
        summary: 'The process can do its work',
        response: { 200: Healthy, ...errorAnswers(503) },
      },
    },
    async request => {
      if (closing) throw new DomainError('unavailable', 'Shutting down.', { retryAfterSeconds: 1 })
      await isReady().catch(error => {
        request.log.warn({ err: error }, 'health.not_ready')
        throw new DomainError('unavailable', 'The database cannot be reached.', { retryAfterSeconds: 1 })
      })
      return { status: 'ok' as const }
    },
  )
}
