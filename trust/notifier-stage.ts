import { randomBytes } from 'node:crypto'
import { createPool, inTenant } from '@courier/shared/database.ts'
import { freePort } from '../dev/ports.ts'
import { cloneDatabase, superuserAddress, type Teardown, type TestDatabase } from '../dev/test-database.ts'
import { createTokenFor } from '../services/notifier/access/token-commands.ts'
import { storeSecret } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import type { Tx } from '../services/notifier/database/tables.ts'
import { addTenant, messageTo, phoneNumberId } from '../services/notifier/test/stage.ts'
import { createSimulator, type Simulator } from '../simulator/app.ts'
import type { Behaviour } from '../simulator/behaviour.ts'
import { ServiceProcess } from '../test/stack.ts'
import { query, unlimited } from './orders-stage.ts'

export interface NotifierStage {
  notifier: ServiceProcess
  control: Simulator['control']
  database: TestDatabase
  staff: { authorization: string; 'x-tenant': string; 'content-type': string }
  rows: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  /** A tenant with a number that the simulator knows. */
  addNumber: (tenant: string, number: string, rate: number) => Promise<void>
}

export interface NotifierStageOptions {
  /** Where the service finds Postgres, and the API; else where they are. */
  databasePort?: number
  apiPort?: number
  /** Told where the simulator listens before the service starts. */
  onSimulator?: (port: number) => void
  behaviour?: Partial<Behaviour>
  /** Messages per second of demo's number. */
  rate?: number
  environment?: Record<string, string>
  /** Whether the simulator tells statuses. */
  withWebhooks?: boolean
}

const secrets = { access_token: 'demo-access-token', app_secret: 'demo-app-secret' } as const

/** The notifier as a process that can be killed and started again, with the tenant demo and a simulator in this process. */
export const stageNotifier = async (t: Teardown, options: NotifierStageOptions = {}): Promise<NotifierStage> => {
  const database = await cloneDatabase(t, 'notifier')
  const port = await freePort()
  const webhook_url = options.withWebhooks ? `http://127.0.0.1:${port}/webhooks/messaging` : null
  const behaviour = { delay_factor: 0, throughput_per_second: 0, webhook_url, ...options.behaviour }
  const { app, control } = await createSimulator({ behaviour: { magic_recipients: false, ...behaviour } })
  const simulator = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.teardown(() => app.close())
  options.onSimulator?.(Number(simulator.port))

  const url = new URL(database.url)
  if (options.databasePort) url.port = String(options.databasePort)
  const keys = `trust:${randomBytes(32).toString('base64')}`
  const notifier = new ServiceProcess('services/notifier', port, {
    NOTIFIER_PORT: String(port),
    NOTIFIER_DATABASE_URL: url.href,
    NOTIFIER_MIGRATE_DATABASE_URL: database.ownerUrl,
    CREDENTIALS_KEYS: keys,
    MESSAGING_API_URL: `http://127.0.0.1:${options.apiPort ?? simulator.port}`,
    SERVICE_TOKEN: 'a-service-token-of-trust',
    RECIPIENT_PAUSE_SECONDS: '0',
    LOG_LEVEL: 'error',
    ...unlimited,
    ...options.environment,
  })
  t.teardown(() => notifier.stop())

  const pool = createPool({ url: database.url, name: 'trust', connections: 1 })
  t.teardown(() => pool.end())
  const keyring = readKeyring(keys)
  const addNumber = async (tenant: string, number: string, rate: number): Promise<void> => {
    control.putNumber(number)
    await addTenant(pool, tenant, number, { rate })
    for (const kind of ['access_token', 'app_secret'] as const)
      await inTenant(pool, tenant, (tx: Tx) =>
        storeSecret(tx, keyring, { tenant, phoneNumberId: number, kind }, secrets[kind]),
      )
  }
  await addNumber('demo', phoneNumberId, options.rate ?? 10_000)
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  notifier.start()
  await notifier.ready()
  const staff = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const rows = (text: string, values: unknown[] = []) => query(superuserAddress(database), text, values)
  return { notifier, control, database, staff, rows, addNumber }
}

/** Hands over so many messages, each to somebody else, a thousand with each call. Returns their ids. */
export const handOver = async ({ notifier, staff }: NotifierStage, count: number, first = 0): Promise<string[]> => {
  const ids: string[] = []
  while (ids.length < count) {
    const size = Math.min(1000, count - ids.length)
    const messages = Array.from({ length: size }, (_, n) => messageTo(`+9477${1_000_000 + first + ids.length + n}`))
    const init = { method: 'POST', headers: staff, body: JSON.stringify({ messages }) }
    const answer = await fetch(`${notifier.url}/api/messages/bulk`, init)
    const body = (await answer.json()) as { data: { id: string }[] }
    if (answer.status !== 202) throw new Error(`messages were not taken: ${answer.status} ${JSON.stringify(body)}`)
    ids.push(...body.data.map(({ id }) => id))
  }
  return ids
}

/** How often the simulator accepted each message, by our id of it. */
export const acceptances = (control: Simulator['control']): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { biz_opaque_callback_data: id } of control.messages({ limit: 50_000 }))
    counts.set(`${id}`, (counts.get(`${id}`) ?? 0) + 1)
  return counts
}

/** How many messages have which status. */
export const countByStatus = async ({ rows }: NotifierStage, tenant = 'demo'): Promise<Record<string, number>> => {
  const counted = await rows('select status, count(*)::int as count from messages where tenant_id = $1 group by 1', [
    tenant,
  ])
  return Object.fromEntries(counted.map(({ status, count }) => [String(status), Number(count)]))
}
