import { randomUUID } from 'node:crypto'
import { errorResponses, type HttpError, httpError, invalid } from '@courier/shared/http/errors.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/http/validator.ts'
import { type Action, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Dispatcher } from 'undici'
import { keptDays } from '../changes/queries.ts'
import type { Tx } from '../database/tables.ts'
import { leadsToPrivate, privateProblem, type Resolve, urlProblem } from './addresses.ts'
import { bodyOf } from './fan-out.ts'
import { post } from './post.ts'
import {
  addEndpoint,
  changeEndpoint,
  deleteEndpoint,
  findTarget,
  listDeliveries,
  listEndpoints,
  listedDays,
  replay,
  rotateSecret,
} from './queries.ts'
import {
  DeliveryQuery,
  exampleDelivery,
  examplePing,
  exampleSecret,
  exampleWebhook,
  maxEndpoints,
  NewWebhook,
  Ping,
  ReplayPeriod,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookWithSecret,
} from './schema.ts'
import { headersOf, newSecret, openSecret, sealSecret } from './secrets.ts'

export interface WebhookOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  readonly dispatcher: Dispatcher
  /** undefined: any address is allowed. */
  readonly resolve: Resolve | undefined
  /** Called when events may be due. */
  readonly onChanged: () => void
}

const common = { tags: ['webhooks'], security: [{ token: [] }] }
const failures = errorResponses(400, 401, 405, 413, 415, 422, 429, 503)
const failuresOfOne = { ...failures, ...errorResponses(404) }
const params = Type.Object({ id: Type.String({ description: 'The id of the webhook.' }) })
const isId = /^[0-9a-f-]{36}$/

const oneOf = (data: typeof Webhook | typeof WebhookWithSecret, message: string, example: object) =>
  Type.Object({ message: Type.String(), data }, { examples: [{ message, data: example }] })

const unknownWebhook = (): HttpError => httpError('not_found', 'The requested webhook does not exist.')

/** The id in the path; any other text is that of no webhook. */
const idIn = (request: { params: { id: string } }): string => {
  if (!isId.test(request.params.id)) throw unknownWebhook()
  return request.params.id
}

const found = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw unknownWebhook()
  return value
}

/** The URL as it is stored. */
const readUrl = async (text: string, resolve: Resolve | undefined): Promise<string> => {
  const problem = urlProblem(text, resolve === undefined)
  if (problem !== undefined) throw invalid({ url: [`The url ${problem}.`] })
  if (resolve && (await leadsToPrivate(text, resolve))) throw invalid({ url: [`The url ${privateProblem}.`] })
  return new URL(text).href
}

