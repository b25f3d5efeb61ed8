import { addressOf } from '@courier/shared/http/addresses.ts'
import { isTenantId, tenantOf, unauthenticated } from '@courier/shared/http/authenticate.ts'
import { errorResponses, httpError, invalid } from '@courier/shared/http/errors.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import { rateLimited } from '@courier/shared/http/limits.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type LoggedIn, type LoginDependencies, logIn } from './login.ts'
import { findMerchant, type MerchantRow } from './queries.ts'

/** Of an e-mail address. Postgres refuses null characters and lone surrogates. */
const character = '([^\\s@\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])'

const Credentials = Type.Object(
  {
    email: Type.String({
      maxLength: 255,
      pattern: `^\\s*${character}+@${character}+\\s*$`,
      must: 'be a valid email address',
    }),
    password: Type.String({ minLength: 1, maxLength: 255 }),
  },
  { title: 'Credentials', examples: [{ email: 'shop@example.com', password: 'lanka-shoes-demo' }] },
)

const User = Type.Object(
  {
    id: Type.Integer(),
    first_name: Type.String({ description: "The merchant's name." }),
    last_name: Type.String({ description: 'Always empty: a merchant has one name.' }),
    email: Type.String(),
    merchant: Type.Object({ id: Type.Integer(), name: Type.String() }),
  },
  { title: 'User' },
)

const exampleUser: Static<typeof User> = {
  id: 1,
  first_name: 'Lanka Shoes',
  last_name: '',
  email: 'shop@example.com',
  merchant: { id: 1, name: 'Lanka Shoes' },
}

const LoggedInResponse = Type.Object(
  {
    message: Type.Literal('success'),
    token: Type.String({ description: 'The bearer token of further requests.' }),
    expires_at: Type.String({ description: 'When the token expires.' }),
    user: User,
  },
  {
    title: 'LoggedIn',
    examples: [{ message: 'success', token: 'courier_…', expires_at: '2026-03-21T19:06:23.000Z', user: exampleUser }],
  },
)

/** The one request of a merchant without a token. */
export const login: FastifyPluginAsyncTypebox<{ dependencies: LoginDependencies }> = async (app, { dependencies }) => {
  acceptJson(app)
  app.addHook('onRequest', async request => {
    tenantOf(request)
  })
  app.post(
    '/login',
    {
      schema: {
        tags: ['merchant'],
        operationId: 'logIn',
        summary: 'Log in',
        description: 'Creates a bearer token. A merchant has up to 50; one more revokes the least recently used.',
        headers: Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) }),
        body: Credentials,
        response: { 200: LoggedInResponse, ...errorResponses(400, 405, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      const tenant = tenantOf(request)
      // An impossible tenant id gets the response of an unknown tenant, and no throttle counts it.
      if (!isTenantId.test(tenant)) return loggedIn({ kind: 'invalid_credentials' })
      const result = await logIn(dependencies, {
        tenant,
        network: addressOf(request),
        requestId: request.id,
        ...request.body,
      })
      if (result.kind === 'logged_in')
        request.log.info({ tenant, merchant_id: result.merchant.merchant_id }, 'merchant.logged_in')
      return loggedIn(result)
    },
  )
}

const loggedIn = (result: LoggedIn): Static<typeof LoggedInResponse> => {
  switch (result.kind) {
    case 'logged_in': {
      const { token, expiresAt, merchant } = result
      return { message: 'success', token, expires_at: expiresAt.toISOString(), user: toUser(merchant) }
    }
    case 'invalid_credentials':
      throw invalid({ email: ['These credentials do not match our records.'] })
    case 'too_many':
      throw rateLimited(result.retryAfterSeconds)
    case 'busy':
      throw httpError('unavailable', 'Too many logins at once. Repeat the call.', { retryAfterSeconds: 1 })
  }
}

/** The merchant itself. */
export const user: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/user/get-current',
    {
      schema: {
        tags: ['merchant'],
        operationId: 'getCurrentUser',
        summary: 'The merchant of the token',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: User }, { examples: [{ data: exampleUser }] }),
          ...errorResponses(400, 401, 405, 429, 503),
        },
      },
    },
    async request => ({ data: await readUser(pool, request.merchant) }),
  )
}

const readUser = async (pool: pg.Pool, { tenant, merchantId }: { tenant: string; merchantId: string }) => {
  const merchant = await inTenant(pool, tenant, (tx: Tx) => findMerchant(tx, tenant, merchantId))
  if (!merchant) throw unauthenticated()
  return toUser(merchant)
}

/** Merchant ids count from 1, so they fit a double. */
const toUser = ({ merchant_id, name, email }: MerchantRow): Static<typeof User> => {
  const id = Number(merchant_id)
  return { id, first_name: name, last_name: '', email, merchant: { id, name } }
}
