import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Accounts, Logins } from './login.ts'
import {
  addLogin,
  addLogout,
  loginFields,
  type SessionOptions,
  SessionTenant,
  secondFactor,
  sessionTenantSql,
} from './login-routes.ts'
import { type Merchant, type MerchantRole, merchantRoles } from './merchant.ts'
import { findMerchantLogin, type MerchantLogin, nameActor, selectMerchants, splitName } from './queries.ts'

const Credentials = Type.Object(
  { ...loginFields, code: secondFactor },
  { title: 'Credentials', examples: [{ email: 'shop@example.com', password: 'a-long-password' }] },
)

const User = component('User', {
  id: Type.Integer(),
  first_name: Type.String({ description: "The merchant's name, or a person's first name." }),
  last_name: Type.String({ description: "Empty for a merchant, which has one name; or a person's last name." }),
  email: Type.String(),
  merchant: Type.Object({ id: Type.Integer(), name: Type.String() }),
  business_id: orNull(Type.Integer(), {
    description: 'The business of a merchant that has one; null: none or several.',
  }),
  role: oneOf(merchantRoles),
  person: orNull(Type.Object({ id: Type.Integer(), name: Type.String() }), {
    description: "The person who logged in; null: the merchant's account or a program.",
  }),
})

const CurrentUser = component('CurrentUser', { ...User.properties, tenant: SessionTenant })

const LoggedInResponse = component('LoggedIn', {
  message: Type.Literal('success'),
  token: Type.String({ description: 'The bearer token for further requests.' }),
  expires_at: Type.String({ description: 'The time when the token expires.' }),
  user: User,
})

export const merchantAccounts: Accounts<MerchantLogin> = {
  kind: 'merchant',
  find: findMerchantLogin,
  toHolder: ({ merchant_id, person }) => ({ merchant_id, person_id: person?.id ?? null }),
  nameActor: ({ merchant_id, person }) => nameActor(merchant_id, person),
}

export const loginRoutes: FastifyPluginAsync<{ logins: Logins }> = async (app, { logins }) => {
  const schema = {
    tags: ['merchant'],
    operationId: 'logIn',
    description: 'Creates a bearer token. Earlier tokens stay valid.',
    body: Credentials,
    success: LoggedInResponse,
  }
  addLogin(app, logins, merchantAccounts, schema, login => ({ user: toUser(login, login.person?.role ?? 'owner') }))
}

export const userRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  const schema = {
    operationId: 'getCurrentUser',
    summary: 'Get the merchant of the token',
    response: { 200: Type.Object({ data: CurrentUser }) },
  }
  app.get('/user/get-current', { schema }, async request => ({ data: await readUser(options.pool, request.merchant) }))
  addLogout(app, options, 'merchant', {
    operationId: 'logOut',
    description: 'Ends the token of the request: within five seconds every process refuses it.',
  })
}

const readUser = async (pool: pg.Pool, { tenant, merchantId, role, person }: Merchant) => {
  const [merchant, [company]] = await inTenant(pool, tenant, (tx: Tx) =>
    Promise.all([
      selectMerchants(tx, tenant).where('merchant_id', '=', merchantId).executeTakeFirst(),
      query<Static<typeof SessionTenant>>(tx)`
        select ${sessionTenantSql} from tenants where tenant_id = ${tenant}`,
    ]),
  )
  if (!merchant || !company) throw unauthenticated()
  return { ...toUser({ ...merchant, person }, role), tenant: company }
}

/** Describes a merchant or its person in responses. Ids count from 1, so they fit a double. */
const toUser = (
  { merchant_id, name, email, business_id, person }: MerchantLogin,
  role: MerchantRole,
): Static<typeof User> => {
  const id = Number(merchant_id)
  return {
    id,
    ...(person ? splitName(person.name) : { first_name: name, last_name: '' }),
    email: person?.email ?? email,
    merchant: { id, name },
    business_id: business_id === null ? null : Number(business_id),
    role,
    person: person && { id: Number(person.id), name: person.name },
  }
}
