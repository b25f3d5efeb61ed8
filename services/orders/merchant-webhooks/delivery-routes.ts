import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { VaultError } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { keptDays } from '../changes/expiry.ts'
import type { Tx } from '../database/tables.ts'
import { bodyOf } from './fan-out.ts'
import { listedDays } from './housekeeping.ts'
import { sendOnce } from './post.ts'
import { findTarget, listDeliveries, replay } from './queries.ts'
import {
  changing,
  common,
  failuresOfOne,
  found,
  idIn,
  keysNeeded,
  keysOf,
  params,
  unknownWebhook,
  type WebhookOptions,
} from './route-options.ts'
import { DeliveryQuery, exampleDelivery, examplePing, Ping, ReplayPeriod, WebhookDelivery } from './schema.ts'
import { openSecret } from './secrets.ts'

/** What is sent to a webhook, again, or to try it. */
export const webhookDeliveryRoutes: FastifyPluginAsyncTypebox<WebhookOptions> = async (app, options) => {
  const { pool, dispatcher, resolve, clock, onChanged } = options
  const pinging = new Set<string>()
  app.post(
    '/webhook/:id/ping',
    {
      ...refusesKeys,
      schema: {
        ...common,
        operationId: 'pingWebhook',
        summary: 'Send a message of the type ping now',
        description: 'Once, even while the webhook is disabled. The response has the result, within 10 seconds.',
        params,
        response: {
          200: Type.Object({ data: Ping }, { examples: [{ data: examplePing }] }),
          ...failuresOfOne,
        },
      },
    },
    async request => {
      const [id, { tenant }] = [idIn(request), request.merchant]
      const { url, secrets } = found(await inTenant(pool, tenant, (tx: Tx) => findTarget(tx, request.merchant, id)))
      if (pinging.has(id))
        throw httpError('rate_limited', 'Another ping of this webhook is running.', { retryAfterSeconds: 1 })
      pinging.add(id)
      try {
        const body = bodyOf('ping', (await clock()).toISOString(), { webhook_id: id })
        const opened = secrets.map(sealed => openSecret(keysOf(options), tenant, id, sealed))
        const message = { url, secrets: opened, messageId: `ping.${randomUUID()}`, body }
        const { signal } = new AbortController()
        const sending = { dispatcher, allowsPrivate: resolve === undefined, clock, signal }
        const { code, milliseconds, error, responseBody } = await sendOnce(sending, message)
        return { data: { code, ms: milliseconds, error, response_body: responseBody } }
      } catch (error) {
        throw error instanceof VaultError ? keysNeeded() : error
      } finally {
        pinging.delete(id)
      }
    },
  )

  app.post(
    '/webhook/:id/replay',
    {
      ...refusesKeys,
      schema: {
        ...common,
        operationId: 'replayWebhook',
        summary: 'Send the events of a period again',
        description: `Those of the last ${keptDays} days, oldest first, each with its original webhook-id, before any new events. One replay at a time.`,
        params,
        body: ReplayPeriod,
        response: {
          202: Type.Object(
            { message: Type.String(), data: Type.Object({ changes: Type.Integer({ description: replayedChanges }) }) },
            { examples: [{ message: replayed, data: { changes: 41 } }] },
          ),
          ...failuresOfOne,
        },
      },
    },
    async (request, reply) => {
      const [id, period] = [idIn(request), readPeriod(request.body, await clock())]
      const result = await changing(
        pool,
        request,
        'webhook.replayed',
        id,
      )(async tx => {
        const changes = await replay(tx, request.merchant, id, period)
        if (changes === 'unknown') throw unknownWebhook()
        if (changes === 'running') throw httpError('rate_limited', running, { retryAfterSeconds: 10 })
        return changes
      })
      onChanged(request.merchant.tenant)
      reply.code(202)
      return { message: replayed, data: { changes: found(result) } }
    },
  )

  app.get(
    '/webhook/:id/deliveries',
    {
      schema: {
        ...common,
        operationId: 'listWebhookDeliveries',
        summary: 'Deliveries to a webhook and their results',
        description: `Newest events first: those of the last ${listedDays} days, and all pending ones.`,
        params,
        querystring: DeliveryQuery,
        response: {
          200: Type.Object(
            { data: Type.Array(WebhookDelivery), next_cursor: Type.Union([Type.String(), Type.Null()]) },
            { title: 'WebhookDeliveries', examples: [{ data: [exampleDelivery], next_cursor: null }] },
          ),
          ...failuresOfOne,
        },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async request => {
      const [id, { state, cursor: before, limit: most = 50 }] = [idIn(request), request.query]
      const limit = Number(most)
      const filter = { state: state as 'pending' | undefined, before, limit: limit + 1 }
      const { tenant } = request.merchant
      const rows = found(await inTenant(pool, tenant, (tx: Tx) => listDeliveries(tx, request.merchant, id, filter)))
      const data = rows.slice(0, limit).map(({ position: _, ...delivery }) => delivery)
      return { data, next_cursor: rows.length > limit ? (rows[limit - 1]?.position ?? null) : null }
    },
  )
}

const replayed = 'Webhook Replay Started Successfully'
const running = 'The last replay of this webhook is still running.'
const replayedChanges = 'The changes of the period; the webhook gets those of its types.'

const readPeriod = ({ from, to }: { from: string; to?: string }, now: Date) => {
  const errors = Object.entries({ from, to }).flatMap(([name, text]) =>
    text !== undefined && Number.isNaN(Date.parse(text))
      ? [[name, [`The ${name} field is not a time.`]] as [string, string[]]]
      : [],
  )
  if (errors.length > 0) throw invalid(Object.fromEntries(errors))
  const period = { from: new Date(from).toISOString(), to: (to ? new Date(to) : now).toISOString() }
  if (period.from > period.to) throw invalid({ to: ['The to field must not be before from.'] })
  return period
}
