import { admitStaff } from '@courier/shared/access/staff.ts'
import { OrderEvents } from '@courier/shared/contract/order-events.ts'
import { addressOf } from '@courier/shared/edge/addresses.ts'
import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { createServer, type Edge } from '@courier/shared/edge/server.ts'
import { checkReachable } from '@courier/shared/postgres/database.ts'
import { watchPool } from '@courier/shared/postgres/pool-metrics.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { createSlices } from '@courier/shared/slices.ts'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { createLoginDependencies, type LoginLimits } from './access/login.ts'
import { logout } from './access/logout.ts'
import { requireMerchant } from './access/merchant.ts'
import { merchantList } from './access/merchant-list.ts'
import { login, user } from './access/routes.ts'
import { staffLogin, staffSession } from './access/staff-routes.ts'
import { staffTokens } from './access/staff-tokens.ts'
import { createTokenReader } from './access/tokens.ts'
import { createFindAlike } from './booking/alike.ts'
import { createBatchWriter } from './booking/batch-writer.ts'
import { createFindHabits } from './booking/habits.ts'
import { quoting } from './booking/quote-routes.ts'
import { booking } from './booking/routes.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { createCatalogues } from './catalogue/catalogue.ts'
import { createLists } from './catalogue/lists.ts'
import { countLoads, watchCatalogues } from './catalogue/metrics.ts'
import { createNames } from './catalogue/names.ts'
import { resolving } from './catalogue/place-routes.ts'
import { catalogueLists, catalogueRows, cityList } from './catalogue/routes.ts'
import { changes } from './changes/routes.ts'
import { createChangeWatch } from './changes/watch.ts'
import { customerRequests } from './customer-actions/request-routes.ts'
import { customerActions } from './customer-actions/routes.ts'
import { merchantEdits, staffEdits } from './editing/routes.ts'
import { Printer } from './labels/printer.ts'
import { merchantLabels, staffLabels } from './labels/routes.ts'
import { lookingUp } from './lists/look-up-routes.ts'
import { merchantOrders, orderStatus, staffOrders } from './lists/order-routes.ts'
import { createWholeLists } from './lists/whole-list.ts'
import { webhooks } from './merchant-webhooks/routes.ts'
import { messageOperation } from './merchant-webhooks/schema.ts'
import { createSending, type SendingOptions } from './merchant-webhooks/sender.ts'
import { merchantMoving, staffMoves } from './moves/move-routes.ts'
import { countDeliveries, watchOutbox } from './outbox/metrics.ts'
import { Relay } from './outbox/relay.ts'
import { createRateGaps } from './rate-gaps/recorder.ts'
import { rateGaps } from './rate-gaps/routes.ts'
import { orderSummary } from './reports/summary-routes.ts'
import { today } from './reports/today-routes.ts'
import { statusList } from './statuses/status-routes.ts'
import { createOrderFinder } from './tracking/find-order.ts'
import { internal } from './tracking/internal-routes.ts'
import { readTypedWaybills } from './tracking/typed-waybills.ts'
import { finance, publicTracking, tracking } from './tracking/waybill-routes.ts'
import { trackingPage } from './tracking-page/routes.ts'

export interface OrdersOptions extends Edge {
  pool: pg.Pool
  logger: Logger
  /** Receives the order events. */
  notifier: ServiceClient
  serviceToken: string
  maxOrdersPerBatch: number
  /** Of a bulk request. */
  maxBodyBytes: number
  /** Of one merchant. */
  requestsPerMinute: number
  /** Of one network address without a token. */
  publicRequestsPerMinute: number
  /** Of the catalogues in memory, with the lists and indexes made of them. */
  catalogueBytes: number
  login: LoginLimits
  webhooks: SendingOptions
}

const merchantPrefix = '/api/public/merchant'
const staffPrefix = '/api/staff'
/** Some programs know all of it under this path. */
const alias = { from: '/api/merchant/', to: `${merchantPrefix}/` }
/** The request that the relay sends. */
const orderEvents = {
  tags: ['internal'],
  operationId: 'orderEvents',
  summary: 'Orders were created or their statuses changed',
  description: 'Sent to the notifier until it responds with 200. Events may repeat: each keeps its id.',
  security: [{ service: [] }],
  requestBody: { required: true, content: { 'application/json': { schema: OrderEvents } } },
  responses: {
    200: { description: 'Taken: these events are not sent again.' },
    '4XX': { description: 'The events are sent again.' },
  },
}

