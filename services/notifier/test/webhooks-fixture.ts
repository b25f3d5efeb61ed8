import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { AddressLimits } from '@courier/shared/edge/addresses.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { createServer } from '@courier/shared/edge/server.ts'
import { createPool, withErrorListeners } from '@courier/shared/postgres/database.ts'
import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import { cloneDatabase } from '../../../dev/test-database.ts'
import { conversationRoutes } from '../core/conversations/routes.ts'
import { type WebhooksOptions, webhookRoutes } from '../core/platform-webhooks/routes.ts'
import { templateRoutes } from '../core/templates/routes.ts'
import type { SyncResult } from '../core/templates/sync.ts'
import { loaded } from './queue.ts'

/** The tenant demo has two numbers of one account, and rival has one number of another. */
const numbers = [
  { tenant: 'demo', phoneNumberId: '100', wabaId: 'waba-demo', plan: 'free', isDefault: true },
  { tenant: 'demo', phoneNumberId: '101', wabaId: 'waba-demo', plan: 'paid', isDefault: false },
  { tenant: 'rival', phoneNumberId: '200', wabaId: 'waba-rival', plan: 'paid', isDefault: false },
]

/** Lists the app secrets by number; the secret of 100 is being rotated. */
const appSecrets: Record<string, string[]> = { '100': ['old', 'new'], '101': ['old'], '200': ['rivals'] }

const newMessage = {
  tenant: 'demo',
  id: '',
  phoneNumberId: '100',
  recipient: '94770000101',
  status: 'accepted',
  providerMessageId: null as string | null,
  sendAt: null as Date | null,
}

interface FixtureOptions extends Partial<Omit<WebhooksOptions, 'pool'>> {
  logger?: Logger
  addressLimits?: AddressLimits
  syncChannel?: (tenant: string, phoneNumberId: string | undefined) => Promise<SyncResult>
}

/**
 * Serves the routes of conversations, templates and webhooks from a database of their own with two tenants. X-tenant
 * names the tenant of staff.
 */
export const createFixture = async (
  t: Test,
  { logger = pino({ level: 'silent' }), addressLimits, ...options }: FixtureOptions = {},
) => {
  const database = await cloneDatabase(t, 'notifier')
  const pool = createPool({ url: database.url, name: 'test', connections: 10 })
  const superuser = withErrorListeners(new pg.Pool({ connectionString: database.superuserUrl, max: 2 }), () => {})
  superuser.on('error', () => {})
  const api = { title: 'test', version: '0', description: '', tags: [] }
  const isReady = async () => {}
  const app = await createServer({ api, logger, registry: new Registry(), addressLimits, isReady })
  await app.register(async staff => {
    acceptJson(staff)
    staff.addHook('onRequest', async request => {
      const actor = { kind: 'staff' as const, name: 'Ruwan' }
      request.staff = { tenant: String(request.headers['x-tenant']), name: '', roles: ['admin'], tokenId: '', actor }
    })
    await staff.register(conversationRoutes, { pool })
    await staff.register(templateRoutes, {
      pool,
      syncChannel: async () => ({ kind: 'refused', reason: '' }),
      ...options,
    })
  })
  let released = 0
  const onReleased = () => released++
  await app.register(webhookRoutes, {
    pool,
    logger,
    listAppSecrets: async (_tx, channels) => channels.map(({ phoneNumberId }) => appSecrets[phoneNumberId] ?? []),
    onReleased,
    points: [...loaded.values()].flatMap(({ webhooks }) => webhooks ?? []),
    ...options,
  })
  t.teardown(async () => {
    await app.close()
    await pool.end()
    await superuser.end()
  })

  const rows = async (text: string, values: unknown[] = []) => (await superuser.query(text, values)).rows
  await seed(rows)

  const addMessages = async (messages: Partial<typeof newMessage>[]): Promise<void> => {
    await rows(
      `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, provider_message_id,
         send_at, due_at, expires_at)
       select tenant, id, "phoneNumberId", recipient,
         '{"name": "hello", "language": {"code": "en_US"}, "components": []}', status,
         "providerMessageId", "sendAt", now(), now() + interval '1 day'
       from jsonb_to_recordset($1::jsonb) as m (tenant text, id text, "phoneNumberId" text, recipient text, status text,
         "providerMessageId" text, "sendAt" timestamptz)`,
      [JSON.stringify(messages.map(message => ({ ...newMessage, id: randomBytes(8).toString('hex'), ...message })))],
    )
  }
  const messageOf = async (id: string) => (await rows('select * from messages where message_id = $1', [id]))[0]
  const timelineOf = async (id: string): Promise<string[]> =>
    (await rows('select status from message_events where message_id = $1 order by event_id', [id])).map(
      row => row.status,
    )

  const call = (body: unknown, secret = 'old', headers?: Record<string, string>) =>
    postWebhook(app, body, secret, headers)
  const get = (url: string, tenant = 'demo') => app.inject({ url, headers: { 'x-tenant': tenant } })

  return { app, pool, rows, addMessages, messageOf, timelineOf, call, get, releases: () => released }
}

const seed = async (rows: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> => {
  await rows(`insert into tenants (tenant_id, country, stop_words, start_words, resends_unknown)
    values ('demo', 'LK', '{STOP,නවත්වන්න}', '{START}', false), ('rival', 'US', '{STOP}', '{START}', false)`)
  for (const { tenant, phoneNumberId, wabaId, plan, isDefault } of numbers)
    await rows(
      `insert into channels (tenant_id, phone_number_id, name, plan, is_default, waba_id, verify_token_hash, proven_at,
        rate)
       values ($1, $2, 'Number', $3, $4, $5, $6, now(), 80)`,
      [tenant, phoneNumberId, plan, isDefault, wabaId, createHash('sha256').update(`verify-${phoneNumberId}`).digest()],
    )
}

export const sign = (payload: string | Buffer, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(payload).digest('hex')}`

/** Posts a webhook as the platform does, signed with the secret. */
export const postWebhook = (
  app: Pick<FastifyInstance, 'inject'>,
  body: unknown,
  secret = 'demo-app-secret',
  headers: Record<string, string> = {},
) => {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const signed = { 'x-hub-signature-256': sign(payload, secret), 'content-type': 'application/json', ...headers }
  return app.inject({ method: 'POST', url: '/webhooks/messaging', headers: signed, payload })
}

export const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

/** Marks the start of the tests, from which `minutesAgo` counts back. */
const started = Date.now()

/** Returns a time before this test file began, in the API's format: the same on every use. */
export const minutesAgo = (minutes: number): string => String(seconds(new Date(started - minutes * 60_000)))

/** Builds the body of a webhook with one change of the field `messages`. */
export const envelope = (value: Record<string, unknown>, phoneNumberId = '100') => ({
  object: 'whatsapp_business_account',
  entry: [change({ messaging_product: 'whatsapp', metadata: { phone_number_id: phoneNumberId }, ...value })],
})

export const change = (value: unknown, field = 'messages', wabaId = 'waba-demo', at = seconds(new Date())) => ({
  id: wabaId,
  time: at,
  changes: [{ field, value }],
})

export const status = (fields: Record<string, unknown>) => ({
  id: 'wamid.1',
  status: 'sent',
  timestamp: String(seconds(new Date())),
  recipient_id: '94770000101',
  ...fields,
})

export const inbound = (fields: Record<string, unknown> = {}) => ({
  from: '94770000101',
  id: `wamid.${randomBytes(6).toString('hex')}`,
  timestamp: String(seconds(new Date())),
  type: 'text',
  text: { body: 'Where is my parcel?' },
  ...fields,
})
