import { checkReachable } from '@courier/shared/database.ts'
import type { AddressLimits } from '@courier/shared/http/addresses.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import { Limit, limitCalls } from '@courier/shared/http/limits.ts'
import { createServer } from '@courier/shared/http/server.ts'
import { requireStaff, staffIn, staffOf } from '@courier/shared/http/staff.ts'
import { watchPool } from '@courier/shared/pool-metrics.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Registry } from 'prom-client'
import { createStaffReader } from './access/staff.ts'
import { appSecretsOf } from './channels/app-secrets.ts'
import { channels } from './channels/routes.ts'
import { createTokenKeeper } from './channels/secrets.ts'
import { createSyncChannel } from './channels/sync-templates.ts'
import type { Keyring } from './channels/vault.ts'
import { conversations } from './conversations/routes.ts'
import type { OrderDesk } from './events/order-desk.ts'
import { events } from './events/routes.ts'
import type { ClaimedMessage } from './messages/claim.ts'
import { createEffects } from './messages/effects.ts'
import { countSends, watchMessages } from './messages/metrics.ts'
import { Queue } from './messages/queue.ts'
import { reactToFailures } from './messages/reported-failures.ts'
import { messages } from './messages/routes.ts'
import { createSender } from './messages/sender.ts'
import type { MessagingApi } from './messaging-api/client.ts'
import { templates } from './templates/routes.ts'
import { timeline } from './timeline/routes.ts'
import { webhooks } from './webhooks/routes.ts'

export interface NotifierOptions {
  pool: pg.Pool
  logger: Logger
  keyring: Keyring
  api: MessagingApi
  /** Asked for one order at a time. */
  orders: OrderDesk
  /** What orders proves itself with. */
  serviceToken: string
  /** How many messages may be on their way at once. */
  window: number
  /** Seconds between two messages to one recipient; 0: no limit. */
  pairSeconds: number
  /** Of one member of staff. */
  callsPerMinute: number
  maxMessagesPerBatch?: number | undefined
  /** Of staff's calls. Webhooks have a limit of their own. */
  maxBodyBytes?: number | undefined
  trustedProxies?: string | undefined
  addressLimits?: AddressLimits | undefined
}

const api = {
  title: 'Courier notifier',
  version: '0.1.0',
  description: 'Staff sends template messages to customers; the messaging API tells what became of them.',
  tags: [
    { name: 'messages', description: 'Messages and their timelines.' },
    { name: 'timeline', description: 'What happened to a parcel and what its customer was told.' },
    { name: 'channels', description: 'The numbers that messages are sent from.' },
    { name: 'templates', description: 'The catalogue of the account.' },
    { name: 'conversations', description: 'The 24 hours after a customer wrote.' },
    { name: 'events', description: 'What orders tells.' },
  ],
}

/** Longer than the API client's own deadline for a call. */
const sendSeconds = 16

/** The HTTP application, in reading order, and the queue behind it. */
export const createNotifier = async ({ pool, logger, keyring, ...options }: NotifierOptions) => {
  const registry = new Registry()
  const isReady = () => checkReachable(pool)
  const { maxBodyBytes: bodyLimitBytes = 5_242_880, trustedProxies, addressLimits } = options
  const app = await createServer({ api, logger, registry, bodyLimitBytes, trustedProxies, addressLimits, isReady })
  watchPool(pool, registry)
  watchMessages(pool, registry)
  const facts = new Counter({
    name: 'webhook_facts_total',
    help: 'What webhooks told.',
    labelNames: ['kind'],
    registers: [registry],
  })

  const eventOutcomes = new Counter({
    name: 'events_total',
    help: 'Events of orders by what became of them.',
    labelNames: ['outcome'],
    registers: [registry],
  })

  const tokens = createTokenKeeper(pool, keyring)
  const effects = createEffects(pool, logger)
  const sendOne = createSender({ api: options.api, tokens, effects, logger })
  const counted = countSends(registry)
  const send = (message: ClaimedMessage) => sendOne(message).then(counted)
  const queue = new Queue({ pool, logger, send, window: options.window, pairSeconds: options.pairSeconds, sendSeconds })
  const wake = () => queue.wake()

  await app.register(webhooks, {
    pool,
    appSecretsOf: appSecretsOf(keyring),
    onReleased: wake,
    onFact: (kind, count) => facts.inc({ kind }, count),
    onFailures: reactToFailures(logger),
  })

  await app.register(events, {
    pool,
    serviceToken: options.serviceToken,
    onQueued: wake,
    onTaken: (outcome, count) => eventOutcomes.inc({ outcome }, count),
  })

  await app.register(async staff => {
    acceptJson(staff)
    staff.addHook('onRequest', requireStaff(createStaffReader(pool)))
    staff.addHook('onRequest', limitCalls(new Limit('staff', options.callsPerMinute), staffIn))
    const { orders, maxMessagesPerBatch: maxMessages } = options
    await staff.register(messages, { pool, orders, staffOf, onQueued: wake, maxMessages })
    await staff.register(timeline, { pool, orders, staffOf })
    await staff.register(channels, { pool, keyring, api: options.api, staffOf, tokens, onResumed: wake })
    const syncChannel = createSyncChannel(pool, tokens, options.api)
    await staff.register(templates, { pool, staffOf, syncChannel })
    await staff.register(conversations, { pool, staffOf })
  })
  return { app, queue }
}
