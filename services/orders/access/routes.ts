import { tenantOf, unauthenticated } from '@courier/shared/access/authenticate.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { merchants } from './accounts.ts'
import type { LoginDependencies } from './login.ts'
import { LoginHeaders, logInAt, loginFields } from './login-request.ts'
import { findMerchant, type MerchantRow } from './queries.ts'

const Credentials = Type.Object(loginFields, {
  title: 'Credentials',
  examples: [{ email: 'shop@example.com', password: 'a-long-password' }],
})

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
export const loginRoutes: FastifyPluginAsyncTypebox<{ dependencies: LoginDependencies }> = async (
  app,
  { dependencies },
) => {
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
        description: 'Creates a bearer token. Earlier ones stay valid.',
        headers: LoginHeaders,
        body: Credentials,
        response: { 200: LoggedInResponse, ...errorResponses(400, 405, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      const { tenant, account, success } = await logInAt(merchants, dependencies, request)
      request.log.info({ tenant, merchant_id: account.merchant_id }, 'merchant.logged_in')
      return { ...success, user: toUser(account) }
    },
  )
}

/** The merchant itself. */
export const userRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
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
