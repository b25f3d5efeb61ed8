import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { changeTypes, type Tx } from '../database/tables.ts'
import { keptDays } from '../log/expiry.ts'
import { catchUp } from '../log/feed.ts'
import { leadsToPrivate, privateProblem, type Resolve, urlProblem } from './addresses.ts'
import { webhookDeliveryRoutes } from './delivery-routes.ts'
import { addEndpoint, changeEndpoint, deleteEndpoint, listEndpoints, rotateSecret } from './queries.ts'
import * as route from './route-options.ts'
import * as schema from './schema.ts'
import { newSecret, sealSecret } from './secrets.ts'

const { maxEndpoints } = schema

const created = 'Webhook Created Successfully'
const changed = 'Webhook Updated Successfully'
const deleted = 'Webhook Deleted Successfully'
const rotated = 'Webhook Secret Rotated Successfully'

const findOne = (message: string) =>
  Type.Object({ message: Type.String({ examples: [message] }), data: schema.Webhook })

const oneWithSecret = (message: string) =>
  Type.Object({ message: Type.String({ examples: [message] }), data: schema.WebhookWithSecret })

/** Returns the URL as it is stored. */
const readUrl = async (text: string, resolve: Resolve | undefined): Promise<string> => {
  const problem = urlProblem(text, resolve === undefined)
  if (problem !== undefined) throw invalid({ url: [`The url ${problem}.`] })
  if (resolve && (await leadsToPrivate(text, resolve))) throw invalid({ url: [`The url ${privateProblem}.`] })
  return new URL(text).href
}

/** A merchant's endpoints for webhooks (docs/merchants/webhooks.md). */
export const webhookRoutes: FastifyPluginAsyncTypebox<route.WebhookOptions> = async (app, options) => {
  const { pool, resolve, onChanged } = options
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', async () => void route.expectKeys(options))

  const listWebhooksSchema = {
    operationId: 'listWebhooks',
    summary: 'Your webhooks',
    description: `Up to ${maxEndpoints}, the oldest first.`,
    response: {
      200: Type.Object({ data: Type.Array(schema.Webhook) }),
    },
  }
  app.get('/webhook', { schema: listWebhooksSchema }, async ({ merchant }) => ({
    data: await inTenant(pool, merchant.tenant, (tx: Tx) => listEndpoints(tx, merchant)),
  }))

  const createWebhookSchema = {
    operationId: 'createWebhook',
    summary: 'Get events at an address of yours',
    description: `Signed according to Standard Webhooks, from now on. Up to ${maxEndpoints} webhooks; the secret is shown only this once.`,
    body: schema.NewWebhook,
    response: { 201: oneWithSecret(created) },
  }
  app.post('/webhook', { ...refusesKeys, schema: createWebhookSchema }, async (request, reply) => {
    const { merchant, body } = request
    const { events = [...changeTypes] } = body
    const [id, secret, url] = [randomUUID(), newSecret(), await readUrl(body.url, resolve)]
    const sealed = sealSecret(route.expectKeys(options), merchant.tenant, id, secret)
    // Before the transaction, which would keep the feed locked for all of a backlog.
    await catchUp(pool, merchant)
    const result = await route.changeAudited(options, request, 'webhook.created', id, tx =>
      addEndpoint(tx, merchant, id, { url, events, secret: sealed }, maxEndpoints),
    )
    if (!result) throw invalid({ url: [`There are already ${maxEndpoints} webhooks: delete one.`] })
    onChanged(merchant.tenant)
    reply.code(201)
    return { message: created, data: { ...result, secret } }
  })

  const changeWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'changeWebhook',
    summary: 'Change, disable or enable a webhook',
    description: `Pending events are retried at once. Events of the last ${keptDays} days that occurred while it was disabled follow, oldest first.`,
    body: schema.WebhookChange,
    response: { 200: findOne(changed) },
  }
  app.patch('/webhook/:id', { schema: changeWebhookSchema }, async request => {
    const { body, merchant } = request
    route.readId(request)
    const wanted = body.url === undefined ? body : { ...body, url: await readUrl(body.url, resolve) }
    const data = await route.actOn(options, request, 'webhook.changed', (tx, id) =>
      changeEndpoint(tx, merchant, id, wanted),
    )
    onChanged(merchant.tenant)
    return { message: changed, data }
  })

  const deleteWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Deletes its pending events, too.',
    response: { 200: Type.Object({ message: Type.String({ examples: [deleted] }) }) },
  }
  app.delete('/webhook/:id', { schema: deleteWebhookSchema }, async request => {
    await route.actOn(options, request, 'webhook.deleted', (tx, id) => deleteEndpoint(tx, request.merchant, id))
    return { message: deleted }
  })

  const rotateWebhookSecretSchema = {
    params: route.ByWebhook,
    operationId: 'rotateWebhookSecret',
    summary: 'Create a new secret for a webhook',
    description:
      'It is shown only this once. For 24 hours messages carry two signatures, the one with the new secret first.',
    response: { 200: oneWithSecret(rotated) },
  }
  app.post('/webhook/:id/rotate', { ...refusesKeys, schema: rotateWebhookSecretSchema }, async request => {
    const { merchant } = request
    const secret = newSecret()
    const result = await route.actOn(options, request, 'webhook.rotated', (tx, id) =>
      rotateSecret(tx, merchant, id, sealSecret(route.expectKeys(options), merchant.tenant, id, secret)),
    )
    return { message: rotated, data: { ...result, secret } }
  })
  await app.register(webhookDeliveryRoutes, options)
}
