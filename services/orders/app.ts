import { admitStaff } from '@courier/shared/access/staff.ts'
import { addressOf } from '@courier/shared/edge/addresses.ts'
import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { createServer, type Edge } from '@courier/shared/edge/server.ts'
import { checkReachable } from '@courier/shared/postgres/database.ts'
import { watchPool } from '@courier/shared/postgres/pool-metrics.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { createSlices } from '@courier/shared/slices.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { createLoginDependencies, type LoginLimits } from './access/login.ts'
import { requireMerchant } from './access/merchant.ts'
import { merchantListRoutes } from './access/merchant-list.ts'
import { loginRoutes, userRoutes } from './access/routes.ts'
import { staffLoginRoutes, staffSessionRoutes } from './access/staff-routes.ts'
import { staffTokenRoutes } from './access/staff-tokens.ts'
import { createTokenReader } from './access/tokens.ts'
import { api } from './api.ts'
import { createBatchWriter } from './booking/batch-writer.ts'
import { createFindHabits } from './booking/habits.ts'
import { quoteRoutes } from './booking/quote-routes.ts'
import { bookingRoutes } from './booking/routes.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { createCatalogues } from './catalogue/catalogue.ts'
import { placeRoutes } from './catalogue/place-routes.ts'
import { catalogueRoutes, cityRoutes } from './catalogue/routes.ts'
import { changeRoutes } from './changes/routes.ts'
import { customerRequestRoutes } from './customer-actions/request-routes.ts'
import { customerActionRoutes } from './customer-actions/routes.ts'
import { merchantEditRoutes, staffEditRoutes } from './editing/routes.ts'
import { merchantLabelRoutes, staffLabelRoutes } from './labels/routes.ts'
import { lookUpRoutes } from './lists/look-up-routes.ts'
import { merchantOrderRoutes, orderStatusRoutes, staffOrderRoutes } from './lists/order-routes.ts'
import { createWholeLists } from './lists/whole-list.ts'
import { webhookRoutes } from './merchant-webhooks/routes.ts'
import type { SendingOptions } from './merchant-webhooks/sender.ts'
import { merchantMoveRoutes, staffMoveRoutes } from './moves/move-routes.ts'
import { rateGapRoutes } from './rate-gaps/routes.ts'
import { summaryRoutes } from './reports/summary-routes.ts'
import { todayRoutes } from './reports/today-routes.ts'
import { statusRoutes } from './statuses/status-routes.ts'
import { internalRoutes } from './tracking/internal-routes.ts'
import { createOrderFinder } from './tracking/read-orders.ts'
import { readTypedWaybills } from './tracking/typed-waybills.ts'
import { financeRoutes, publicTrackingRoutes, trackingRoutes } from './tracking/waybill-routes.ts'
import { trackingPageRoutes } from './tracking-page/routes.ts'
import { createWorkers } from './workers.ts'

export interface OrdersOptions extends Edge {
  pool: pg.Pool
  logger: Logger
  /** The service that receives the order events. */
  notifier: ServiceClient
  serviceToken: string
  maxOrdersPerBatch: number
  /** The largest body of a bulk request. */
  maxBodyBytes: number
  /** The limit of one merchant. */
  requestsPerMinute: number
  /** The limit of one network address without a token. */
  publicRequestsPerMinute: number
  /** The size of the catalogues in memory, with the lists and indexes made of them. */
  catalogueBytes: number
  login: LoginLimits
  webhooks: SendingOptions
}

const merchantPrefix = '/api/public/merchant'
const staffPrefix = '/api/staff'
/** Some programs use this path for every request. */
const alias = { from: '/api/merchant/', to: `${merchantPrefix}/` }

/** Creates the dependencies of the routes. */
const createDependencies = ({ pool, tracer, login, catalogueBytes }: OrdersOptions, registry: Registry) => {
  const catalogues = createCatalogues(pool, catalogueBytes, registry)
  return {
    pool,
    catalogues,
    findOrder: createOrderFinder(pool, catalogues),
    findCaller: createTokenReader(pool),
    openWholeList: createWholeLists(pool, catalogues),
    nextSlice: createSlices(),
    login: createLoginDependencies(pool, login),
    booking: {
      pool,
      catalogues,
      numbers: createWaybillNumbers(pool),
      writeBatch: createBatchWriter(pool, tracer),
      findHabits: createFindHabits(pool),
    },
  }
}

type Dependencies = ReturnType<typeof createDependencies> & ReturnType<typeof createWorkers>

/** Creates the HTTP application, in reading order, and the relay and the sender of webhooks beside it. */
export const createOrders = async (options: OrdersOptions) => {
  const { pool, serviceToken, publicUrl } = options
  const registry = new Registry()
  const app = await createServer({ ...options, api, alias, registry, isReady: () => checkReachable(pool) })
  watchPool(pool, registry)
  const own = createDependencies(options, registry)
  const workers = createWorkers({ ...options, catalogues: own.catalogues }, registry)
  app.addHook('onClose', () => workers.close())
  const dependencies = { ...own, ...workers }
  const { catalogues, findOrder, login, onChanged } = dependencies

  await app.register(loginRoutes, { prefix: merchantPrefix, dependencies: login })
  await app.register(staffLoginRoutes, { prefix: staffPrefix, dependencies: login })
  await app.register(merchants => registerMerchants(merchants, options, dependencies, registry), {
    prefix: merchantPrefix,
  })
  await app.register(anyone => registerPublic(anyone, options, dependencies))
  await app.register(staff => registerStaff(staff, options, dependencies), { prefix: staffPrefix })
  await app.register(internalRoutes, { findOrder, serviceToken, publicUrl })
  await app.register(staffTokenRoutes, { pool, serviceToken })
  await app.register(customerActionRoutes, { pool, catalogues, serviceToken, publicUrl, onChanged })
  return { app, relay: workers.relay, webhooks: workers.sending }
}

