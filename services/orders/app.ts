import { DomainError } from '@courier/shared/http/errors.ts'
import { createServer } from '@courier/shared/http/server.ts'
import { watchPool } from '@courier/shared/pool-metrics.ts'
import rateLimit from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { merchantOf, requireMerchant } from './access/merchant.ts'
import { requireStaff, staffOf } from './access/staff.ts'
import { createTokenReader } from './access/tokens.ts'
import { createCatalogues } from './booking/catalogue.ts'
import { booking } from './booking/routes.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { cancelling, staffMoves } from './tracking/move-routes.ts'

export interface OrdersOptions {
  pool: pg.Pool
  logger: Logger
  maxOrdersPerBatch: number
  maxBodyBytes: number
  callsPerMinute: number
  /** Told that orders were moved to another status. */
  onMoved?: () => void
}

const api = {
  title: 'Courier orders',
  version: '0.1.0',
  description: 'Merchants push delivery orders in batches and get waybill numbers back.',
  tags: [
    { name: 'orders', description: 'The calls of merchants. Each carries a bearer token and X-tenant.' },
    { name: 'staff', description: "The calls of the courier's staff, with a token of staff." },
  ],
}

/** The HTTP application, in reading order. */
export const createOrders = async ({ pool, logger, onMoved = () => {}, ...limits }: OrdersOptions) => {
  const registry = new Registry()
  const isReady = () => pool.query({ text: 'select 1', query_timeout: 2_000 } as pg.QueryConfig)
  const app = await createServer({ api, logger, registry, bodyLimitBytes: limits.maxBodyBytes, isReady })

  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  watchPool(pool, registry)
  const findCaller = createTokenReader(pool)
  const desk = { pool, catalogues: createCatalogues(pool), numbers: createWaybillNumbers(pool) }

  const limitOf = (keyGenerator: (request: FastifyRequest) => string) => ({
    hook: 'preParsing' as const,
    max: limits.callsPerMinute,
    timeWindow: '1 minute',
    keyGenerator,
    errorResponseBuilder: (_request: FastifyRequest, { ttl }: { ttl: number }) =>
      new DomainError('too_many_requests', 'Too Many Attempts.', { retryAfterSeconds: Math.ceil(ttl / 1000) }),
  })

  await app.register(
    async merchants => {
      merchants.addHook('onRequest', requireMerchant(findCaller))
      await merchants.register(
        rateLimit,
        limitOf(request => merchantOf(request).tokenId),
      )
      await merchants.register(booking, {
        desk,
        maxOrdersPerBatch: limits.maxOrdersPerBatch,
        onBooked: orders => booked.inc(orders),
      })
      await merchants.register(cancelling, { pool, onMoved })
    },
    { prefix: '/api/public/merchant' },
  )

  await app.register(
    async staff => {
      staff.addHook('onRequest', requireStaff(findCaller))
      await staff.register(
        rateLimit,
        limitOf(request => staffOf(request).tokenId),
      )
      await staff.register(staffMoves, { pool, onMoved })
    },
    { prefix: '/api/staff' },
  )
  return app
}
