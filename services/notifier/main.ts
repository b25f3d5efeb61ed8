import { loadConfigOrExit, refuseSettings } from '@courier/shared/config.ts'
import { bypassesRowSecurity, createPool } from '@courier/shared/database.ts'
import { createLogger } from '@courier/shared/log.ts'
import closeWithGrace from 'close-with-grace'
import { createNotifier } from './app.ts'
import { readKeyring, VaultError } from './channels/vault.ts'
import { ordersUrl, Settings } from './config.ts'
import { migrateNotifier } from './database/migrate.ts'
import { askOrders } from './events/ask-orders.ts'
import { keepHouse } from './messages/housekeeping.ts'
import { baseUrlProblem } from './messaging-api/base-url.ts'
import { createMessagingApi } from './messaging-api/client.ts'

/** Where plain http is allowed beside loopback: the service of docker-compose.yml. */
const plainHttpHosts = ['simulator']

const settings = loadConfigOrExit(Settings, process.env)
const urlProblem = baseUrlProblem(settings.MESSAGING_API_URL, plainHttpHosts)
if (urlProblem) refuseSettings(`MESSAGING_API_URL ${urlProblem}`)

const readKeys = () => {
  try {
    return readKeyring(settings.CREDENTIALS_KEYS)
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return refuseSettings(error.message)
  }
}

const keyring = readKeys()
const logger = createLogger('notifier', settings.LOG_LEVEL)
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
const orders = askOrders({ url: ordersUrl(settings), serviceToken: settings.SERVICE_TOKEN, logger })
const { app, queue } = await createNotifier({
  pool,
  logger,
  keyring,
  api,
  orders,
  serviceToken: settings.SERVICE_TOKEN,
  window: settings.MESSAGING_CONNECTIONS,
  pairSeconds: settings.RECIPIENT_PAUSE_SECONDS,
  maxMessagesPerBatch: settings.MAX_MESSAGES_PER_BATCH,
  maxBodyBytes: settings.MAX_BODY_BYTES,
  callsPerMinute: settings.RATE_LIMIT_PER_MINUTE,
  trustedProxies: settings.TRUSTED_PROXIES,
  addressLimits: { calls: settings.ADDRESS_LIMIT_PER_MINUTE, refusals: settings.ADDRESS_REFUSALS_PER_MINUTE },
})

const house = keepHouse(pool, logger)

closeWithGrace({ delay: 9_500, logger: false }, async ({ signal, err }) => {
  if (err) logger.fatal({ err }, 'process.failed')
  else logger.info({ signal }, 'process.stopping')
  await Promise.all([app.close(), queue.stop()])
  await Promise.all([api.close(), orders.close()])
  await house.stop()
  // The log line of the last answer comes after it.
  await new Promise(setImmediate)
  await pool.end()
  logger.info('process.stopped')
})

try {
  const applied = await migrateNotifier(settings)
  if (applied.length > 0) logger.info({ applied }, 'database.migrated')
  if (await bypassesRowSecurity(pool)) logger.warn('database.row_security_bypassed: connect as an ordinary role')
  await app.listen({ host: settings.HOST, port: settings.NOTIFIER_PORT })
  queue.start()
} catch (err) {
  const portTaken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  logger.fatal({ err }, portTaken ? 'process.cannot_start: set NOTIFIER_PORT to a free port' : 'process.cannot_start')
  process.exit(1)
}
