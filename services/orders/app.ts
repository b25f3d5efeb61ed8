import { requireService } from '@courier/shared/access/authenticate.ts'
import { admitStaff } from '@courier/shared/access/staff.ts'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { watchPool } from '@courier/shared/edge/metrics.ts'
import { faceRoutes } from '@courier/shared/edge/portal-face.ts'
import { createServer } from '@courier/shared/edge/server.ts'
import { watchFixes } from '@courier/shared/security-fixes.ts'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { describeApi } from './api.ts'
import { capabilities as all, guardMoves, joinDeactivations } from './capabilities.ts'
import type { Audience, Capabilities, Capability, Plugins, Started } from './capability.ts'
import type { RightPassword } from './core/access/login.ts'
import { admitMerchants, limitVisitors } from './core/access/merchant.ts'
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
import { internalRoutes, sentMessageRoutes } from './core/tracking/order-details.ts'
import { readTypedWaybills } from './core/tracking/typed-waybills.ts'
import { publicTrackingRoutes, trackingRoutes } from './core/tracking/waybill-routes.ts'
import { type Core, type CoreOptions, createCore } from './core.ts'

const merchantPrefix = '/api/public/merchant'
const staffPrefix = '/api/staff'
/** Serves programs that use this path for every request. */
const alias = { from: '/api/merchant/', to: `${merchantPrefix}/` }

export type OrdersOptions = CoreOptions & {
  /** undefined: all. */
  capabilities?: Capabilities
}

/** Creates the HTTP application of the core and the capabilities, and the workers that run beside it. */
export const createOrders = async ({ capabilities, ...options }: OrdersOptions) => {
  const loaded = capabilities ?? (await loadCapabilities<Capability>(all, 'all'))
  const registry = new Registry()
  const api = describeApi(Object.assign({}, ...[...loaded.values()].map(({ sends }) => sends)))
  const app = await createServer({ ...options, api, alias, registry, isReady: () => core.history.check() })
  watchPool(options.pool, registry)
  watchFixes(options.pool, registry)
  const started: Started[] = []
  const core = createCore(options, registry, joinPoints(loaded, started))
  for (const { start } of loaded.values()) if (start) started.push(start(core))
  app.addHook('onClose', () => Promise.all(started.map(({ close }) => close?.())))

  const addTo: AddTo = async (group, audience, plugins = []) => {
    const added = started.flatMap(({ routes }) => routes?.[audience] ?? [])
    for (const plugin of [...plugins, ...added]) await group.register(plugin, core)
  }
  await app.register(loginRoutes, { ...core, prefix: merchantPrefix })
  await app.register(staffLoginRoutes, { ...core, prefix: staffPrefix })
  await app.register(merchants => registerMerchants(merchants, core, addTo), { prefix: merchantPrefix })
  await app.register(agents => registerAgents(agents, core, addTo))
  await app.register(entry => addTo(entry, 'entry'))
  await app.register(anyone => registerPublic(anyone, core, addTo))
  await app.register(signed => addTo(signed, 'signed'))
  await app.register(staff => registerStaff(staff, core, addTo), { prefix: staffPrefix })
  await app.register(faceRoutes, { face: 'desk', path: '/desk' })
  await app.register(faceRoutes, { face: 'rider', path: '/rider' })
  await app.register(internal => registerInternal(internal, core, addTo))
  const workers = [...started.flatMap(({ workers = [] }) => workers), core.history.worker]
  return { app, relay: core.relay, workers, clients: started.flatMap(({ clients = [] }) => clients) }
}

/** Joins what capabilities add to the core. `started` is filled later. */
const joinPoints = (loaded: Capabilities, started: readonly Started[]) => ({
  facets: new Map([...loaded].flatMap(([name, { facet }]) => (facet ? [[name, facet] as const] : []))),
  movePoints: [...guardMoves(loaded), ...[...loaded.values()].flatMap(({ move }) => move ?? [])],
  bookingPoints: [...loaded.values()].flatMap(({ booking }) => booking ?? []),
  inMessages: [...loaded.values()].flatMap(({ inMessages }) => inMessages ?? []),
  filters: Object.assign({}, ...[...loaded.values()].map(({ filters }) => filters)),
  cash: [...loaded.values()].find(({ cash }) => cash)?.cash,
  checkLogin: async (login: RightPassword) => {
    for (const { checkLogin } of started) {
      const refusal = await checkLogin?.(login)
      if (refusal) return refusal
    }
    return undefined
  },
  onDeactivated: joinDeactivations(loaded),
  onChanged: (tenant: string): void => {
    for (const { onChanged } of started) onChanged?.(tenant)
  },
  onRefused: (...refused: Parameters<NonNullable<Started['onRefused']>>): void => {
    for (const { onRefused } of started) onRefused?.(...refused)
  },
})

/** Registers the plugins of the core, then those of capabilities. */
type AddTo = (group: FastifyInstance, audience: Audience, plugins?: Plugins) => Promise<void>

const registerMerchants = async (app: FastifyInstance, core: Core, addTo: AddTo) => {
  admitMerchants(app, core.findCaller, core.requestsPerMinute)
  app.addHook('preValidation', readTypedWaybills(core.pool))
  await app.register(async account => {
    documentAs(account, 'merchant', 'token')
    await addTo(account, 'account', [userRoutes, programTokenRoutes, catalogueRoutes, placeRoutes])
  })
  await app.register(async orders => {
    documentAs(orders, 'orders', 'token')
    const handling = [lookUpRoutes, merchantMoveRoutes, statusRoutes, trackingRoutes, sentMessageRoutes]
    await addTo(orders, 'merchant', [quoteRoutes, bookingRoutes, merchantOrderRoutes, ...handling])
  })
  await app.register(async webhooks => {
    documentAs(webhooks, 'webhooks', 'token')
    await addTo(webhooks, 'webhooks')
  })
}

const registerAgents = async (app: FastifyInstance, core: Core, addTo: AddTo) => {
  documentAs(app, 'agents', 'token')
  admitMerchants(app, core.findCaller, core.requestsPerMinute)
  await addTo(app, 'agents')
}

const registerPublic = async (app: FastifyInstance, core: Core, addTo: AddTo) => {
  limitVisitors(app, core)
  await app.register(publicTrackingRoutes, { ...core, prefix: '/api/public' })
  await addTo(app, 'public')
}

const registerStaff = async (app: FastifyInstance, core: Core, addTo: AddTo) => {
  documentAs(app, 'staff', 'token')
  admitStaff(app, core.findCaller, core.requestsPerMinute)
  app.addHook('preValidation', readTypedWaybills(core.pool))
  const orders = [staffOrderRoutes, staffMoveRoutes, staffStatusRoutes]
  await addTo(app, 'staff', [staffSessionRoutes, ...orders, staffCityRoutes, merchantListRoutes, takeBackRoutes])
}

const registerInternal = async (app: FastifyInstance, core: Core, addTo: AddTo) => {
  documentAs(app, 'internal', 'service')
  app.addHook('onRequest', requireService(core.serviceToken))
  await addTo(app, 'internal', [internalRoutes, staffTokenRoutes])
}

/** Documents the routes of `app` under this tag, with this kind of token. */
const documentAs = (app: FastifyInstance, tag: string, scheme: 'token' | 'service'): void => {
  app.addHook('onRoute', route => {
    route.schema = { tags: [tag], security: [{ [scheme]: [] }], ...route.schema }
  })
}
