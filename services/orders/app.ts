import { requireService } from '@courier/shared/access/authenticate.ts'
import { admitStaff } from '@courier/shared/access/staff.ts'
import { readAddress } from '@courier/shared/edge/addresses.ts'
import { faceRoutes } from '@courier/shared/edge/face.ts'
import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { watchPool } from '@courier/shared/edge/metrics.ts'
import { createServer } from '@courier/shared/edge/server.ts'
import { checkReachable } from '@courier/shared/postgres/database.ts'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { api } from './api.ts'
import { customerRequestRoutes } from './capabilities/customer-actions/request-routes.ts'
import { customerActionRoutes } from './capabilities/customer-actions/routes.ts'
import { merchantEditRoutes, staffEditRoutes } from './capabilities/editing/routes.ts'
import { merchantInstructionRoutes, staffInstructionRoutes } from './capabilities/failures/routes.ts'
import { changeRoutes } from './capabilities/feed/change-routes.ts'
import { webhookRoutes } from './capabilities/feed/webhook-routes.ts'
import { merchantLabelRoutes, staffLabelRoutes } from './capabilities/labels/routes.ts'
import { companyMoneyRoutes, merchantMoneyRoutes } from './capabilities/money/routes.ts'
import { personRoutes } from './capabilities/people/routes.ts'
import { rateGapRoutes } from './capabilities/rate-gaps/routes.ts'
import { recipientRoutes } from './capabilities/reports/recipient-routes.ts'
import { summaryRoutes } from './capabilities/reports/summary-routes.ts'
import { todayRoutes } from './capabilities/reports/today.ts'
import { trackingPageRoutes } from './capabilities/tracking-page/routes.ts'
import { admitMerchants } from './core/access/merchant.ts'
import { merchantListRoutes } from './core/access/merchant-list.ts'
import { programTokenRoutes } from './core/access/program-token-routes.ts'
import { loginRoutes, userRoutes } from './core/access/routes.ts'
import { staffLoginRoutes, staffSessionRoutes } from './core/access/staff-routes.ts'
import { staffTokenRoutes } from './core/access/staff-tokens.ts'
import { quoteRoutes } from './core/booking/quote-routes.ts'
import { bookingRoutes } from './core/booking/routes.ts'
import { placeRoutes } from './core/catalogue/place-routes.ts'
import { catalogueRoutes, staffCityRoutes } from './core/catalogue/routes.ts'
import { lookUpRoutes } from './core/lists/look-up.ts'
import { merchantOrderRoutes, staffOrderRoutes } from './core/lists/order-routes.ts'
import { merchantMoveRoutes, staffMoveRoutes } from './core/moves/move-routes.ts'
import { takeBackRoutes } from './core/moves/take-back.ts'
import { staffStatusRoutes, statusRoutes } from './core/statuses/status-routes.ts'
import { sentMessageRoutes } from './core/tracking/message-routes.ts'
import { internalRoutes } from './core/tracking/order-details.ts'
import { readTypedWaybills } from './core/tracking/typed-waybills.ts'
import { publicTrackingRoutes, trackingRoutes } from './core/tracking/waybill-routes.ts'
import { createDependencies, type Dependencies, type OrdersOptions } from './dependencies.ts'

const merchantPrefix = '/api/public/merchant'
const staffPrefix = '/api/staff'
/** Serves programs that use this path for every request. */
const alias = { from: '/api/merchant/', to: `${merchantPrefix}/` }

/** Creates the HTTP application, and the relay and the sender of webhooks that run beside it. */
export const createOrders = async (options: OrdersOptions) => {
  const registry = new Registry()
  const app = await createServer({ ...options, api, alias, registry, isReady: () => checkReachable(options.pool) })
  watchPool(options.pool, registry)
  const own = createDependencies(options, registry)
  app.addHook('onClose', () => own.close())

  await app.register(loginRoutes, { ...own, prefix: merchantPrefix })
  await app.register(staffLoginRoutes, { ...own, prefix: staffPrefix })
  await app.register(merchants => registerMerchants(merchants, own), { prefix: merchantPrefix })
  await app.register(anyone => registerPublic(anyone, own))
  await app.register(staff => registerStaff(staff, own), { prefix: staffPrefix })
  await app.register(faceRoutes, { face: 'desk', path: '/desk' })
  await app.register(internal => registerInternal(internal, own))
  return { app, relay: own.relay, webhooks: own.sending }
}

