import { bearerToken, isTenantId, readTenant } from '@courier/shared/access/authenticate.ts'
import { decimalsSql } from '@courier/shared/currency.ts'
import { readAddress } from '@courier/shared/edge/addresses.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { revokeToken } from '@courier/shared/postgres/tokens.ts'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type Account, type Accounts, type Logins, logIn, refuseLogin } from './login.ts'
import type { TokenReader } from './merchant.ts'

/** Matches one character of an e-mail address. Postgres refuses null characters and lone surrogates. */
const character = '([^\\s@\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])'

export const loginFields = {
  email: Type.String({
    maxLength: 255,
    pattern: `^\\s*${character}+@${character}+\\s*$`,
    must: 'be a valid email address',
  }),
  password: Type.String({ minLength: 1, maxLength: 255 }),
}

export const secondFactor = Type.Optional(
  Type.String({ maxLength: 40, description: 'The second factor, where the company asks for one.' }),
)

/** Describes the company of a session, whose clock and currency screens show. */
export const SessionTenant = Type.Object({
  id: Type.String(),
  name: Type.String(),
  currency: Type.String(),
  decimals: Type.Integer({ description: 'The decimals of amounts in `currency`.', examples: [2] }),
  country: Type.String(),
  time_zone: Type.String({ examples: ['Asia/Colombo'] }),
  secondary_phone: Type.Boolean({ description: 'True if the company keeps a second phone of recipients.' }),
})

/** Selects a `SessionTenant` from `tenants`. */
export const sessionTenantSql = sql.raw(
  `tenants.tenant_id as id, tenants.name, currency, ${decimalsSql('currency')} as decimals, country, time_zone,
  secondary_phone`,
)

const headers = Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) })

/** Adds `POST /login`, the only request of merchants and of staff that needs no token. */
export const addLogin = <Row extends Account>(
  app: FastifyInstance,
  logins: Logins,
  accounts: Accounts<Row>,
  /** Holds the schemas of the body and of a successful response. */
  { success, ...schema }: FastifySchema & { success: TSchema },
  /** Returns the fields of the account that the response shows. */
  describe: (account: Row) => object,
): void => {
  acceptJson(app)
  app.addHook('onRequest', async request => void readTenant(request))
  const response = { 200: success, ...errorResponses(400, 405, 413, 415, 422, 429, 503) }
  app.post('/login', { schema: { summary: 'Log in', ...schema, headers, response } }, async request => {
    const tenant = readTenant(request)
    // An impossible tenant id gets the response of an unknown tenant, and no throttle counts it.
    if (!isTenantId.test(tenant)) throw refuseLogin()
    const body = request.body as { email: string; password: string; code?: string }
    const login = { tenant, network: readAddress(request), requestId: request.id, ...body }
    const { token, expiresAt, account } = await logIn(logins, accounts, login)
    const { merchant_id, staff_id } = accounts.toHolder(account)
    request.log.info({ tenant, merchant_id, staff_id }, `${accounts.kind}.logged_in`)
    return { message: 'success', token, expires_at: expiresAt.toISOString(), ...describe(account) }
  })
}

export type SessionOptions = { readonly pool: pg.Pool; readonly findCaller: TokenReader }

const success = Type.Object({ message: Type.Literal('success') })

/** Adds `POST /logout`, which ends the token of the request. */
export const addLogout = (
  app: FastifyInstance,
  { pool, findCaller }: SessionOptions,
  kind: 'merchant' | 'staff',
  schema: FastifySchema,
): void => {
  const response = { 200: success }
  app.post('/logout', { schema: { summary: 'Log out', ...schema, response } }, async request => {
    const { tenant, tokenId, actor } = request[kind]
    await inTenant(pool, tenant, async (tx: Tx) => {
      await revokeToken(tx, tenant, tokenId)
      await audit(tx, tenant, actor, `${kind}.logged_out`, tokenId)
    })
    findCaller.forget(tenant, bearerToken(request.headers.authorization) ?? '')
    return { message: 'success' }
  })
}
