import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { loadConfigOrExit, readEdge } from '@courier/shared/config.ts'
import { isProduction, warnOfDemonstration, warnOfLoopback } from '@courier/shared/demonstration.ts'
import { runService, startTracer } from '@courier/shared/edge/run-service.ts'
import { createLogger } from '@courier/shared/log.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { findLeftOutProblem } from '@courier/shared/postgres/held-rows.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { readKeys } from '@courier/shared/vault.ts'
import { createOrders } from './app.ts'
import { capabilities as all } from './capabilities.ts'
import type { Capability } from './capability.ts'
import { findWrongKey } from './check-keys.ts'
import { portalOrigins, Settings } from './config.ts'
import { migrateOrders } from './core/database/migrate.ts'
import { notifierUrl } from './core/relay/settings.ts'
import { createOrdersHousekeeping } from './housekeeping.ts'

const settings = loadConfigOrExit(Settings, process.env)
const logger = createLogger('orders', settings.LOG_LEVEL)
warnOfDemonstration(settings, logger)
warnOfLoopback(settings, { PORTAL_ORIGINS: portalOrigins(settings), PUBLIC_URL: settings.PUBLIC_URL }, logger)
const tracer = await startTracer('orders', settings.OTEL_EXPORTER_OTLP_ENDPOINT, logger)

const pool = createPool({
  url: settings.ORDERS_DATABASE_URL,
  name: 'orders',
  connections: settings.DATABASE_CONNECTIONS,
  onIdleError: err => logger.warn({ err }, 'database.connection_lost'),
})
const atNotifier = { baseUrl: notifierUrl(settings), serviceToken: settings.SERVICE_TOKEN }
const notifier = createServiceClient(atNotifier)
const messages = createServiceClient({ ...atNotifier, callMilliseconds: 2_000 })
const keyring = settings.WEBHOOK_KEYS === undefined ? undefined : readKeys('WEBHOOK_KEYS', settings.WEBHOOK_KEYS)
const capabilities = await loadCapabilities<Capability>(all, settings.ORDERS_CAPABILITIES)
const { app, relay, workers, clients } = await createOrders({
  capabilities,
  pool,
  hasSynchronousStandby: settings.SYNCHRONOUS_STANDBY === 'true',
  logger,
  notifier,
  messages,
  serviceToken: settings.SERVICE_TOKEN,
  maxOrdersPerBatch: settings.MAX_ORDERS_PER_BATCH,
  maxBodyBytes: settings.MAX_BODY_BYTES,
  requestsPerMinute: settings.RATE_LIMIT_PER_MINUTE,
  publicRequestsPerMinute: settings.PUBLIC_RATE_LIMIT_PER_MINUTE,
  catalogueBytes: settings.CATALOGUE_MEMORY_BYTES,
  ...readEdge(settings),
  hidesDemo: isProduction(settings),
  portalOrigins: portalOrigins(settings),
  tracer,
  keyring,
  signInProviders: settings.SIGN_IN_PROVIDERS,
  smtpUrl: settings.SMTP_URL,
  mailFrom: settings.MAIL_FROM,
  allowsPrivate: settings.WEBHOOK_PRIVATE_ADDRESSES === 'true',
  login: {
    tokenDays: settings.LOGIN_TOKEN_DAYS,
    staffHours: settings.STAFF_LOGIN_HOURS,
    triesPerEmail: settings.LOGIN_TRIES_PER_EMAIL,
    triesPerAddress: settings.LOGIN_TRIES_PER_ADDRESS,
  },
})

await runService({
  app,
  pool,
  logger,
  workers: [relay, createOrdersHousekeeping(pool, logger, capabilities), ...workers],
  clients: [notifier, messages, ...clients, tracer],
  migrate: () => migrateOrders(settings),
  findProblem: async () =>
    (await findLeftOutProblem(pool, 'ORDERS_CAPABILITIES', all, capabilities)) ??
    (keyring && (await findWrongKey(pool, keyring, capabilities))),
  host: settings.HOST,
  port: settings.ORDERS_PORT,
  portSetting: 'ORDERS_PORT',
})
