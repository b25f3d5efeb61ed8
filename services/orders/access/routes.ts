import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Accounts, Logins } from './login.ts'
import { addLogin, addLogout, loginFields, type SessionOptions } from './login-routes.ts'
import type { Merchant } from './merchant.ts'
import { type MerchantRow, selectMerchant, selectMerchants } from './queries.ts'

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

const LoggedInResponse = Type.Object(
  {
    message: Type.Literal('success'),
    token: Type.String({ description: 'The bearer token of further requests.' }),
    expires_at: Type.String({ description: 'When the token expires.' }),
    user: User,
  },
  { title: 'LoggedIn' },
)

const accounts: Accounts<MerchantRow> = {
  kind: 'merchant',
  select: selectMerchant,
  toHolder: ({ merchant_id: merchantId }) => ({ merchantId }),
}

export const loginRoutes: FastifyPluginAsync<{ logins: Logins }> = async (app, { logins }) => {
  const schema = {
    tags: ['merchant'],
    operationId: 'logIn',
    description: 'Creates a bearer token. Earlier ones stay valid.',
    body: Credentials,
    success: LoggedInResponse,
  }
  addLogin(app, logins, accounts, schema, merchant => ({ user: toUser(merchant) }))
}

/** Describes the merchant, and ends its session. */
export const userRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  app.get(
    '/user/get-current',
    {
      schema: {
        tags: ['merchant'],
        operationId: 'getCurrentUser',
        summary: 'The merchant of the token',
        response: { 200: Type.Object({ data: User }) },
      },
    },
    async request => ({ data: await readUser(options.pool, request.merchant) }),
  )
  addLogout(app, options, 'merchant', {
    tags: ['merchant'],
    operationId: 'logOut',
    description: 'Ends the token of the request: within five seconds every process refuses it.',
  })
}

const readUser = async (pool: pg.Pool, { tenant, merchantId }: Merchant) => {
  const merchant = await inTenant(pool, tenant, (tx: Tx) =>
    selectMerchants(tx, tenant).where('merchant_id', '=', merchantId).executeTakeFirst(),
  )
  if (!merchant) throw unauthenticated()
  return toUser(merchant)
}

/** Merchant ids count from 1, so they fit a double. */
const toUser = ({ merchant_id, name, email }: MerchantRow): Static<typeof User> => {
  const id = Number(merchant_id)
  return { id, first_name: name, last_name: '', email, merchant: { id, name } }
}