const api = {
  title: 'Courier orders',
  description:
    'Merchants push delivery orders in batches and get waybill numbers back. ' +
    'All paths below /api/public/merchant are also served below /api/merchant.',
  tags: [
    { name: 'merchant', description: 'Login, and the lists that a merchant chooses from.' },
    { name: 'orders', description: 'The orders of a merchant. Each request carries a bearer token and X-tenant.' },
    { name: 'webhooks', description: 'Where a merchant gets events (docs/merchants/webhooks.md).' },
    { name: 'public', description: 'For anyone who knows a waybill number, without a token.' },
    { name: 'staff', description: "For the courier's staff, with a staff token." },
    { name: 'internal', description: 'For the notifier.' },
  ],
  audiences: [
    {
      name: 'merchants',
      title: 'For merchants',
      description:
        'Your program logs in, reads the cities once, and pushes its orders in batches of up to 1,000. ' +
        'The tenant is the courier company that you ship with: it gives you its name, your e-mail address and a password.',
      tags: ['orders', 'merchant', 'webhooks', 'public'],
      quickStart: `# A token, valid for 30 days
curl -sS '$URL/api/public/merchant/login' \\
  -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  --data '{"email": "shop@example.com", "password": "lanka-shoes-demo"}'

# A batch that is checked and priced; without dry_run=true it is booked
curl -sS '$URL/api/public/merchant/order/bulk?dry_run=true' \\
  -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: 2026-02-19-1' --data @examples/batch.json`,
    },
    {
      name: 'staff',
      title: 'For staff',
      description: 'The orders of all merchants of the courier company, and the moves from one status to the next.',
      tags: ['staff'],
      quickStart: `# A token for both services, valid for 12 hours
curl -sS '$URL/api/staff/login' -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  --data '{"email": "admin@courier.example", "password": "courier-demo"}'

curl -sS '$URL/api/staff/order?per_page=5' -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo'`,
    },
    {
      name: 'internal',
      title: 'Internal',
      description: 'What the services ask of each other, and what an operator watches.',
      tags: ['internal', 'operations'],
    },
  ],
  webhooks: { orderEvents: { post: orderEvents }, merchantEvent: { post: messageOperation } },
}

