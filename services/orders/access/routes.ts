import { inTenant } from '@courier/shared/database.ts'
import { tenantOf, unauthenticated } from '@courier/shared/http/authenticate.ts'
import { DomainError, errorAnswers, invalid } from '@courier/shared/http/errors.ts'
import { acceptJson } from '@courier/shared/http/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type LoggedIn, type LoginDesk, logIn } from './login.ts'
import { merchantOf } from './merchant.ts'
import { findMerchant, type MerchantRow } from './queries.ts'

/** Of an e-mail address: no null character and no half of a surrogate pair, which Postgres refuses. */
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

const LoggedInAnswer = Type.Object(
  {
    message: Type.Literal('success'),
    token: Type.String({ description: 'The bearer token of further calls.' }),
    expires_at: Type.String({ description: 'When the token ends.' }),
    user: User,
  },
  {
    title: 'LoggedIn',
    examples: [{ message: 'success', token: 'courier_…', expires_at: '2026-03-21T19:06:23.000Z', user: exampleUser }],
  },
)

/** The one call of a merchant that carries no token. */
export const login: FastifyPluginAsyncTypebox<{ desk: LoginDesk }> = async (app, { desk }) => {
  acceptJson(app)
  app.addHook('onRequest', async request => {
    tenantOf(request)
  })
  app.post(
    '/login',
    {
      schema: {
        tags: ['merchant'],
        summary: 'Log in',
        description: 'Makes a bearer token. Those made before stay good until they end.',
        headers: Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) }),
        body: Credentials,
        response: { 200: LoggedInAnswer, ...errorAnswers(400, 405, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      const tenant = tenantOf(request)
      const result = await logIn(desk, { tenant, address: request.ip, requestId: request.id, ...request.body })
      if (result.kind === 'logged_in')
        request.log.info({ tenant, merchant_id: result.merchant.merchant_id }, 'merchant.logged_in')
      return loggedIn(result)
    },
  )
}

const loggedIn = (result: LoggedIn): Static<typeof LoggedInAnswer> => {
  switch (result.kind) {
    case 'logged_in': {
      const { token, expiresAt, merchant } = result
      return { message: 'success', token, expires_at: expiresAt.toISOString(), user: toUser(merchant) }
    }
    case 'wrong':
      throw invalid({ email: ['These credentials do not match our records.'] })
    case 'too_many':
      throw new DomainError('too_many_requests', 'Too Many Attempts.', { retryAfterSeconds: result.retryAfterSeconds })
    case 'busy':
      throw new DomainError('unavailable', 'Too many logins at once. Repeat the call.', { retryAfterSeconds: 1 })
  }
}

/** The calls about the merchant itself. */
export const user: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/user/get-current',
    {
      schema: {
        tags: ['merchant'],
        summary: 'Whom the token speaks for',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: User }, { examples: [{ data: exampleUser }] }),
          ...errorAnswers(400, 401, 405, 429, 503),
        },
      },
    },
    async request => ({ data: await readUser(pool, merchantOf(request)) }),
  )
}

const readUser = async (pool: pg.Pool, { tenant, merchantId }: { tenant: string; merchantId: string }) => {
  const merchant = await inTenant(pool, tenant, (tx: Tx) => findMerchant(tx, tenant, merchantId))
  if (!merchant) throw unauthenticated()
  return toUser(merchant)
}

/** Ids fit a double: they count merchants from 1. */
const toUser = ({ merchant_id, name, email }: MerchantRow): Static<typeof User> => {
  const id = Number(merchant_id)
  return { id, first_name: name, last_name: '', email, merchant: { id, name } }
}
