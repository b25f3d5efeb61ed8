import { admitStaff } from '@courier/shared/access/staff.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { createServer, type Edge } from '@courier/shared/edge/server.ts'
import { checkReachable } from '@courier/shared/postgres/database.ts'
import { watchPool } from '@courier/shared/postgres/pool-metrics.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import type { SessionLimits } from './access/sessions.ts'
import { createStaffReader } from './access/staff-tokens.ts'
import { createKeyCheck } from './channels/check-keys.ts'
import { channels } from './channels/routes.ts'
import { appSecretsOf, createTokenKeeper } from './channels/secrets.ts'
import { createCatalogueSyncs, createSyncChannel } from './channels/sync-templates.ts'
import { conversations } from './conversations/routes.ts'
import { costs } from './costs/routes.ts'
import { ActionDelivery } from './delivery/loop.ts'
import { countActions, watchActions } from './delivery/metrics.ts'
import { events } from './events/routes.ts'
import { inbox } from './inbox/routes.ts'
import { messages } from './messages/routes.ts'
import { messageSummary } from './messages/summary-routes.ts'
import type { MessagingApi } from './messaging-api/client.ts'
import type { OrdersClient } from './orders-client/orders-client.ts'
import { webhooks } from './platform-webhooks/routes.ts'
import { logTraced, reactToFailures } from './platform-webhooks/settle-messages.ts'
import { portal } from './portal/routes.ts'
import { preflights } from './preflight/routes.ts'
import { createEffects } from './sending/effects.ts'
import type { ClaimedMessage } from './sending/message.ts'
import { countSends, watchMessages } from './sending/metrics.ts'
import { Queue } from './sending/queue.ts'
import { createSender } from './sending/sender.ts'
import { logCategory } from './templates/category-changes.ts'
import { templates } from './templates/routes.ts'
import { timeline } from './timeline/routes.ts'

export interface NotifierOptions extends Edge {
  pool: pg.Pool
  logger: Logger
  keyring: Keyring
  api: MessagingApi
  /** Reads one order at a time, and does what customers ask for. */
  orders: OrdersClient
  /** Where browsers reach orders, for the console. */
  ordersPublicUrl: string
  /** The bearer token of orders. */
  serviceToken: string
  /** How many messages may be in flight at once. */
  window: number
  /** Seconds between two messages to one recipient; 0: no limit. */
  pairSeconds: number
  /** Of one member of staff. */
  requestsPerMinute: number
  /** Of staff tokens that orders knows. */
  sessions?: Partial<SessionLimits> | undefined
  maxMessagesPerBatch?: number | undefined
  /** Of a bulk request. */
  maxBodyBytes?: number | undefined
}

const api = {
  title: 'Courier notifier',
  description: 'Staff sends template messages to customers; the messaging API reports their delivery.',
  tags: [
    { name: 'messages', description: 'Messages and their timelines.' },
    { name: 'timeline', description: 'The statuses of a parcel and the messages sent to its customer.' },
    { name: 'costs', description: 'What messages cost, and the budget.' },
    { name: 'channels', description: 'The numbers that messages are sent from.' },
    { name: 'templates', description: 'The catalogue of the account.' },
    { name: 'conversations', description: 'What customers write, and the 24 hours after that.' },
    { name: 'events', description: 'Events from orders.' },
    { name: 'webhooks', description: 'Webhooks of the messaging API.' },
  ],
  audiences: [
    {
      name: 'staff',
      title: 'For staff',
      description: 'Messages to customers, the numbers that send them, and the catalogue of templates.',
      tags: ['messages', 'timeline', 'costs', 'channels', 'templates', 'conversations'],
      quickStart: `# The token of a login at orders, or of: npm run notifier -- token create --tenant demo --staff NAME
curl -sS '$URL/api/messages?limit=5' -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo'`,
    },
    {
      name: 'internal',
      title: 'Internal',
      description: 'Events from orders, webhooks of the messaging API, and what an operator watches.',
      tags: ['events', 'webhooks', 'operations'],
    },
  ],
}

