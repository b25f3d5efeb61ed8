import { httpError, notFound } from '@courier/shared/errors/errors.ts'
import { type Action, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import type { EndpointRef } from './endpoint-queries.ts'
import type { Sending } from './sender.ts'

export type WebhookOptions = Sending & { readonly pool: pg.Pool }

export const ByWebhook = Type.Object({ id: Type.String({ description: 'The id of the webhook.' }) })

const isId = /^[0-9a-f-]{36}$/

type ByWebhookRequest = FastifyRequest<{ Params: Static<typeof ByWebhook> }>

/** Returns the webhook in the path. A text that is not an id matches no webhook. */
export const readEndpoint = ({ merchant, params }: Pick<ByWebhookRequest, 'merchant' | 'params'>): EndpointRef => {
  const { tenant, merchantId } = merchant
  return { tenant, merchantId, id: expectFound(isId.test(params.id) ? params.id : undefined) }
}

export const expectFound = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw notFound('webhook')
  return value
}

/** Acts on the webhook in the path and audits it in one transaction. Then wakes the sender, as events may be due. */
export const actOn = async <Result>(
  { pool, sender }: WebhookOptions,
  request: ByWebhookRequest,
  verb: Extract<Action, `webhook.${string}`>,
  action: (tx: Tx, ref: EndpointRef) => Promise<Result | undefined>,
): Promise<Result> => {
  const ref = readEndpoint(request)
  const result = await inTenant(pool, ref.tenant, async (tx: Tx) => {
    const done = expectFound(await action(tx, ref))
    await audit(tx, ref.tenant, request.merchant.actor, verb, ref.id)
    return done
  })
  sender?.changed(ref.tenant)
  return result
}

export const keysNeeded = () =>
  httpError('unavailable', 'Webhooks are not set up: the setting WEBHOOK_KEYS of orders is missing or lacks a key.', {
    retryAfterSeconds: 60,
  })

export const expectKeys = ({ keyring }: WebhookOptions): Keyring => {
  if (!keyring) throw keysNeeded()
  return keyring
}
