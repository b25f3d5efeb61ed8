import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { invalid, notFound } from '@courier/shared/errors/errors.ts'
import { readDateOrTime } from '@courier/shared/lists/dates.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import { isFuture, revokeToken } from '@courier/shared/postgres/tokens.ts'
import { component, orNull, Time } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type Merchant, refuseRoles } from './merchant.ts'
import { createToken } from './tokens.ts'

/** Limits the tokens that a merchant's programs may have at once. */
const maxTokens = 50
export const OneLineName = Type.String({
  maxLength: 100,
  pattern: '^(?=\\s*\\S)([^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$',
  must: 'be 1 to 100 characters on one line',
})

const ProgramToken = component('ProgramToken', {
  id: Type.String(),
  name: orNull(Type.String(), { description: 'null: the courier company made it.' }),
  created_at: Time(),
  expires_at: orNull(Time(), { description: 'null: never.' }),
  last_used_at: orNull(Time(), { description: 'Accurate to a minute; null: never.' }),
})
const NewToken = Type.Object(
  { name: OneLineName, expires_at: Type.Optional(Type.String({ maxLength: 40, description: 'Default: never.' })) },
  { title: 'NewProgramToken', additionalProperties: false },
)
const WithSecret = component('ProgramTokenWithSecret', {
  ...ProgramToken.properties,
  token: Type.String({ description: 'The bearer token, shown only this once.' }),
})

const created = 'Token Created Successfully'
const revoked = 'Token Revoked Successfully'

/** Serves the tokens of a merchant's programs (docs/merchants/merchant-calls.md#tokens-of-programs). */
export const programTokenRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  refuseRoles(app, 'clerk', 'program')
  acceptJson(app)
  refuseUnknownFields(app)
  const listTokensSchema = {
    operationId: 'listTokens',
    summary: "List the tokens of the merchant's programs",
    description: 'Lists valid tokens, the newest first.',
    response: { 200: Type.Object({ data: Type.Array(ProgramToken) }) },
  }
  app.get('/token', { schema: listTokensSchema }, async ({ merchant }) => ({
    data: await inTenant(pool, merchant.tenant, (tx: Tx) => findTokens(tx, merchant)),
  }))

  const createTokenSchema = {
    operationId: 'createToken',
    summary: 'Create a token for a program',
    description: `A merchant may have ${maxTokens} tokens. A program may neither create tokens nor manage people.`,
    body: NewToken,
    response: { 201: Type.Object({ message: Type.String({ examples: [created] }), data: WithSecret }) },
  }
  app.post('/token', { ...refusesKeys, schema: createTokenSchema }, async ({ merchant, body, log }, reply) => {
    const wanted = { name: body.name.trim(), expiresAt: readExpiry(body.expires_at) }
    const data = await inTenant(pool, merchant.tenant, (tx: Tx) => addToken(tx, merchant, wanted))
    log.info({ token_id: data.id }, 'token.created')
    reply.code(201)
    return { message: created, data }
  })

  const revokeTokenSchema = {
    operationId: 'revokeToken',
    summary: "End a program's token",
    description: 'Every process refuses the token within five seconds.',
    params: Type.Object({ id: Type.String({ maxLength: 50 }) }),
    response: { 200: Type.Object({ message: Type.String({ examples: [revoked] }) }) },
  }
  app.delete('/token/:id', { schema: revokeTokenSchema }, async ({ merchant, params: { id }, log }) => {
    const { tenant, actor } = merchant
    await inTenant(pool, tenant, async (tx: Tx) => {
      if (!(await findTokens(tx, merchant)).some(token => token.id === id)) throw notFound('token')
      await revokeToken(tx, tenant, id)
      await audit(tx, tenant, actor, 'token.revoked', id)
    })
    log.info({ token_id: id }, 'token.revoked')
    return { message: revoked }
  })
}

const refuseExpiry = () =>
  invalid({ expires_at: ['The expires at field must be a future time such as 2027-01-31T00:00:00Z.'] })

/** Reads a time; null if the text is absent. Throws a validation error for any other text. */
const readExpiry = (text: string | undefined): Date | null => {
  if (text === undefined) return null
  const at = readDateOrTime(text)
  const expiresAt = at && 'time' in at ? new Date(at.time) : undefined
  if (!expiresAt) throw refuseExpiry()
  return expiresAt
}

/** Throws a validation error if the merchant has as many tokens as it may have; locks the tenant. */
export const refuseTooMany = async (tx: Tx, merchant: Pick<Merchant, 'tenant' | 'merchantId'>): Promise<void> => {
  await lockTenant(tx, merchant.tenant)
  const { length } = await findTokens(tx, merchant)
  if (length >= maxTokens) throw invalid({ name: [`There are already ${maxTokens} tokens: revoke one.`] })
}

const addToken = async (tx: Tx, merchant: Merchant, { name, expiresAt }: { name: string; expiresAt: Date | null }) => {
  const { tenant, merchantId, actor } = merchant
  if (expiresAt && !(await isFuture(tx, expiresAt))) throw refuseExpiry()
  await refuseTooMany(tx, merchant)
  const { id, token } = await createToken(tx, tenant, { merchant_id: merchantId, name }, expiresAt)
  await audit(tx, tenant, actor, 'token.created', id)
  const row = (await findTokens(tx, merchant)).find(each => each.id === id)
  return { ...(row as Static<typeof ProgramToken>), token }
}

/** Reads a merchant's live tokens, except those from logins. */
const findTokens = (
  tx: Tx,
  { tenant, merchantId }: Pick<Merchant, 'tenant' | 'merchantId'>,
): Promise<Static<typeof ProgramToken>[]> =>
  query<Static<typeof ProgramToken>>(tx)`
    select token_id as id, name, created_at, coalesce(refreshed_until, expires_at) as expires_at, last_used_at
    from tokens where tenant_id = ${tenant} and merchant_id = ${merchantId} and not from_login and revoked_at is null
      and coalesce(coalesce(refreshed_until, expires_at) > now(), true) order by created_at desc, token_id`