/** Longer than the API client's own deadline for a request. */
const sendSeconds = 16

/** The HTTP application, in reading order, the queue behind it, and the delivery of what customers ask for. */
export const createNotifier = async ({ pool, logger, keyring, ...options }: NotifierOptions) => {
  const registry = new Registry()
  const keys = createKeyCheck(pool, keyring, logger)
  const isReady = () => checkReachable(pool).then(keys.ready)
  const app = await createServer({ ...options, api, logger, registry, isReady })
  watchPool(pool, registry)
  watchMessages(pool, registry)
  watchActions(pool, registry)
  const facts = new Counter({
    name: 'webhook_facts_total',
    help: 'Facts that webhooks reported, by kind.',
    labelNames: ['kind'],
    registers: [registry],
  })

  const eventOutcomes = new Counter({
    name: 'events_total',
    help: 'Events of orders by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  })

  const tokens = createTokenKeeper(pool, keyring)
  const effects = createEffects(pool, logger)
  const sendOne = createSender({
    pool,
    api: options.api,
    keyring,
    tokens,
    effects,
    logger,
    tracer: options.tracer,
    onUnopened: keys.doubt,
  })
  const counted = countSends(registry)
  const send = (message: ClaimedMessage) => sendOne(message).then(counted)
  const syncChannel = createSyncChannel(pool, tokens, options.api)
  const { syncDue, syncLacking } = createCatalogueSyncs(pool, logger, syncChannel)
  const queue = new Queue({
    pool,
    logger,
    send,
    window: options.window,
    pairSeconds: options.pairSeconds,
    sendSeconds,
    mayClaim: keys.mayUse,
  })
  const wake = () => queue.wake()

  const actions = new ActionDelivery({
    pool,
    logger,
    orders: options.orders,
    onQueued: wake,
    onOutcome: countActions(registry),
  })

  await app.register(webhooks, {
    pool,
    keyring,
    appSecretsOf: (...of) => appSecretsOf(keyring)(...of).catch(keys.refuse),
    strangersPerMinute: options.addressLimits?.refusals,
    onReleased: wake,
    onActions: () => actions.wake(),
    onApproved: () => syncDue().catch(err => logger.warn({ err }, 'templates.not_synced')),
    onFact: (kind, count) => facts.inc({ kind }, count),
    onFailures: reactToFailures(logger),
    onTraced: logTraced(logger),
    onCategory: logCategory(logger),
    tracer: options.tracer,
  })

  await app.register(events, {
    pool,
    serviceToken: options.serviceToken,
    tracer: options.tracer,
    onQueued: wake,
    onProcessed: (outcome, count) => eventOutcomes.inc({ outcome }, count),
  })

  await app.register(portal, { ordersUrl: options.ordersPublicUrl })

  await app.register(async staff => {
    acceptJson(staff)
    staff.setErrorHandler(keys.refuse)
    admitStaff(staff, createStaffReader({ pool, logger, ...options }), options.requestsPerMinute)
    const { orders, maxMessagesPerBatch: maxMessages, maxBodyBytes } = options
    const ofMessages = { pool, orders, syncLacking, product: options.api.product, maxMessages, maxBodyBytes }
    await staff.register(messages, { ...ofMessages, onQueued: wake })
    await staff.register(messageSummary, { pool })
    await staff.register(preflights, ofMessages)
    await staff.register(timeline, { pool, orders })
    await staff.register(costs, { pool })
    await staff.register(channels, {
      pool,
      keyring,
      api: options.api,
      tokens,
      beforeSealing: keys.refuseWrongNewest,
      onResumed: wake,
    })
    await staff.register(templates, { pool, syncChannel })
    await staff.register(conversations, { pool })
    await staff.register(inbox, { pool, orders, onQueued: wake })
  })
  return { app, queue, actions, syncDue }
}
