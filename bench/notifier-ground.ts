import { randomBytes } from 'node:crypto'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { storeSecret } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import { migrateNotifier } from '../services/notifier/database/migrate.ts'
import type { Tx } from '../services/notifier/database/tables.ts'
import { addTenant } from '../services/notifier/test/fixture.ts'
import { control } from '../trust/courier.ts'
import { startDatabase } from './database.ts'
import { accessToken, appSecret, numberOf, type Tenant } from './notifier-messages.ts'
import { type Service, startService } from './service.ts'

/** The system under test of the queue: a notifier database with two tenants, and a simulator without limits. */
export interface NotifierGround {
  /** Connects as the role of the service. */
  databaseUrl: string
  credentialsKeys: string
  apiUrl: string
  superuser: pg.Client
  /** Starts the service itself, whose queue sends the queued messages. */
  startNotifier: (cleanUps: AsyncDisposableStack, profileFolder?: string) => Promise<Service>
}

/** Starts the system, which `cleanUps` stops and removes. Takes some seconds. */
export const startNotifierGround = async (cleanUps: AsyncDisposableStack): Promise<NotifierGround> => {
  const database = await startDatabase('notifier', cleanUps)
  const { databaseUrl, superuser } = database
  await migrateNotifier({ NOTIFIER_DATABASE_URL: databaseUrl, ...database.environment })
  const credentialsKeys = `bench:${randomBytes(32).toString('base64')}`
  const pool = createPool({ url: databaseUrl, name: 'bench', connections: 1 })
  try {
    for (const tenant of ['large', 'small'] as const) await provide(pool, credentialsKeys, tenant)
  } finally {
    await pool.end()
  }
  const apiUrl = await startSimulator(cleanUps)
  const environment = {
    ...database.environment,
    ...settings,
    CREDENTIALS_KEYS: credentialsKeys,
    MESSAGING_API_URL: apiUrl,
  }
  const service = { file: 'services/notifier/main.ts', portSetting: 'NOTIFIER_PORT', environment }
  const startNotifier = (cleanUps: AsyncDisposableStack, profileFolder?: string): Promise<Service> =>
    startService({ ...service, profileFolder }, cleanUps)
  return { databaseUrl, credentialsKeys, apiUrl, superuser, startNotifier }
}

const settings = {
  SERVICE_TOKEN: randomBytes(32).toString('hex'),
  RECIPIENT_PAUSE_SECONDS: '0',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
}

const provide = async (pool: pg.Pool, credentialsKeys: string, tenant: Tenant): Promise<void> => {
  const phoneNumberId = numberOf[tenant]
  const keyring = readKeyring(credentialsKeys)
  await addTenant(pool, tenant, phoneNumberId, { rate: 1_000_000 })
  await inTenant(pool, tenant, async (tx: Tx) => {
    await storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'access_token' }, accessToken)
    await storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'app_secret' }, appSecret)
  })
}

/** Returns the URL of a simulator that accepts every message, and sends no webhooks. */
export const startSimulator = async (cleanUps: AsyncDisposableStack): Promise<string> => {
  const environment = {
    DEMO_ACCESS_TOKEN: accessToken,
    SIMULATOR_THROUGHPUT_PER_SECOND: '0',
    WEBHOOK_URL: 'none',
  }
  const file = 'simulator/main.ts'
  const { url } = await startService({ file, portSetting: 'SIMULATOR_PORT', environment }, cleanUps)
  await control(url, `/numbers/${numberOf.small}`, {}, 'PUT')
  return url
}

export const setAnswerLatency = (apiUrl: string, milliseconds: number): Promise<void> =>
  control(apiUrl, '/behaviour', { answer_latency_ms: milliseconds }, 'PUT')
