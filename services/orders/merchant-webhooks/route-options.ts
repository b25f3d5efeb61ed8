import { httpError, notFound } from '@courier/shared/errors/errors.ts'
import { type Action, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Resolve } from './addresses.ts'
import type { PostOptions } from './post.ts'
import type { OwnEndpoint } from './queries.ts'

export interface WebhookOptions extends PostOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  /** undefined: any address is allowed. */
  readonly resolve: Resolve | undefined
  /** Is called when a webhook of the tenant is added or its events may be due. */
  readonly onChanged: (tenant: string) => void
}

export const ByWebhook = Type.Object({ id: Type.String({ description: 'The id of the webhook.' }) })

const isId = /^[0-9a-f-]{36}$/

type ByWebhookRequest = FastifyRequest<{ Params: Static<typeof ByWebhook> }>

/** Returns the webhook in the path. A text that is not an id matches no webhook. */
export const readOwn = ({ merchant, params }: Pick<ByWebhookRequest, 'merchant' | 'params'>): OwnEndpoint => {
  const { tenant, merchantId } = merchant
  return { tenant, merchantId, id: expectFound(isId.test(params.id) ? params.id : undefined) }
}

export const expectFound = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw notFound('webhook')
  return value
}

/** Acts on the webhook in the path, in a transaction with its entry in the audit. */
export const actOn = <Result>(
  { pool }: WebhookOptions,
  request: ByWebhookRequest,
  verb: Extract<Action, `webhook.${string}`>,
  action: (tx: Tx, own: OwnEndpoint) => Promise<Result | undefined>,
): Promise<Result> => {
  const own = readOwn(request)
  return inTenant(pool, own.tenant, async (tx: Tx) => {
    const done = expectFound(await action(tx, own))
    await audit(tx, own.tenant, request.merchant.actor, verb, own.id)
    return done
  })
}

export const keysNeeded = () =>
  httpError('unavailable', 'Webhooks are not set up: the setting WEBHOOK_KEYS of orders is missing or lacks a key.', {
    retryAfterSeconds: 60,
  })

export const expectKeys = ({ keyring }: WebhookOptions): Keyring => {
  if (!keyring) throw keysNeeded()
  return keyring
}