const registerMerchants = async (
  app: FastifyInstance,
  { requestsPerMinute, maxOrdersPerBatch, maxBodyBytes }: OrdersOptions,
  dependencies: Dependencies,
  registry: Registry,
) => {
  const { pool, catalogues, findOrder, findCaller, gaps, sending, onChanged } = dependencies
  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  const onBooked = (tenant: string, orders: number): void => {
    booked.inc(orders)
    onChanged(tenant)
  }
  app.decorateRequest('merchant')
  app.addHook('onRequest', requireMerchant(findCaller))
  app.addHook('onRequest', limitRequests(new Limit('merchant', requestsPerMinute), merchantIn))
  app.addHook(
    'preValidation',
    readTypedWaybills(pool, ({ merchant }) => merchant.tenant),
  )
  await app.register(userRoutes, { pool, findCaller })
  await app.register(cityRoutes, {
    catalogues,
    tag: 'merchant',
    operationId: 'listCities',
    callerOf: ({ merchant }) => merchant,
  })
  await app.register(catalogueRoutes, { pool, catalogues })
  await app.register(placeRoutes, { catalogues, nextSlice: dependencies.nextSlice })
  await app.register(bookingRoutes, {
    dependencies: dependencies.booking,
    maxOrdersPerBatch,
    maxBodyBytes,
    gaps,
    onBooked,
  })
  await app.register(quoteRoutes, { catalogues, maxOrdersPerBatch, maxBodyBytes, gaps })
  await app.register(merchantOrderRoutes, { pool, catalogues, findOrder, openWholeList: dependencies.openWholeList })
  await app.register(orderStatusRoutes, { findOrder })
  await app.register(lookUpRoutes, { pool, catalogues })
  await app.register(merchantLabelRoutes, { pool, catalogues, printer: dependencies.printer })
  await app.register(changeRoutes, { pool, watch: dependencies.watch })
  await app.register(summaryRoutes, { pool, catalogues })
  await app.register(webhookRoutes, { pool, ...sending, onChanged: tenant => sending.sender?.changed(tenant) })
  await app.register(merchantMoveRoutes, { pool, onChanged })
  await app.register(merchantEditRoutes, { pool, catalogues, onChanged })
  await app.register(statusRoutes, {
    pool,
    path: '/order/status-list',
    tag: 'orders',
    operationId: 'listStatuses',
    tenantOf: ({ merchant }) => merchant.tenant,
  })
  await app.register(trackingRoutes, { findOrder })
  await app.register(financeRoutes, { findOrder })
}

const registerPublic = async (
  app: FastifyInstance,
  { publicRequestsPerMinute }: OrdersOptions,
  { findOrder }: Dependencies,
) => {
  app.addHook('onRequest', limitRequests(new Limit('public', publicRequestsPerMinute), addressOf))
  await app.register(publicTrackingRoutes, { prefix: '/api/public', findOrder })
  await app.register(trackingPageRoutes, { findOrder })
}

const registerStaff = async (
  app: FastifyInstance,
  { requestsPerMinute }: OrdersOptions,
  dependencies: Dependencies,
) => {
  const { pool, catalogues, findOrder, findCaller, onChanged } = dependencies
  admitStaff(app, findCaller, requestsPerMinute)
  app.addHook(
    'preValidation',
    readTypedWaybills(pool, ({ staff }) => staff.tenant),
  )
  await app.register(staffSessionRoutes, { pool, findCaller })
  await app.register(staffOrderRoutes, { pool, catalogues, findOrder, openWholeList: dependencies.openWholeList })
  await app.register(staffEditRoutes, { pool, catalogues, onChanged })
  await app.register(staffLabelRoutes, { pool, catalogues, printer: dependencies.printer })
  await app.register(staffMoveRoutes, { pool, onChanged })
  await app.register(statusRoutes, {
    pool,
    path: '/status',
    tag: 'staff',
    operationId: 'listStaffStatuses',
    tenantOf: ({ staff }) => staff.tenant,
  })
  await app.register(cityRoutes, {
    catalogues,
    tag: 'staff',
    operationId: 'listStaffCities',
    callerOf: ({ staff }) => ({ tenant: staff.tenant }),
  })
  await app.register(todayRoutes, { pool })
  await app.register(merchantListRoutes, { pool })
  await app.register(rateGapRoutes, { pool, catalogues, gaps: dependencies.gaps })
  await app.register(customerRequestRoutes, { pool, onChanged })
}

/** All tokens of a merchant share its rate limit. */
const merchantIn = (request: FastifyRequest): string => {
  const { tenant, merchantId } = request.merchant
  return `${tenant} ${merchantId}`
}
