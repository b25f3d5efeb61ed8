import { DomainError } from '@courier/shared/http/errors.ts'
import { createServer } from '@courier/shared/http/server.ts'
import { watchPool } from '@courier/shared/pool-metrics.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { createLoginDesk, type LoginLimits } from './access/login.ts'
import { merchantOf, requireMerchant } from './access/merchant.ts'
import { login, user } from './access/routes.ts'
import { requireStaff, staffOf } from './access/staff.ts'
import { createTokenReader } from './access/tokens.ts'
import { createBatchWriter } from './booking/batch-writer.ts'
import { createCatalogues } from './booking/catalogue.ts'
import { booking } from './booking/routes.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { directory } from './directory/routes.ts'
import { countDeliveries, watchOutbox } from './outbox/metrics.ts'
import { Relay } from './outbox/relay.ts'
import { internal } from './outbox/routes.ts'
import { cancelling, staffMoves } from './tracking/move-routes.ts'
import { merchantOrders, staffOrders } from './tracking/order-routes.ts'
import { publicTracking } from './tracking/public-routes.ts'
import { statusList } from './tracking/status-routes.ts'
import { finance, tracking } from './tracking/waybill-routes.ts'

export interface OrdersOptions {
  pool: pg.Pool
  logger: Logger
  /** What the notifier is told goes there. */
  notifier: ServiceClient
  serviceToken: string
  maxOrdersPerBatch: number
  maxBodyBytes: number
  callsPerMinute: number
  /** Of one address without a token. */
  publicCallsPerMinute: number
  login: LoginLimits
  trustedProxies?: string | undefined
}

const api = {
  title: 'Courier orders',
  version: '0.1.0',
  description: 'Merchants push delivery orders in batches and get waybill numbers back.',
  tags: [
    { name: 'merchant', description: 'Logging in, and the lists that a merchant chooses from.' },
    { name: 'orders', description: 'The orders of a merchant. Each call carries a bearer token and X-tenant.' },
    { name: 'public', description: 'For whoever knows a waybill number. Without a token.' },
    { name: 'staff', description: "The calls of the courier's staff, with a token of staff." },
    { name: 'internal', description: 'The calls of the notifier.' },
  ],
}

/** The HTTP application, in reading order, and the relay beside it. */
export const createOrders = async ({ pool, logger, notifier, serviceToken, ...limits }: OrdersOptions) => {
  const registry = new Registry()
  const isReady = () => pool.query({ text: 'select 1', query_timeout: 2_000 } as pg.QueryConfig)
  const { maxBodyBytes: bodyLimitBytes, trustedProxies } = limits
  const app = await createServer({ api, logger, registry, bodyLimitBytes, trustedProxies, isReady })

  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  watchPool(pool, registry)
  watchOutbox(pool, registry)
  const relay = new Relay({ pool, logger, notifier, ...countDeliveries(registry) })
  const findCaller = createTokenReader(pool)
  const desk = {
    pool,
    catalogues: createCatalogues(pool),
    numbers: createWaybillNumbers(pool),
    writer: createBatchWriter(pool),
  }

  const onMoved = () => relay.wake()

  const admitMerchants = async (scope: FastifyInstance): Promise<void> => {
    scope.addHook('onRequest', requireMerchant(findCaller))
    const limit = limitOf(limits.callsPerMinute, request => merchantOf(request).tokenId)
    await scope.register(rateLimit, limit)
  }

  await app.register(login, { prefix: '/api/public/merchant', desk: createLoginDesk(pool, limits.login) })

  await app.register(
    async merchants => {
      await admitMerchants(merchants)
      await merchants.register(user, { pool })
      await merchants.register(directory, desk)
      await merchants.register(booking, {
        desk,
        maxOrdersPerBatch: limits.maxOrdersPerBatch,
        onBooked: orders => {
          booked.inc(orders)
          relay.wake()
        },
      })
      await merchants.register(merchantOrders, { pool })
      await merchants.register(cancelling, { pool, onMoved })
      await merchants.register(statusList, { pool })
      await merchants.register(tracking, { pool })
      await merchants.register(finance, { pool })
    },
    { prefix: '/api/public/merchant' },
  )

  // The one call that programs know under another address too.
  await app.register(
    async merchants => {
      await admitMerchants(merchants)
      await merchants.register(finance, { pool })
    },
    { prefix: '/api/merchant' },
  )

  await app.register(
    async anyone => {
      await anyone.register(
        rateLimit,
        limitOf(limits.publicCallsPerMinute, request => request.ip),
      )
      await anyone.register(publicTracking, { pool })
    },
    { prefix: '/api/public' },
  )

  await app.register(
    async staff => {
      staff.addHook('onRequest', requireStaff(findCaller))
      await staff.register(
        rateLimit,
        limitOf(limits.callsPerMinute, request => staffOf(request).tokenId),
      )
      await staff.register(staffOrders, { pool })
      await staff.register(staffMoves, { pool, onMoved })
    },
    { prefix: '/api/staff' },
  )

  await app.register(internal, { pool, serviceToken })
  return { app, relay }
}

/** So many calls a minute for each key, counted by this process. */
const limitOf = (max: number, keyGenerator: (request: FastifyRequest) => string) => ({
  hook: 'preParsing' as const,
  max,
  timeWindow: '1 minute',
  keyGenerator,
  errorResponseBuilder: (_request: FastifyRequest, { ttl }: { ttl: number }) =>
    new DomainError('too_many_requests', 'Too Many Attempts.', { retryAfterSeconds: Math.ceil(ttl / 1000) }),
})
