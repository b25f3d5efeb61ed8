import { randomBytes } from 'node:crypto'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import { type Environment, spawnReady } from '../../../dev/service-process.ts'
import { cloneDatabase, type Teardown } from '../../../dev/test-database.ts'
import { createSimulator } from '../../../simulator/app.ts'
import { storeSecret } from '../core/channels/secrets.ts'
import { readKeyring } from '../core/channels/vault.ts'
import type { Tx } from '../core/database/tables.ts'
import { acceptMessages } from '../core/messages/accept.ts'
import type { MessageRequest } from '../core/messages/schema.ts'
import type { MessageTemplate } from '../core/messaging-api/message-template.ts'
import type { ClaimedMessage } from '../core/sending/message.ts'
import { buildQueue, type QueueSettings } from './queue.ts'

export const phoneNumberId = '106540352242922'

type TemplateRequest = MessageRequest & { template: MessageTemplate }

/** Builds a message to that recipient with the parameters of order_created. */
export const messageTo = (to: string, more: Partial<TemplateRequest> = {}): TemplateRequest => ({
  to,
  template: {
    name: 'order_created',
    language: { code: 'en_US' },
    components: [
      { type: 'header', parameters: [{ type: 'text', text: 'DM00000001' }] },
      { type: 'body', parameters: ['Nimali', 'Lanka Shoes', '4500'].map(text => ({ type: 'text' as const, text })) },
    ],
  },
  ...more,
})

/** Builds a message of the demo tenant that the queue has claimed. */
export const claimedMessage = (more: Partial<ClaimedMessage> = {}): ClaimedMessage => ({
  tenant: 'demo',
  id: 'msg_1',
  phoneNumberId: '1',
  recipient: '94770000101',
  template: messageTo('').template,
  attempts: 0,
  fence: '1',
  plan: 'paid',
  holdsUntilOpen: false,
  conversation: undefined,
  isTemplateHeld: false,
  claimedAt: new Date(),
  isExempt: false,
  isMarketing: false,
  hours: null,
  supersededBy: null,
  joins: null,
  traceparent: null,
  ...more,
})

export interface FixtureOptions extends QueueSettings {
  rate?: number
  /** Limits the messages per second that the API accepts; 0 means no limit. */
  apiRate?: number
  plan?: 'free' | 'paid'
  isRunning?: boolean
  wabaId?: string
  resendsUnknown?: boolean
}

/** Creates a database and a pool for it, and chooses the keys of its secrets. */
export const createDatabase = async (end: Teardown) => {
  const { url, ownerUrl } = await cloneDatabase(end, 'notifier')
  const pool = createPool({ url, name: 'test', connections: 10 })
  end.teardown(() => pool.end())
  return { url, ownerUrl, pool, keys: `test:${randomBytes(32).toString('base64')}` }
}

/** Creates a database with the tenant demo and its number, a simulator that knows the number, and a queue between. */
export const createFixture = async (t: Teardown, options: FixtureOptions = {}) => {
  const database = await createDatabase(t)
  const rows = async (text: string, values: unknown[] = []) =>
    inAllTenants(database.pool, async (tx: Tx) => (await tx.client.query(text, values)).rows)
  return { ...(await addFixture(t, { ...database, tenant: 'demo', phoneNumberId }, options)), rows }
}

interface Place extends Awaited<ReturnType<typeof createDatabase>> {
  readonly tenant: string
  readonly phoneNumberId: string
}

/** Adds a tenant and its number to a database, a simulator that knows the number, and a queue between. */
export const addFixture = async (t: Teardown, place: Place, options: FixtureOptions) => {
  const { pool, tenant, phoneNumberId } = place
  const keyring = readKeyring(place.keys)
  const { app: simulator, control } = await createSimulator({
    behaviour: { delay_factor: 0, webhook_url: null, throughput_per_second: options.apiRate ?? 0 },
  })
  control.putNumber(phoneNumberId, { app_secret: 'demo-app-secret' })
  const baseUrl = await simulator.listen({ host: '127.0.0.1', port: 0 })
  const { api, send, tokens, createQueue } = buildQueue(pool, keyring, baseUrl, options)
  await api.register({ accessToken: 'demo-access-token' }, phoneNumberId, {
    pin: '123456',
    certificate: 'demo-certificate',
  })
  await addTenant(pool, tenant, phoneNumberId, options)
  await inTenant(pool, tenant, (tx: Tx) =>
    storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'access_token' }, 'demo-access-token'),
  )
  const queue = createQueue()
  if (options.isRunning !== false) queue.start()
  t.teardown(async () => {
    await queue.stop()
    await api.close()
    await simulator.close()
  })
  const accept = async (...requests: MessageRequest[]) => {
    const result = await acceptMessages(pool, tenant, {
      messages: requests,
      errors: new ErrorList(),
      toPath: index => `messages.${index}.`,
    })
    if (options.isRunning !== false) queue.wake()
    if (result.kind !== 'accepted') throw new Error(JSON.stringify(result))
    return result.messages.map(({ id }) => id)
  }
  return { ...place, baseUrl, queue, send, createQueue, control, simulator, api, keyring, tokens, accept }
}

type Fixture = Pick<Awaited<ReturnType<typeof createFixture>>, 'url' | 'baseUrl' | 'keys'>

/** Runs a worker on the fixture's database and simulator until the test ends; resolves when the worker is ready. */
export const spawnWorker = (t: Teardown, { url, baseUrl, keys }: Fixture, more: Environment = {}) =>
  spawnReady(t, 'services/notifier/test/worker.ts', { DATABASE_URL: url, API_URL: baseUrl, KEYS: keys, ...more })

export const addTenant = (pool: pg.Pool, tenant: string, number: string, options: FixtureOptions) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const { resendsUnknown = false, plan = 'paid', wabaId = null, rate = 10_000 } = options
    await sql`insert into tenants (tenant_id, country, stop_words, start_words, resends_unknown)
      values (${tenant}, 'LK', '{STOP}', '{START}', ${resendsUnknown})`.execute(tx)
    await sql`insert into channels (tenant_id, phone_number_id, name, plan, is_default, waba_id, verify_token_hash,
        proven_at, rate)
      values (${tenant}, ${number}, 'Demo Couriers', ${plan}, true, ${wabaId}, ${Buffer.alloc(32)}, now(),
        ${rate})`.execute(tx)
  })

/** Waits until `isSo` resolves to a truthy value, for at most `seconds`. Asks less often the longer it waits. */
export const until = async (what: string, isSo: () => Promise<unknown>, seconds = 20): Promise<void> => {
  const end = performance.now() + seconds * 1000
  for (let milliseconds = 10; !(await isSo()); milliseconds = Math.min(milliseconds * 1.2, 60)) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await new Promise(resolve => setTimeout(resolve, milliseconds))
  }
}
