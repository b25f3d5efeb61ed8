import { randomBytes } from 'node:crypto'
import { createPool, inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { storeSecret } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import { migrateNotifier } from '../services/notifier/database/migrate.ts'
import type { Tx } from '../services/notifier/database/tables.ts'
import { connectSuperuser, startDatabase } from './database.ts'
import { accessToken, appSecret, numberOf, type Tenant } from './notifier-messages.ts'
import { type Service, startService } from './service.ts'

/** What the queue works on: a database of the notifier with two tenants, and a simulator without limits. */
export interface NotifierGround {
  /** As the role of the service. */
  databaseUrl: string
  credentialsKeys: string
  apiUrl: string
  superuser: pg.Client
  /** The service itself: its queue takes what is queued. */
  startNotifier: (cleanUps: AsyncDisposableStack, profileFolder?: string) => Promise<Service>
}

/** All of it is stopped and removed by `cleanUps`. Takes some seconds. */
export const startNotifierGround = async (cleanUps: AsyncDisposableStack): Promise<NotifierGround> => {
  const addressAs = await startDatabase('notifier', cleanUps)
  const databaseUrl = addressAs('notifier')
  const databases = { NOTIFIER_DATABASE_URL: databaseUrl, NOTIFIER_MIGRATE_DATABASE_URL: addressAs('notifier_owner') }
  await migrateNotifier(databases)
  const credentialsKeys = `bench:${randomBytes(32).toString('base64')}`
  const pool = createPool({ url: databaseUrl, name: 'bench', connections: 1 })
  try {
    for (const tenant of ['large', 'small'] as const) await addTenant(pool, credentialsKeys, tenant)
  } finally {
    await pool.end()
  }
  const superuser = await connectSuperuser(addressAs, cleanUps)
  const apiUrl = await startSimulator(cleanUps)
  const environment = { ...databases, ...settings, CREDENTIALS_KEYS: credentialsKeys, MESSAGING_API_URL: apiUrl }
  const service = { name: 'notifier', file: 'services/notifier/main.ts', portSetting: 'NOTIFIER_PORT', environment }
  const startNotifier = (cleanUps: AsyncDisposableStack, profileFolder?: string): Promise<Service> =>
    startService({ ...service, profileFolder }, cleanUps)
  return { databaseUrl, credentialsKeys, apiUrl, superuser, startNotifier }
}

const settings = {
  SERVICE_TOKEN: randomBytes(32).toString('hex'),
  RECIPIENT_PAUSE_SECONDS: '0',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
}

const addTenant = (pool: pg.Pool, credentialsKeys: string, tenant: Tenant): Promise<unknown> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    await tx
      .insertInto('tenants')
      .values({ tenant_id: tenant, country: 'LK', stop_words: [], start_words: [], resends_unknown: false })
      .execute()
    const phoneNumberId = numberOf[tenant]
    await tx
      .insertInto('channels')
      .values({
        tenant_id: tenant,
        phone_number_id: phoneNumberId,
        name: tenant,
        plan: 'paid',
        is_default: true,
        verify_token_hash: Buffer.alloc(32),
        rate: 1_000_000,
      })
      .execute()
    const keyring = readKeyring(credentialsKeys)
    await storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'access_token' }, accessToken)
    await storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'app_secret' }, appSecret)
  })

const startSimulator = async (cleanUps: AsyncDisposableStack): Promise<string> => {
  const environment = {
    DEMO_ACCESS_TOKEN: accessToken,
    SIMULATOR_THROUGHPUT_PER_SECOND: '0',
    SIMULATOR_MAGIC_RECIPIENTS: 'false',
    WEBHOOK_URL: 'none',
  }
  const file = 'simulator/main.ts'
  const { url } = await startService({ name: 'simulator', file, portSetting: 'SIMULATOR_PORT', environment }, cleanUps)
  await putControl(url, `numbers/${numberOf.small}`, {})
  return url
}

export const setAnswerLatency = ({ apiUrl }: NotifierGround, milliseconds: number): Promise<void> =>
  putControl(apiUrl, 'behaviour', { answer_latency_ms: milliseconds })

const putControl = async (url: string, path: string, body: object): Promise<void> => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/control/${path}`, { method: 'PUT', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the simulator answered ${answer.status}: ${text.slice(0, 500)}`)
}