/** The HTTP application, in reading order, and the relay and the sender of webhooks beside it. */
export const createOrders = async ({ pool, logger, notifier, serviceToken, ...limits }: OrdersOptions) => {
  const registry = new Registry()
  const isReady = () => checkReachable(pool)
  const app = await createServer({ ...limits, api, alias, logger, registry, isReady })

  app.decorateRequest('merchant')
  const printer = new Printer()
  app.addHook('onClose', () => printer.close())
  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  watchPool(pool, registry)
  watchOutbox(pool, registry)
  const relay = new Relay({
    pool,
    logger,
    notifier,
    tracer: limits.tracer,
    publicUrl: limits.publicUrl,
    ...countDeliveries(registry),
  })
  const gaps = createRateGaps(pool, logger)
  app.addHook('onClose', () => gaps.close())
  const findCaller = createTokenReader(pool)
  const openWholeList = createWholeLists(pool)
  const listBytes = Math.floor(limits.catalogueBytes / 4)
  const listsOf = createLists(listBytes)
  const nameBytes = Math.ceil(limits.catalogueBytes / 8)
  const nextSlice = createSlices()
  const findOrder = createOrderFinder(pool, createNames(pool, nameBytes))
  const catalogues = createCatalogues(pool, limits.catalogueBytes - listBytes - nameBytes, countLoads(registry))
  watchCatalogues(catalogues, registry)
  const numbers = createWaybillNumbers(pool)
  const writeBatch = createBatchWriter(pool, limits.tracer)
  const suspicions = { findAlike: createFindAlike(pool), findHabits: createFindHabits(pool) }

  const watch = createChangeWatch(pool, logger)
  const sending = createSending(pool, logger, limits.webhooks, registry)

  const onChanged = (tenant: string): void => {
    relay.wake(tenant)
    watch.wake()
    sending.sender?.wake(tenant)
  }

  const dependencies = createLoginDependencies(pool, limits.login)
  await app.register(login, { prefix: merchantPrefix, dependencies })
  await app.register(staffLogin, { prefix: staffPrefix, dependencies })

  await app.register(
    async merchants => {
      merchants.addHook('onRequest', requireMerchant(findCaller))
      merchants.addHook('onRequest', limitRequests(new Limit('merchant', limits.requestsPerMinute), merchantIn))
      merchants.addHook(
        'preValidation',
        readTypedWaybills(pool, ({ merchant }) => merchant.tenant),
      )
      await merchants.register(user, { pool })
      await merchants.register(logout, { pool, findCaller })
      await merchants.register(catalogueLists, { pool, catalogues, listsOf })
      await merchants.register(cityList, {
        ...{ catalogues, listsOf, tag: 'merchant', operationId: 'listCities' },
        callerOf: ({ merchant }) => merchant,
      })
      await merchants.register(catalogueRows, { pool, catalogues, listsOf })
      await merchants.register(resolving, { catalogues, nextSlice })
      await merchants.register(booking, {
        dependencies: { pool, catalogues, numbers, writeBatch, ...suspicions },
        maxOrdersPerBatch: limits.maxOrdersPerBatch,
        maxBodyBytes: limits.maxBodyBytes,
        gaps,
        onBooked: (tenant, orders) => {
          booked.inc(orders)
          onChanged(tenant)
        },
      })
      await merchants.register(quoting, {
        catalogues,
        maxOrdersPerBatch: limits.maxOrdersPerBatch,
        maxBodyBytes: limits.maxBodyBytes,
        gaps,
      })
      await merchants.register(merchantOrders, { pool, findOrder, openWholeList })
      await merchants.register(orderStatus, { findOrder })
      await merchants.register(lookingUp, { pool })
      await merchants.register(merchantLabels, { pool, printer })
      await merchants.register(changes, { pool, watch })
      await merchants.register(orderSummary, { pool })
      await merchants.register(webhooks, { pool, ...sending, onChanged: tenant => sending.sender?.changed(tenant) })
      await merchants.register(merchantMoving, { pool, onMoved: onChanged })
      await merchants.register(merchantEdits, { pool, catalogues, onEdited: onChanged })
      await merchants.register(statusList, {
        ...{ pool, path: '/order/status-list', tag: 'orders', operationId: 'listStatuses' },
        tenantOf: ({ merchant }) => merchant.tenant,
      })
      await merchants.register(tracking, { findOrder })
      await merchants.register(finance, { findOrder })
    },
    { prefix: merchantPrefix },
  )

  await app.register(async anyone => {
    const publicLimit = new Limit('public', limits.publicRequestsPerMinute)
    anyone.addHook('onRequest', limitRequests(publicLimit, addressOf))
    await anyone.register(publicTracking, { prefix: '/api/public', findOrder, pool })
    await anyone.register(trackingPage, { pool })
  })

  await app.register(
    async staff => {
      admitStaff(staff, findCaller, limits.requestsPerMinute)
      staff.addHook(
        'preValidation',
        readTypedWaybills(pool, ({ staff }) => staff.tenant),
      )
      await staff.register(staffSession, { pool, findCaller })
      await staff.register(staffOrders, { pool, findOrder, openWholeList })
      await staff.register(staffEdits, { pool, catalogues, onEdited: onChanged })
      await staff.register(staffLabels, { pool, printer })
      await staff.register(staffMoves, { pool, onMoved: onChanged })
      await staff.register(statusList, {
        ...{ pool, path: '/status', tag: 'staff', operationId: 'listStaffStatuses' },
        tenantOf: ({ staff }) => staff.tenant,
      })
      await staff.register(cityList, {
        ...{ catalogues, listsOf, tag: 'staff', operationId: 'listStaffCities' },
        callerOf: ({ staff }) => ({ tenant: staff.tenant }),
      })
      await staff.register(today, { pool })
      await staff.register(merchantList, { pool })
      await staff.register(rateGaps, { pool, catalogues, gaps })
      await staff.register(customerRequests, { pool, onDecided: tenant => relay.wake(tenant) })
    },
    { prefix: staffPrefix },
  )

  await app.register(internal, { pool, serviceToken, publicUrl: limits.publicUrl })
  await app.register(staffTokens, { pool, serviceToken })
  await app.register(customerActions, { pool, catalogues, serviceToken, publicUrl: limits.publicUrl, onChanged })
  return { app, relay, webhooks: sending }
}

/** All tokens of a merchant share its rate limit. */
const merchantIn = (request: FastifyRequest): string => {
  const { tenant, merchantId } = request.merchant
  return `${tenant} ${merchantId}`
}
