import { errorResponses } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { createToday, exampleToday, Today } from './today.ts'

/** Serves the metrics of the staff's day. */
export const todayRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const find = createToday(pool)
  app.get(
    '/today',
    {
      schema: {
        tags: ['staff'],
        operationId: 'getToday',
        summary: 'Figures of today and of the days before',
        description: 'Up to five seconds old.',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: Today }, { examples: [{ data: exampleToday }] }),
          ...errorResponses(400, 401, 405, 429, 503),
        },
      },
    },
    async request => ({ data: await find(request.staff.tenant) }),
  )
}
