import { errorResponses } from '@courier/shared/errors/errors.ts'
import { pageLimit } from '@courier/shared/lists/cursor.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Catalogues } from '../catalogue/catalogue.ts'
import { keptDays } from './queries.ts'
import type { RateGaps } from './recorder.ts'
import { exampleGap, RateGap, reportGaps } from './report.ts'

interface RateGapOptions {
  pool: pg.Pool
  catalogues: Catalogues
  gaps: RateGaps
}

const Query = Type.Object({
  limit: pageLimit,
  days: Type.Optional(
    Type.String({
      maxLength: 2,
      pattern: '^([1-9]|[1-8][0-9]|90)$',
      must: `be a whole number, 1 to ${keptDays}`,
      description: 'The last days, today included. Default: 30.',
      documented: { type: 'integer', minimum: 1, maximum: keptDays },
    }),
  ),
})

/** A report reads many orders: concurrent requests for the same report share it. */
const keptMilliseconds = 5_000

/** Lists the rates that rate cards lack. */
export const rateGapRoutes: FastifyPluginAsyncTypebox<RateGapOptions> = async (app, { pool, catalogues, gaps }) => {
  const reports = new LRUCache<string, RateGap[], { tenant: string; days: number }>({
    max: 100,
    ttl: keptMilliseconds,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { tenant, days } }) => {
      await gaps.flush()
      return reportGaps(pool, await catalogues.fresh(tenant), days)
    },
  })
  app.get(
    '/rate-gaps',
    {
      schema: {
        tags: ['staff'],
        operationId: 'listRateGaps',
        summary: 'Combinations of cities that rate cards lack, most wanted first',
        description: 'Those that merchants asked for or have orders of, while their card has no rate for them now.',
        security: [{ token: [] }],
        querystring: Query,
        response: {
          200: Type.Object({ data: Type.Array(RateGap) }, { title: 'RateGaps', examples: [{ data: [exampleGap] }] }),
          ...errorResponses(400, 401, 405, 422, 429, 503),
        },
      },
    },
    async ({ staff: { tenant }, query: { days = '30', limit = '50' } }) => {
      const report = await reports.forceFetch(`${tenant} ${days}`, { context: { tenant, days: Number(days) } })
      return { data: report.slice(0, Number(limit)) }
    },
  )
}
