import { randomBytes } from 'node:crypto'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import { pino } from 'pino'
import { type Environment, spawnReady } from '../../../dev/service-process.ts'
import { chosenCapabilities, cloneDatabase, type Teardown } from '../../../dev/test-database.ts'
import { createSimulator } from '../../../simulator/app.ts'
import { capabilities } from '../capabilities.ts'
import { createTokenKeeper, storeSecret } from '../core/channels/secrets.ts'
import { readKeyring } from '../core/channels/vault.ts'
import type { Tx } from '../core/database/tables.ts'
import { acceptMessages } from '../core/messages/accept.ts'
import type { MessageRequest } from '../core/messages/schema.ts'
import { createMessagingApi } from '../core/messaging-api/client.ts'
import type { MessageTemplate } from '../core/messaging-api/message-template.ts'
import { createEffects } from '../core/sending/effects.ts'
import type { ClaimedMessage } from '../core/sending/message.ts'
import { Queue, type QueueOptions } from '../core/sending/queue.ts'
import { createSender } from '../core/sending/sender.ts'

/** Holds the capabilities that the running test loads. */
export const loaded = await loadCapabilities(capabilities, chosenCapabilities)
const admissions = [...loaded.values()].flatMap(({ admission }) => admission ?? [])
const contents = [...loaded.values()].flatMap(({ content }) => content ?? [])

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

export interface FixtureOptions {
  recipientPauseSeconds?: number
  rate?: number
  /** Limits the messages per second that the API accepts; 0 means no limit. */
  apiRate?: number
  plan?: 'free' | 'paid'
  isRunning?: boolean
  window?: number
  sendSeconds?: number
  wabaId?: string
  resendsUnknown?: boolean
}

/** Creates a database with the tenant demo and its number, a simulator that knows the number, and a queue between. */
export const createFixture = async (t: Teardown, options: FixtureOptions = {}) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'notifier')
  const pool = createPool({ url, name: 'test', connections: 10 })
  const keys = `test:${randomBytes(32).toString('base64')}`
  const keyring = readKeyring(keys)
  const { app: simulator, control } = await createSimulator({
    behaviour: { delay_factor: 0, webhook_url: null, throughput_per_second: options.apiRate ?? 0 },
  })
  const baseUrl = await simulator.listen({ host: '127.0.0.1', port: 0 })
  const built = buildQueue(pool, keyring, baseUrl, options)
  const { api } = built
  await api.register({ accessToken: 'demo-access-token' }, phoneNumberId, {
    pin: '123456',
    certificate: 'demo-certificate',
  })
  await addTenant(pool, 'demo', phoneNumberId, options)
  await inTenant(pool, 'demo', (tx: Tx) =>
    storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId, kind: 'access_token' }, 'demo-access-token'),
  )
  const queue = built.createQueue()
  if (options.isRunning !== false) queue.start()
  t.teardown(async () => {
    await queue.stop()
    await api.close()
    await simulator.close()
    await pool.end()
  })
  const accept = async (...requests: MessageRequest[]) => {
    const result = await acceptMessages(pool, 'demo', {
      messages: requests,
      errors: new ErrorList(),
      toPath: index => `messages.${index}.`,
    })
    if (options.isRunning !== false) queue.wake()
    if (result.kind !== 'accepted') throw new Error(JSON.stringify(result))
    return result.messages.map(({ id }) => id)
  }
  const rows = async (text: string, values: unknown[] = []) =>
    inAllTenants(pool, async (tx: Tx) => (await tx.client.query(text, values)).rows)
  const { send, createQueue, tokens } = built
  const stack = { url, ownerUrl, baseUrl, keys, pool, queue, send, createQueue }
  return { ...stack, control, simulator, api, keyring, tokens, accept, rows }
}

/** Builds a queue over real HTTP, wired as in main.ts. */
export const buildQueue = (pool: pg.Pool, keyring: Keyring, baseUrl: string, options: FixtureOptions) => {
  const { window = 64, recipientPauseSeconds = 0, sendSeconds = 16 } = options
  const api = createMessagingApi({ baseUrl, version: 'v17.0', product: 'whatsapp' })
  const logger = pino({ level: 'silent' })
  const tokens = createTokenKeeper(pool, keyring)
  const send = createSender({ pool, contents, api, keyring, tokens, carryOut: createEffects(pool, logger), logger })
  const createQueue = (more: Partial<QueueOptions> = {}) =>
    new Queue({ pool, logger, send, window, recipientPauseSeconds, sendSeconds, admissions, ...more })
  return { api, tokens, send, createQueue }
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

/** Waits until `isSo` resolves to a truthy value, for at most `seconds`. */
export const until = async (what: string, isSo: () => Promise<unknown>, seconds = 20): Promise<void> => {
  const end = performance.now() + seconds * 1000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