const registerMerchants = async (app: FastifyInstance, own: Dependencies) => {
  admitMerchants(app, own.findCaller, own.requestsPerMinute)
  app.addHook('preValidation', readTypedWaybills(own.pool))
  await app.register(account => registerAccount(account, own))
  await app.register(orders => registerOrders(orders, own))
  await app.register(webhooks => registerWebhooks(webhooks, own))
}

const registerAccount = async (app: FastifyInstance, own: Dependencies) => {
  documentAs(app, 'merchant', 'token')
  await app.register(userRoutes, own)
  await app.register(programTokenRoutes, own)
  await app.register(personRoutes, own)
  await app.register(catalogueRoutes, own)
  await app.register(placeRoutes, own)
}

const registerOrders = async (app: FastifyInstance, own: Dependencies) => {
  documentAs(app, 'orders', 'token')
  await app.register(quoteRoutes, own)
  await app.register(bookingRoutes, own)
  await app.register(merchantOrderRoutes, own)
  await app.register(lookUpRoutes, own)
  await app.register(merchantLabelRoutes, own)
  await app.register(changeRoutes, own)
  await app.register(summaryRoutes, own)
  await app.register(recipientRoutes, own)
  await app.register(merchantMoveRoutes, own)
  await app.register(merchantEditRoutes, own)
  await app.register(merchantInstructionRoutes, own)
  await app.register(statusRoutes, own)
  await app.register(trackingRoutes, own)
  await app.register(sentMessageRoutes, own)
  await app.register(merchantMoneyRoutes, own)
}

const registerWebhooks = async (app: FastifyInstance, own: Dependencies) => {
  documentAs(app, 'webhooks', 'token')
  await app.register(webhookRoutes, { ...own, ...own.sending })
}

const registerPublic = async (app: FastifyInstance, own: Dependencies) => {
  app.addHook('onRequest', limitRequests(new Limit('public', own.publicRequestsPerMinute), readAddress))
  await app.register(publicTrackingRoutes, { ...own, prefix: '/api/public' })
  await app.register(trackingPageRoutes, own)
}

const registerStaff = async (app: FastifyInstance, own: Dependencies) => {
  documentAs(app, 'staff', 'token')
  admitStaff(app, own.findCaller, own.requestsPerMinute)
  app.addHook('preValidation', readTypedWaybills(own.pool))
  await app.register(staffSessionRoutes, own)
  await app.register(staffOrderRoutes, own)
  await app.register(staffEditRoutes, own)
  await app.register(staffInstructionRoutes, own)
  await app.register(staffLabelRoutes, own)
  await app.register(staffMoveRoutes, own)
  await app.register(staffStatusRoutes, own)
  await app.register(staffCityRoutes, own)
  await app.register(todayRoutes, own)
  await app.register(merchantListRoutes, own)
  await app.register(rateGapRoutes, own)
  await app.register(customerRequestRoutes, own)
  await app.register(companyMoneyRoutes, { ...own, keyring: own.sending.keyring })
  await app.register(takeBackRoutes, own)
}

const registerInternal = async (app: FastifyInstance, own: Dependencies) => {
  documentAs(app, 'internal', 'service')
  app.addHook('onRequest', requireService(own.serviceToken))
  await app.register(internalRoutes, own)
  await app.register(staffTokenRoutes, own)
  await app.register(customerActionRoutes, own)
}

/** Documents the routes of `app` under this tag, with this kind of token. */
const documentAs = (app: FastifyInstance, tag: string, scheme: 'token' | 'service'): void => {
  app.addHook('onRoute', route => {
    route.schema = { tags: [tag], security: [{ [scheme]: [] }], ...route.schema }
  })
}
