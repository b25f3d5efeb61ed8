import { errorResponses } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { createMessageSummary, exampleSummary, MessageSummary } from './summary.ts'

/** What waits, what failed and what was sent. */
export const summaryRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const find = createMessageSummary(pool)
  app.get(
    '/api/messages/summary',
    {
      schema: {
        tags: ['messages'],
        operationId: 'summariseMessages',
        summary: 'What waits, what failed, and how many are sent in a minute',
        description: 'Up to five seconds old.',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: MessageSummary }, { examples: [{ data: exampleSummary }] }),
          ...errorResponses(400, 401, 429, 503),
        },
      },
    },
    async request => ({ data: await find(request.staff.tenant) }),
  )
}
