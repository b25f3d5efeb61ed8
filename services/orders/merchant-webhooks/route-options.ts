import { httpError, notFound } from '@courier/shared/errors/errors.ts'
import { type Action, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Resolve } from './addresses.ts'
import type { PostOptions } from './post.ts'

export interface WebhookOptions extends PostOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  /** undefined: any address is allowed. */
  readonly resolve: Resolve | undefined
  /** Called when a webhook of the tenant is added or its events may be due. */
  readonly onChanged: (tenant: string) => void
}

export const ByWebhook = Type.Object({ id: Type.String({ description: 'The id of the webhook.' }) })

const isId = /^[0-9a-f-]{36}$/

/** Returns the id in the path; any other text is that of no webhook. */
export const readId = ({ params: { id } }: { params: { id: string } }): string =>
  expectFound(isId.test(id) ? id : undefined)

export const expectFound = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw notFound('webhook')
  return value
}

/** Acts in a transaction with its entry in the audit, unless `action` did nothing. */
export const changeAudited = <Result>(
  { pool }: WebhookOptions,
  request: FastifyRequest,
  verb: Extract<Action, `webhook.${string}`>,
  id: string,
  action: (tx: Tx) => Promise<Result | undefined>,
): Promise<Result | undefined> => {
  const { tenant, actor: by } = request.merchant
  return inTenant(pool, tenant, async (tx: Tx) => {
    const done = await action(tx)
    if (done !== undefined) await audit(tx, tenant, by, verb, id)
    return done
  })
}

/** Does the same with the webhook in the path. */
export const actOn = async <Result>(
  options: WebhookOptions,
  request: FastifyRequest<{ Params: { id: string } }>,
  verb: Extract<Action, `webhook.${string}`>,
  action: (tx: Tx, id: string) => Promise<Result | undefined>,
): Promise<Result> => {
  const id = readId(request)
  return expectFound(await changeAudited(options, request, verb, id, tx => action(tx, id)))
}

export const keysNeeded = () =>
  httpError('unavailable', 'Webhooks are not set up: the setting WEBHOOK_KEYS of orders is missing or lacks a key.', {
    retryAfterSeconds: 60,
  })

export const expectKeys = ({ keyring }: WebhookOptions): Keyring => {
  if (!keyring) throw keysNeeded()
  return keyring
}
