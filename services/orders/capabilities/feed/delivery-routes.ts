import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { PageOf } from '@courier/shared/lists/cursor.ts'
import { readDateOrTime } from '@courier/shared/lists/dates.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { VaultError } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Tx } from '../../core/database/tables.ts'
import { keptDays } from '../../core/log/retention.ts'
import { findTarget, listDeliveries, replay } from './endpoint-queries.ts'
import { writeBody } from './fan-out.ts'
import { listedDays } from './housekeeping.ts'
import { sendOnce } from './post.ts'
import * as route from './route-options.ts'
import { openSecret } from './secrets.ts'
import { cursors, DeliveryQuery, Ping, ReplayPeriod, WebhookDelivery } from './webhook-schema.ts'

/** Pings a webhook, sends it past events again, and lists its deliveries. */
export const webhookDeliveryRoutes: FastifyPluginAsyncTypebox<route.WebhookOptions> = async (app, options) => {
  const { pool } = options
  const pinging = new Set<string>()
  const pingWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'pingWebhook',
    summary: 'Send a message of the type ping now',
    description: 'Sends it once, even while the webhook is disabled. The response has the result, within 10 seconds.',
    response: { 200: Type.Object({ data: Ping }) },
  }
  app.post('/webhook/:id/ping', { ...refusesKeys, schema: pingWebhookSchema }, async request => {
    const ref = route.readEndpoint(request)
    const { tenant, id } = ref
    const target = await inTenant(pool, tenant, (tx: Tx) => findTarget(tx, ref))
    const { url, secrets } = route.expectFound(target)
    if (pinging.has(id))
      throw httpError('rate_limited', 'Another ping of this webhook is running.', { retryAfterSeconds: 1 })
    pinging.add(id)
    try {
      const body = writeBody('ping', (await options.clock()).toISOString(), { webhook_id: id })
      const opened = secrets.map(sealed => openSecret(route.expectKeys(options), tenant, id, sealed))
      const message = { url, secrets: opened, messageId: `ping.${randomUUID()}`, body }
      const { code, milliseconds, error, responseBody } = await sendOnce(options, message)
      return { data: { code, ms: milliseconds, error, response_body: responseBody } }
    } catch (error) {
      throw error instanceof VaultError ? route.keysNeeded() : error
    } finally {
      pinging.delete(id)
    }
  })

  const replayWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'replayWebhook',
    summary: 'Send the events of a period again',
    description:
      `Sends events of the last ${keptDays} days, oldest first, each with its original webhook-id, before any new ` +
      'events. Runs one replay at a time.',
    body: ReplayPeriod,
    response: {
      202: Type.Object({
        message: Type.String({ examples: [replayed] }),
        data: Type.Object({ changes: Type.Integer({ description: replayedChanges }) }),
      }),
    },
  }
  app.post('/webhook/:id/replay', { ...refusesKeys, schema: replayWebhookSchema }, async (request, reply) => {
    const period = readPeriod(request.body, await options.clock())
    const changes = await route.actOn(options, request, 'webhook.replayed', async (tx, ref) => {
      const changes = await replay(tx, ref, period)
      if (typeof changes === 'string') throw httpError('rate_limited', unfinished[changes], { retryAfterSeconds: 10 })
      return changes
    })
    reply.code(202)
    return { message: replayed, data: { changes } }
  })

  const listWebhookDeliveriesSchema = {
    params: route.ByWebhook,
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries to a webhook and their results',
    description: `Lists the events of the last ${listedDays} days and all pending events, newest first.`,
    querystring: DeliveryQuery.schema,
    response: { 200: PageOf(WebhookDelivery, 'WebhookDeliveries') },
  }
  app.get(
    '/webhook/:id/deliveries',
    { serializerCompiler: () => JSON.stringify, schema: listWebhookDeliveriesSchema },
    async request => {
      const ref = route.readEndpoint(request)
      const { state } = DeliveryQuery.read(request.query)
      const { after, limit } = cursors.read(request.query)
      const filter = { state, before: after[0], limit: limit + 1 }
      const found = await inTenant(pool, ref.tenant, (tx: Tx) => listDeliveries(tx, ref, filter))
      const { data, next_cursor } = cursors.toPage(route.expectFound(found), limit, ({ position }) => [position])
      return { data: data.map(({ position: _, ...delivery }) => delivery), next_cursor }
    },
  )
}

const replayed = 'Webhook Replay Started Successfully'
const unfinished = {
  running: 'The last replay of this webhook is still running.',
  disabled: 'This webhook is disabled: its last replay begins once it is enabled.',
}
const replayedChanges = 'The number of changes in the period; the webhook gets the changes of its types.'

/** Reads a time in microseconds, the precision of events. */
const readTime = (text: string): string | undefined => {
  const at = readDateOrTime(text)
  return at && 'time' in at ? at.time : undefined
}

const readPeriod = (given: { from: string; to?: string }, now: Date) => {
  const times = { from: readTime(given.from), to: readTime(given.to ?? now.toISOString()) }
  const wrong = Object.entries(times).filter(([, time]) => time === undefined)
  if (wrong.length > 0)
    throw invalid(Object.fromEntries(wrong.map(([name]) => [name, [`The ${name} field is not a time.`]])))
  const period = times as Record<keyof typeof times, string>
  if (period.from > period.to) throw invalid({ to: ['The to field must not be before from.'] })
  return period
}
