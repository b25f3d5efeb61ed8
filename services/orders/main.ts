import { loadConfigOrExit } from '@courier/shared/config.ts'
import { bypassesRowSecurity, createPool } from '@courier/shared/database.ts'
import { createLogger } from '@courier/shared/log.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import closeWithGrace from 'close-with-grace'
import { createOrders } from './app.ts'
import { keepHouse } from './booking/housekeeping.ts'
import { Settings } from './config.ts'
import { migrateOrders } from './database/migrate.ts'

const settings = loadConfigOrExit(Settings, process.env)
const logger = createLogger('orders', settings.LOG_LEVEL)

const pool = createPool({
  url: settings.ORDERS_DATABASE_URL,
  name: 'orders',
  connections: settings.DATABASE_CONNECTIONS,
  onIdleError: err => logger.warn({ err }, 'database.connection_lost'),
})
const notifier = createServiceClient({
  baseUrl: settings.NOTIFIER_URL ?? `http://127.0.0.1:${settings.NOTIFIER_PORT}`,
  serviceToken: settings.SERVICE_TOKEN,
})
const { app, relay } = await createOrders({
  pool,
  logger,
  notifier,
  serviceToken: settings.SERVICE_TOKEN,
  maxOrdersPerBatch: settings.MAX_ORDERS_PER_BATCH,
  maxBodyBytes: settings.MAX_BODY_BYTES,
  callsPerMinute: settings.RATE_LIMIT_PER_MINUTE,
  publicCallsPerMinute: settings.PUBLIC_RATE_LIMIT_PER_MINUTE,
  trustedProxies: settings.TRUSTED_PROXIES,
  addressLimits: { calls: settings.ADDRESS_LIMIT_PER_MINUTE, refusals: settings.ADDRESS_REFUSALS_PER_MINUTE },
  login: {
    tokenDays: settings.LOGIN_TOKEN_DAYS,
    triesPerEmail: settings.LOGIN_TRIES_PER_EMAIL,
    triesPerAddress: settings.LOGIN_TRIES_PER_ADDRESS,
  },
})
const house = keepHouse(pool, logger)

closeWithGrace({ delay: 9_500, logger: false }, async ({ signal, err }) => {
  if (err) logger.fatal({ err }, 'process.failed')
  else logger.info({ signal }, 'process.stopping')
  // Together: each may take its five seconds.
  await Promise.all([app.close(), relay.stop()])
  await notifier.close()
  // The log line of the last answer comes after it.
  await new Promise(setImmediate)
  await house.stop()
  await pool.end()
  logger.info('process.stopped')
})

try {
  const applied = await migrateOrders(settings)
  if (applied.length > 0) logger.info({ applied }, 'database.migrated')
  if (await bypassesRowSecurity(pool)) logger.warn('database.row_security_bypassed: connect as an ordinary role')
  await app.listen({ host: settings.HOST, port: settings.ORDERS_PORT })
  relay.start()
} catch (err) {
  const portTaken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  logger.fatal({ err }, portTaken ? 'process.cannot_start: set ORDERS_PORT to a free port' : 'process.cannot_start')
  process.exit(1)
}