/** A merchant's endpoints for webhooks (docs/webhooks.md). */
export const webhooks: FastifyPluginAsyncTypebox<WebhookOptions> = async (app, options) => {
  const { pool, dispatcher, resolve, onChanged } = options
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', async () => void keysOf(options))

  /** Does it in a transaction with its entry in the audit. */
  const change = <Result>(
    request: FastifyRequest,
    verb: Extract<Action, `webhook.${string}`>,
    action: (tx: Tx) => Promise<{ id: string; result: Result } | undefined>,
  ): Promise<Result | undefined> => {
    const { tenant, merchantId, tokenId } = request.merchant
    const by = { kind: 'merchant', name: merchantId, tokenId, requestId: request.id } as const
    return inTenant(pool, tenant, async (tx: Tx) => {
      const done = await action(tx)
      if (done) await audit(tx, tenant, by, verb, done.id)
      return done?.result
    })
  }

  app.get(
    '/webhook',
    {
      schema: {
        ...common,
        operationId: 'listWebhooks',
        summary: 'Your webhooks',
        description: `Up to ${maxEndpoints}, the oldest first.`,
        response: {
          200: Type.Object({ data: Type.Array(Webhook) }, { examples: [{ data: [exampleWebhook] }] }),
          ...failures,
        },
      },
    },
    async ({ merchant }) => ({ data: await inTenant(pool, merchant.tenant, (tx: Tx) => listEndpoints(tx, merchant)) }),
  )

  app.post(
    '/webhook',
    {
      schema: {
        ...common,
        operationId: 'createWebhook',
        summary: 'Get events at an address of yours',
        description: `Signed as Standard Webhooks says, from now on. Up to ${maxEndpoints} webhooks; the secret is shown this once.`,
        body: NewWebhook,
        response: {
          201: oneOf(WebhookWithSecret, created, { ...exampleWebhook, secret: exampleSecret }),
          ...failures,
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.merchant
      const { events = [...Webhook.properties.events.items.anyOf.map(type => type.const)] } = request.body
      const [id, secret, url] = [randomUUID(), newSecret(), await readUrl(request.body.url, resolve)]
      const sealed = sealSecret(keysOf(options), tenant, id, secret)
      const result = await change(request, 'webhook.created', async tx => {
        const endpoint = await addEndpoint(tx, request.merchant, { id, url, events, secret: sealed }, maxEndpoints)
        return endpoint && { id, result: endpoint }
      })
      if (!result) throw invalid({ url: [`There are ${maxEndpoints} webhooks already: delete one.`] })
      reply.code(201)
      return { message: created, data: { ...result, secret } }
    },
  )

  app.patch(
    '/webhook/:id',
    {
      schema: {
        ...common,
        operationId: 'changeWebhook',
        summary: 'Change, disable or enable a webhook',
        description: `What waits is tried again at once. Events of the last ${keptDays} days that came while it was disabled follow, the oldest first.`,
        params,
        body: WebhookChange,
        response: { 200: oneOf(Webhook, changed, exampleWebhook), ...failuresOfOne },
      },
    },
    async request => {
      const [id, { url, ...others }] = [idIn(request), request.body]
      const wanted = { ...others, url: url === undefined ? undefined : await readUrl(url, resolve) }
      const result = await change(request, 'webhook.changed', async tx => {
        const endpoint = await changeEndpoint(tx, request.merchant, id, wanted)
        return endpoint && { id, result: endpoint }
      })
      onChanged()
      return { message: changed, data: found(result) }
    },
  )

  app.delete(
    '/webhook/:id',
    {
      schema: {
        ...common,
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook',
        description: 'With what waits for it.',
        params,
        response: {
          200: Type.Object({ message: Type.String() }, { examples: [{ message: deleted }] }),
          ...failuresOfOne,
        },
      },
    },
    async request => {
      const id = idIn(request)
      const result = await change(request, 'webhook.deleted', async tx =>
        (await deleteEndpoint(tx, request.merchant, id)) ? { id, result: true } : undefined,
      )
      found(result)
      return { message: deleted }
    },
  )

  app.post(
    '/webhook/:id/rotate',
    {
      schema: {
        ...common,
        operationId: 'rotateWebhookSecret',
        summary: 'A new secret for a webhook',
        description: 'It is shown this once. For 24 hours messages carry the signatures of both, the new one first.',
        params,
        response: {
          200: oneOf(WebhookWithSecret, rotated, { ...exampleWebhook, secret: exampleSecret }),
          ...failuresOfOne,
        },
      },
    },
    async request => {
      const [id, secret] = [idIn(request), newSecret()]
      const sealed = sealSecret(keysOf(options), request.merchant.tenant, id, secret)
      const result = await change(request, 'webhook.rotated', async tx => {
        const endpoint = await rotateSecret(tx, request.merchant, id, sealed)
        return endpoint && { id, result: endpoint }
      })
      return { message: rotated, data: { ...found(result), secret } }
    },
  )

  const pinging = new Set<string>()
  app.post(
    '/webhook/:id/ping',
    {
      schema: {
        ...common,
        operationId: 'pingWebhook',
        summary: 'Send a message of the type ping now',
        description: 'Once, also while the webhook is disabled. The response says what came of it within 10 seconds.',
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
      if (urlProblem(url, resolve === undefined)) throw invalid({ url: [`The url ${urlProblem(url, false)}.`] })
      if (pinging.has(id))
        throw httpError('rate_limited', 'A ping of this webhook is running.', { retryAfterSeconds: 1 })
      pinging.add(id)
      const at = new Date()
      const body = bodyOf('ping', at.toISOString(), { webhook_id: id })
      try {
        const opened = secrets.map(sealed => openSecret(keysOf(options), tenant, id, sealed))
        const message = { url, body, headers: headersOf(opened, `ping.${randomUUID()}`, body, at) }
        const { code, milliseconds, error, responseBody } = await post(
          dispatcher,
          message,
          new AbortController().signal,
        )
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
      schema: {
        ...common,
        operationId: 'replayWebhook',
        summary: 'Send the events of a period again',
        description: `Of the last ${keptDays} days, oldest first, each with its webhook-id, and before what is new. One replay at a time.`,
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
      const [id, period] = [idIn(request), readPeriod(request.body)]
      const result = await change(request, 'webhook.replayed', async tx => ({
        id,
        result: await replay(tx, request.merchant, id, period),
      }))
      if (result?.kind !== 'replayed') {
        if (result?.kind !== 'running') throw unknownWebhook()
        throw httpError('rate_limited', 'The last replay of this webhook is running.', { retryAfterSeconds: 10 })
      }
      onChanged()
      reply.code(202)
      return { message: replayed, data: { changes: result.changes } }
    },
  )

  app.get(
    '/webhook/:id/deliveries',
    {
      schema: {
        ...common,
        operationId: 'listWebhookDeliveries',
        summary: 'What was sent to a webhook, and what came of it',
        description: `The newest events first: those of the last ${listedDays} days, and those that wait.`,
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
      const filter = { state: state as 'pending' | undefined, before, limit }
      const { tenant } = request.merchant
      const rows = found(await inTenant(pool, tenant, (tx: Tx) => listDeliveries(tx, request.merchant, id, filter)))
      const data = rows.map(({ position: _, ...delivery }) => delivery)
      return { data, next_cursor: rows.length < limit ? null : (rows.at(-1)?.position ?? null) }
    },
  )
}

const created = 'Webhook Created Successfully'
const changed = 'Webhook Updated Successfully'
const deleted = 'Webhook Deleted Successfully'
const rotated = 'Webhook Secret Rotated Successfully'
const replayed = 'Webhook Replay Started Successfully'
const replayedChanges = 'The changes of the period; the webhook gets those of its types.'

const readPeriod = ({ from, to }: { from: string; to?: string }) => {
  const errors = Object.entries({ from, to }).flatMap(([name, text]) =>
    text !== undefined && Number.isNaN(Date.parse(text))
      ? [[name, [`The ${name} field is not a time.`]] as [string, string[]]]
      : [],
  )
  if (errors.length > 0) throw invalid(Object.fromEntries(errors))
  const period = { from: new Date(from).toISOString(), to: (to ? new Date(to) : new Date()).toISOString() }
  if (period.from > period.to) throw invalid({ to: ['The to field must not be before from.'] })
  return period
}

const keysNeeded = () =>
  httpError('unavailable', 'The webhooks are not set up: WEBHOOK_KEYS of orders is missing, or lacks a key.', {
    retryAfterSeconds: 60,
  })

const keysOf = ({ keyring }: WebhookOptions): Keyring => {
  if (!keyring) throw keysNeeded()
  return keyring
}
