import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { keptDays } from '../changes/expiry.ts'
import { catchUp } from '../changes/feed.ts'
import { changeTypes, type Tx } from '../database/tables.ts'
import { leadsToPrivate, privateProblem, type Resolve, urlProblem } from './addresses.ts'
import { webhookDeliveryRoutes } from './delivery-routes.ts'
import { addEndpoint, changeEndpoint, deleteEndpoint, listEndpoints, rotateSecret } from './queries.ts'
import {
  changing,
  common,
  failures,
  failuresOfOne,
  found,
  idIn,
  keysOf,
  params,
  type WebhookOptions,
} from './route-options.ts'
import {
  exampleSecret,
  exampleWebhook,
  maxEndpoints,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookWithSecret,
} from './schema.ts'
import { newSecret, sealSecret } from './secrets.ts'

const oneOf = (data: typeof Webhook | typeof WebhookWithSecret, message: string, example: object) =>
  Type.Object({ message: Type.String(), data }, { examples: [{ message, data: example }] })

/** The URL as it is stored. */
const readUrl = async (text: string, resolve: Resolve | undefined): Promise<string> => {
  const problem = urlProblem(text, resolve === undefined)
  if (problem !== undefined) throw invalid({ url: [`The url ${problem}.`] })
  if (resolve && (await leadsToPrivate(text, resolve))) throw invalid({ url: [`The url ${privateProblem}.`] })
  return new URL(text).href
}

/** A merchant's endpoints for webhooks (docs/merchants/webhooks.md). */
export const webhookRoutes: FastifyPluginAsyncTypebox<WebhookOptions> = async (app, options) => {
  const { pool, resolve, onChanged } = options
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', async () => void keysOf(options))

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
      ...refusesKeys,
      schema: {
        ...common,
        operationId: 'createWebhook',
        summary: 'Get events at an address of yours',
        description: `Signed according to Standard Webhooks, from now on. Up to ${maxEndpoints} webhooks; the secret is shown only this once.`,
        body: NewWebhook,
        response: {
          201: oneOf(WebhookWithSecret, created, { ...exampleWebhook, secret: exampleSecret }),
          ...failures,
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.merchant
      const { events = changeTypes } = request.body
      const [id, secret, url] = [randomUUID(), newSecret(), await readUrl(request.body.url, resolve)]
      const sealed = sealSecret(keysOf(options), tenant, id, secret)
      // Before the transaction, which would keep the feed locked for all of a backlog.
      await catchUp(pool, request.merchant)
      const result = await changing(
        pool,
        request,
        'webhook.created',
        id,
      )(tx => addEndpoint(tx, request.merchant, { id, url, events, secret: sealed }, maxEndpoints))
      if (!result) throw invalid({ url: [`There are already ${maxEndpoints} webhooks: delete one.`] })
      onChanged(tenant)
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
        description: `Pending events are retried at once. Events of the last ${keptDays} days that occurred while it was disabled follow, oldest first.`,
        params,
        body: WebhookChange,
        response: { 200: oneOf(Webhook, changed, exampleWebhook), ...failuresOfOne },
      },
    },
    async request => {
      const [id, { url, ...others }] = [idIn(request), request.body]
      const wanted = { ...others, url: url === undefined ? undefined : await readUrl(url, resolve) }
      const result = await changing(
        pool,
        request,
        'webhook.changed',
        id,
      )(tx => changeEndpoint(tx, request.merchant, id, wanted))
      onChanged(request.merchant.tenant)
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
        description: 'Its pending events are deleted, too.',
        params,
        response: {
          200: Type.Object({ message: Type.String() }, { examples: [{ message: deleted }] }),
          ...failuresOfOne,
        },
      },
    },
    async request => {
      const id = idIn(request)
      found(await changing(pool, request, 'webhook.deleted', id)(tx => deleteEndpoint(tx, request.merchant, id)))
      return { message: deleted }
    },
  )

  app.post(
    '/webhook/:id/rotate',
    {
      ...refusesKeys,
      schema: {
        ...common,
        operationId: 'rotateWebhookSecret',
        summary: 'Create a new secret for a webhook',
        description:
          'It is shown only this once. For 24 hours messages carry two signatures, the one with the new secret first.',
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
      const result = await changing(
        pool,
        request,
        'webhook.rotated',
        id,
      )(tx => rotateSecret(tx, request.merchant, id, sealed))
      return { message: rotated, data: { ...found(result), secret } }
    },
  )
  await app.register(webhookDeliveryRoutes, options)
}

const created = 'Webhook Created Successfully'
const changed = 'Webhook Updated Successfully'
const deleted = 'Webhook Deleted Successfully'
const rotated = 'Webhook Secret Rotated Successfully'
