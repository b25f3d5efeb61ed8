import { requireService } from '@courier/shared/access/authenticate.ts'
import { admitStaff } from '@courier/shared/access/staff.ts'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { watchPool } from '@courier/shared/edge/metrics.ts'
import { faceRoutes } from '@courier/shared/edge/portal-face.ts'
import { createServer, type Edge } from '@courier/shared/edge/server.ts'
import { pollWorker } from '@courier/shared/poll-worker.ts'
import { guardHistory } from '@courier/shared/postgres/history.ts'
import { watchFixes } from '@courier/shared/security-fixes.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import { Registry } from 'prom-client'
import { api, findTag } from './api.ts'
import { capabilities } from './capabilities.ts'
import type { Capabilities, Core } from './capability.ts'
import { createStaffReader, type SessionLimits } from './core/access/sessions.ts'
import { createKeyCheck } from './core/channels/check-keys.ts'
import { channelRoutes } from './core/channels/routes.ts'
import { createAppSecretLister, createTokenKeeper } from './core/channels/secrets.ts'
import { createCatalogueSyncs, createSyncChannel } from './core/channels/sync-templates.ts'
import { conversationRoutes } from './core/conversations/routes.ts'
import { eventRoutes } from './core/events/routes.ts'
import { listRoutes } from './core/messages/list-routes.ts'
import { sendRoutes } from './core/messages/send-routes.ts'
import { webhookRoutes } from './core/platform-webhooks/routes.ts'
import { templateRoutes } from './core/templates/routes.ts'
import { createCounters, registerGauges } from './metrics.ts'
import { createWorkers, type Engine } from './workers.ts'

export interface NotifierOptions extends Edge, Engine {
  /** undefined: all. */
  capabilities?: Capabilities | undefined
  tracer?: Tracer | undefined
  /** Says that a promoted standby has every acknowledged write. */
  hasSynchronousStandby?: boolean
  /** Names the address at which browsers reach orders, for the console. */
  ordersPublicUrl: string
  serviceToken: string
  requestsPerMinute: number
  sessions?: Partial<SessionLimits> | undefined
  maxMessagesPerBatch?: number | undefined
  maxBodyBytes?: number | undefined
}

/** Creates the HTTP application and the workers that run beside it. */
export const createNotifier = async (options: NotifierOptions) => {
  const { pool, logger, keyring, tracer } = options
  const registry = new Registry()
  const counters = createCounters(registry)
  const keys = createKeyCheck(pool, keyring, logger)
  const history = guardHistory(pool, { logger, isSynchronous: options.hasSynchronousStandby ?? false })
  const isReady = () => history.check().then(keys.ready)
  const app = await createServer({ ...options, api, registry, isReady })
  app.addHook('onRoute', route => {
    const tag = findTag(route.url)
    if (tag) route.schema = { tags: [tag], ...route.schema }
  })
  watchPool(pool, registry)
  watchFixes(pool, registry)

  const tokens = createTokenKeeper(pool, keyring)
  const syncChannel = createSyncChannel(pool, tokens, options.api)
  const { syncDue, syncLacking } = createCatalogueSyncs(pool, logger, syncChannel)
  const loaded = [...(options.capabilities ?? (await loadCapabilities(capabilities, 'all'))).values()]
  registerGauges(
    pool,
    registry,
    loaded.map(({ gauges }) => gauges),
  )
  const housekeeping = loaded.flatMap(capability => capability.housekeeping ?? [])
  const admissions = loaded.flatMap(({ admission }) => admission ?? [])
  const points = loaded.flatMap(({ events }) => events ?? [])
  const facets = loaded.flatMap(({ message }) => message ?? [])
  const channelPoints = loaded.flatMap(({ channel }) => channel ?? [])
  const poll: Core['poll'] = (name, everySeconds, run) =>
    pollWorker({ name, everySeconds, run, logger, onFailure: counters.countFailure })
  const contents = loaded.flatMap(({ content }) => content ?? [])
  const webhookPoints = loaded.flatMap(({ webhooks }) => webhooks ?? [])
  const onMoved = webhookPoints.flatMap(point => point.onMoved ?? [])
  const taking = { admissions, contents, onMoved, channelPoints, housekeeping, poll }
  const coreWorkers = createWorkers({ ...options, tokens, keys, counters, syncDue, ...taking })
  const onQueued = () => coreWorkers.queue.wake()
  const { orders, maxMessagesPerBatch: maxMessages, maxBodyBytes, publicUrl, serviceToken } = options
  const messaging = { pool, orders, syncLacking, product: options.api.product, maxMessages, maxBodyBytes }
  const core: Core = { ...messaging, keyring, logger, registry, points, poll, api: options.api, publicUrl, onQueued }
  const started = loaded.flatMap(capability => capability.start?.(core) ?? [])

  await app.register(async webhooks => {
    webhooks.setErrorHandler(keys.refuse)
    await webhooks.register(webhookRoutes, {
      pool,
      keyring,
      points: webhookPoints,
      listAppSecrets: createAppSecretLister(keyring),
      strangersPerMinute: options.addressLimits?.refusals,
      onReleased: onQueued,
      onApplied: counts => {
        for (const { onWebhooks } of started) onWebhooks?.(counts)
      },
      onApproved: () => coreWorkers.catalogues.wake(),
      onFact: counters.countFacts,
      onIgnored: counters.countIgnored,
      logger,
      tracer,
    })
  })
  await app.register(async internal => {
    acceptJson(internal)
    internal.addHook('onRequest', requireService(serviceToken))
    await internal.register(eventRoutes, { pool, points, tracer, onQueued, onProcessed: counters.countEvents })
    for (const { routes } of started) if (routes?.internal) await internal.register(routes.internal)
  })
  await app.register(faceRoutes, { face: 'console', path: '/portal', ordersUrl: options.ordersPublicUrl })

  await app.register(async staff => {
    acceptJson(staff)
    staff.setErrorHandler(keys.refuse)
    admitStaff(staff, createStaffReader(options), options.requestsPerMinute)
    await staff.register(sendRoutes, { ...messaging, facets, onQueued })
    await staff.register(listRoutes, { pool, facets })
    const beforeSealing = keys.refuseWrongNewest
    const numbers = { pool, keyring, api: options.api, tokens, points: channelPoints }
    await staff.register(channelRoutes, { ...numbers, beforeSealing, onResumed: onQueued })
    await staff.register(templateRoutes, { pool, syncChannel })
    await staff.register(conversationRoutes, { pool })
    for (const { routes } of started) if (routes?.staff) await staff.register(routes.staff)
  })
  const workers = [...Object.values(coreWorkers), ...started.flatMap(one => one.workers ?? []), history.worker]
  return { app, workers, coreWorkers, started }
}
