import { checkReachable } from '@courier/shared/database.ts'
import { type AddressLimits, addressOf } from '@courier/shared/http/addresses.ts'
import { Limit, limitCalls } from '@courier/shared/http/limits.ts'
import { createServer } from '@courier/shared/http/server.ts'
import { requireStaff, staffIn } from '@courier/shared/http/staff.ts'
import { watchPool } from '@courier/shared/pool-metrics.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { createLoginDesk, type LoginLimits } from './access/login.ts'
import { merchantOf, requireMerchant } from './access/merchant.ts'
import { login, user } from './access/routes.ts'
import { createTokenReader } from './access/tokens.ts'
import { createBatchWriter } from './booking/batch-writer.ts'
import { createCatalogues } from './booking/catalogue.ts'
import { booking } from './booking/routes.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { directory } from './directory/routes.ts'
import { countDeliveries, watchOutbox } from './outbox/metrics.ts'
import { Relay } from './outbox/relay.ts'
import { internal } from './outbox/routes.ts'
import { createOrderFinder } from './tracking/find-order.ts'
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
  /** Of one merchant. */
  callsPerMinute: number
  /** Of one address without a token. */
  publicCallsPerMinute: number
  login: LoginLimits
  trustedProxies?: string | undefined
  addressLimits?: AddressLimits | undefined
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
  const isReady = () => checkReachable(pool)
  const { maxBodyBytes: bodyLimitBytes, trustedProxies, addressLimits } = limits
  const app = await createServer({ api, logger, registry, bodyLimitBytes, trustedProxies, addressLimits, isReady })

  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  watchPool(pool, registry)
  watchOutbox(pool, registry)
  const relay = new Relay({ pool, logger, notifier, ...countDeliveries(registry) })
  const findCaller = createTokenReader(pool)
  const findOrder = createOrderFinder(pool)
  const merchantCalls = new Limit('merchant', limits.callsPerMinute)
  const desk = {
    pool,
    catalogues: createCatalogues(pool),
    numbers: createWaybillNumbers(pool),
    writer: createBatchWriter(pool),
  }

  const onMoved = (tenant: string) => relay.wake(tenant)

  const admitMerchants = async (scope: FastifyInstance): Promise<void> => {
    scope.addHook('onRequest', requireMerchant(findCaller))
    scope.addHook('onRequest', limitCalls(merchantCalls, merchantIn))
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
        onBooked: (tenant, orders) => {
          booked.inc(orders)
          relay.wake(tenant)
        },
      })
      await merchants.register(merchantOrders, { pool, findOrder })
      await merchants.register(cancelling, { pool, onMoved })
      await merchants.register(statusList, { pool })
      await merchants.register(tracking, { findOrder })
      await merchants.register(finance, { findOrder })
    },
    { prefix: '/api/public/merchant' },
  )

  // The one call that programs know under another address too.
  await app.register(
    async merchants => {
      await admitMerchants(merchants)
      await merchants.register(finance, { findOrder })
    },
    { prefix: '/api/merchant' },
  )

  await app.register(
    async anyone => {
      const publicCalls = new Limit('public', limits.publicCallsPerMinute)
      anyone.addHook('onRequest', limitCalls(publicCalls, addressOf))
      await anyone.register(publicTracking, { findOrder })
    },
    { prefix: '/api/public' },
  )

  await app.register(
    async staff => {
      staff.addHook('onRequest', requireStaff(findCaller))
      staff.addHook('onRequest', limitCalls(new Limit('staff', limits.callsPerMinute), staffIn))
      await staff.register(staffOrders, { pool, findOrder })
      await staff.register(staffMoves, { pool, onMoved })
    },
    { prefix: '/api/staff' },
  )

  await app.register(internal, { pool, serviceToken })
  return { app, relay }
}

/** All tokens of a merchant share what it may do. */
const merchantIn = (request: FastifyRequest): string => {
  const { tenant, merchantId } = merchantOf(request)
  return `${tenant} ${merchantId}`
}
