import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { refuseRoles } from '../../core/access/merchant.ts'
import type { Tx } from '../../core/database/tables.ts'
import { keptDays } from '../../core/log/retention.ts'
import { findUrlProblem, leadsToPrivate, privateProblem, type Resolve } from './addresses.ts'
import { changeTypes } from './change-types.ts'
import { webhookDeliveryRoutes } from './delivery-routes.ts'
import { addEndpoint, changeEndpoint, deleteEndpoint, listEndpoints, rotateSecret } from './endpoint-queries.ts'
import { catchUp } from './numbering.ts'
import * as route from './route-options.ts'
import { newSecret, sealSecret } from './secrets.ts'
import * as schema from './webhook-schema.ts'

const created = 'Webhook Created Successfully'
const changed = 'Webhook Updated Successfully'
const deleted = 'Webhook Deleted Successfully'
const rotated = 'Webhook Secret Rotated Successfully'

const done = <Data extends TSchema>(message: string, data: Data) =>
  Type.Object({ message: Type.String({ examples: [message] }), data })

const readUrl = async (text: string, resolve: Resolve | undefined): Promise<string> => {
  const problem = findUrlProblem(text, resolve === undefined)
  if (problem !== undefined) throw invalid({ url: [`The url ${problem}.`] })
  if (resolve && (await leadsToPrivate(text, resolve))) throw invalid({ url: [`The url ${privateProblem}.`] })
  return new URL(text).href
}

/** Manages a merchant's endpoints for webhooks (docs/merchants/webhooks.md). */
export const webhookRoutes: FastifyPluginAsyncTypebox<route.WebhookOptions> = async (app, options) => {
  const { pool, resolve, sender } = options
  refuseRoles(app, 'clerk')
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', async () => void route.expectKeys(options))

  const listWebhooksSchema = {
    operationId: 'listWebhooks',
    summary: 'List your webhooks',
    description: `Up to ${schema.maxEndpoints}, the oldest first.`,
    response: { 200: Type.Object({ data: Type.Array(schema.Webhook) }) },
  }
  app.get('/webhook', { schema: listWebhooksSchema }, async ({ merchant }) => ({
    data: await inTenant(pool, merchant.tenant, (tx: Tx) => listEndpoints(tx, merchant)),
  }))

  const createWebhookSchema = {
    operationId: 'createWebhook',
    summary: 'Get events at an address of yours',
    description:
      'Sends events from now on, signed according to Standard Webhooks. Shows the secret only this once. ' +
      `A merchant has at most ${schema.maxEndpoints} webhooks.`,
    body: schema.NewWebhook,
    response: { 201: done(created, schema.WebhookWithSecret) },
  }
  app.post('/webhook', { ...refusesKeys, schema: createWebhookSchema }, async (request, reply) => {
    const { tenant, merchantId, actor } = request.merchant
    const { events = [...changeTypes] } = request.body
    const [id, secret, url] = [randomUUID(), newSecret(), await readUrl(request.body.url, resolve)]
    const endpoint = { url, events, secret: sealSecret(route.expectKeys(options), tenant, id, secret) }
    // Catches up before the transaction, which would otherwise keep the feed locked for a whole backlog.
    await catchUp(pool, request.merchant)
    const result = await inTenant(pool, tenant, async (tx: Tx) => {
      const added = await addEndpoint(tx, { tenant, merchantId, id }, endpoint)
      if (!added) throw invalid({ url: [`There are already ${schema.maxEndpoints} webhooks: delete one.`] })
      await audit(tx, tenant, actor, 'webhook.created', id)
      return added
    })
    sender?.changed(tenant)
    reply.code(201)
    return { message: created, data: { ...result, secret } }
  })

  const changeWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'changeWebhook',
    summary: 'Change, disable or enable a webhook',
    description:
      'Retries pending events at once. Then sends the events that occurred while the webhook was disabled, of the ' +
      `last ${keptDays} days, oldest first.`,
    body: schema.WebhookChange,
    response: { 200: done(changed, schema.Webhook) },
  }
  app.patch('/webhook/:id', { schema: changeWebhookSchema }, async request => {
    const { body } = request
    const wanted = body.url === undefined ? body : { ...body, url: await readUrl(body.url, resolve) }
    const data = await route.actOn(options, request, 'webhook.changed', (tx, ref) => changeEndpoint(tx, ref, wanted))
    return { message: changed, data }
  })

  const deleteWebhookSchema = {
    params: route.ByWebhook,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Deletes the pending events of the webhook, too.',
    response: { 200: Type.Object({ message: Type.String({ examples: [deleted] }) }) },
  }
  app.delete('/webhook/:id', { schema: deleteWebhookSchema }, async request => {
    await route.actOn(options, request, 'webhook.deleted', deleteEndpoint)
    return { message: deleted }
  })

  const rotateWebhookSecretSchema = {
    params: route.ByWebhook,
    operationId: 'rotateWebhookSecret',
    summary: 'Create a new secret for a webhook',
    description:
      'Shows the secret only this once. For 24 hours messages carry two signatures, the one with the new secret first.',
    response: { 200: done(rotated, schema.WebhookWithSecret) },
  }
  app.post('/webhook/:id/rotate', { ...refusesKeys, schema: rotateWebhookSecretSchema }, async request => {
    const secret = newSecret()
    const result = await route.actOn(options, request, 'webhook.rotated', (tx, ref) =>
      rotateSecret(tx, ref, sealSecret(route.expectKeys(options), ref.tenant, ref.id, secret)),
    )
    return { message: rotated, data: { ...result, secret } }
  })
  await app.register(webhookDeliveryRoutes, options)
}
