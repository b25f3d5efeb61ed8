import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { loadConfigOrExit, readEdge } from '@courier/shared/config.ts'
import { isProduction, warnOfDemonstration, warnOfLoopback } from '@courier/shared/demonstration.ts'
import { runService, startTracer } from '@courier/shared/edge/run-service.ts'
import { createLogger } from '@courier/shared/log.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { findLeftOutProblem } from '@courier/shared/postgres/held-rows.ts'
import { createNotifier } from './app.ts'
import { capabilities as all } from './capabilities.ts'
import { ordersPublicUrl, ordersUrl, Settings } from './config.ts'
import { readKeyring } from './core/channels/vault.ts'
import { migrateNotifier } from './core/database/migrate.ts'
import { createMessagingApi } from './core/messaging-api/client.ts'
import { createOrdersClient } from './core/orders-client/http-client.ts'

const settings = loadConfigOrExit(Settings, process.env)
const keyring = readKeyring(settings.CREDENTIALS_KEYS)
const logger = createLogger('notifier', settings.LOG_LEVEL)
warnOfDemonstration(settings, logger)
warnOfLoopback(settings, { ORDERS_PUBLIC_URL: ordersPublicUrl(settings), PUBLIC_URL: settings.PUBLIC_URL }, logger)
const tracer = await startTracer('notifier', settings.OTEL_EXPORTER_OTLP_ENDPOINT, logger)
const pool = createPool({
  url: settings.NOTIFIER_DATABASE_URL,
  name: 'notifier',
  connections: settings.DATABASE_CONNECTIONS,
  onIdleError: err => logger.warn({ err }, 'database.connection_lost'),
})
const api = createMessagingApi({
  baseUrl: settings.MESSAGING_API_URL,
  version: settings.MESSAGING_API_VERSION,
  product: settings.MESSAGING_PRODUCT,
  connections: settings.MESSAGING_CONNECTIONS,
})
const orders = createOrdersClient({ url: ordersUrl(settings), serviceToken: settings.SERVICE_TOKEN, logger })
const capabilities = await loadCapabilities(all, settings.NOTIFIER_CAPABILITIES)
const { app, workers } = await createNotifier({
  capabilities,
  pool,
  hasSynchronousStandby: settings.SYNCHRONOUS_STANDBY === 'true',
  logger,
  keyring,
  api,
  orders,
  ordersPublicUrl: ordersPublicUrl(settings),
  serviceToken: settings.SERVICE_TOKEN,
  window: settings.MESSAGING_CONNECTIONS,
  recipientPauseSeconds: settings.RECIPIENT_PAUSE_SECONDS,
  maxMessagesPerBatch: settings.MAX_MESSAGES_PER_BATCH,
  maxBodyBytes: settings.MAX_BODY_BYTES,
  requestsPerMinute: settings.RATE_LIMIT_PER_MINUTE,
  ...readEdge(settings),
  hidesDemo: isProduction(settings),
  tracer,
})

await runService({
  app,
  pool,
  logger,
  workers,
  clients: [api, orders, tracer],
  migrate: () => migrateNotifier(settings),
  findProblem: () => findLeftOutProblem(pool, 'NOTIFIER_CAPABILITIES', all, capabilities),
  host: settings.HOST,
  port: settings.NOTIFIER_PORT,
  portSetting: 'NOTIFIER_PORT',
})
