import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { Staff } from '@courier/shared/access/staff.ts'
import {
  operationsFor,
  ordersOperations,
  type StaffRole,
  staffOperations,
  staffRoles,
} from '@courier/shared/contract/staff-roles.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { component, oneOf } from '@courier/shared/schemas.ts'
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
import { findStaffLogin, readRoles, type StaffRow } from './queries.ts'

const Role = oneOf(staffRoles)
const held = {
  role: { ...Role, description: 'The first of the roles.' },
  roles: Type.Array(Role, { maxItems: staffRoles.length }),
}

const StaffLogin = Type.Object(
  { ...loginFields, code: secondFactor },
  { title: 'StaffLogin', examples: [{ email: 'dispatcher@courier.example', password: 'a-long-password' }] },
)

export const LoggedInStaff = component('LoggedInStaff', {
  message: Type.Literal('success'),
  token: Type.String({ description: 'The bearer token for further requests, to orders and to the notifier.' }),
  expires_at: Type.String({ description: 'The time when the token expires.' }),
  staff: Type.Object({ name: Type.String(), email: Type.String(), ...held }),
})

const CurrentStaff = component('CurrentStaff', {
  name: Type.String({ examples: ['Nimali Silva'] }),
  email: Type.Union([Type.String({ examples: ['dispatcher@courier.example'] }), Type.Null()], {
    description: 'null for a token that the operator made.',
  }),
  ...held,
  tenant: SessionTenant,
  operations: Type.Array(Type.String(), {
    maxItems: staffOperations.length,
    description:
      'The operationIds that the token may request: those of orders and, for a token with an account, of the notifier.',
  }),
})
type CurrentStaff = Static<typeof CurrentStaff>

export const staffAccounts: Accounts<StaffRow> = {
  kind: 'staff',
  find: findStaffLogin,
  toHolder: ({ staff_id, name: staff_name }) => ({ staff_name, staff_id }),
  nameActor: ({ name }) => name,
}

export const staffLoginRoutes: FastifyPluginAsync<{ logins: Logins }> = async (app, { logins }) => {
  refuseUnknownFields(app)
  const schema = {
    tags: ['staff'],
    operationId: 'logInStaff',
    description: 'Creates a bearer token for orders and the notifier. Earlier tokens stay valid.',
    body: StaffLogin,
    success: LoggedInStaff,
  }
  addLogin(app, logins, staffAccounts, schema, row => {
    const { name, email, role } = row
    return { staff: { name, email, role, roles: [...readRoles(row)] } }
  })
}

export const staffSessionRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  const schema = {
    operationId: 'getCurrentStaff',
    summary: 'Get the member of staff of the token, and what their roles may do',
    response: { 200: Type.Object({ data: CurrentStaff }) },
  }
  app.get('/me', { schema }, async request => {
    const { operations, ...me } = await readStaff(options.pool, request.staff)
    // The notifier says on its own which of its operations it leaves out.
    return { data: { ...me, operations: operations.filter(each => !isLeftOut(each, app.operations)) } }
  })
  addLogout(app, options, 'staff', {
    operationId: 'logOutStaff',
    description: 'Ends the token of the request: within five seconds every process of both services refuses it.',
  })
}

const isLeftOut = (operation: string, served: ReadonlySet<string>): boolean =>
  ordersOperations.includes(operation) && !served.has(operation)

const readStaff = async (pool: pg.Pool, { tenant, name, roles, tokenId }: Staff): Promise<CurrentStaff> => {
  const [found] = await inTenant(pool, tenant, (tx: Tx) => findAccount(tx, tenant, tokenId))
  if (!found) throw unauthenticated()
  const { email, ...fields } = found
  // The operator made a token without an account: the notifier does not know it.
  const operations = operationsFor(roles, email === null ? ordersOperations : staffOperations)
  return { name, email, role: roles[0] as StaffRole, roles: [...roles], tenant: fields, operations }
}

/** Reads the tenant of a token, and the e-mail address of the account behind it; null without an account. */
const findAccount = (tx: Tx, tenant: string, tokenId: string) =>
  query<CurrentStaff['tenant'] & Pick<CurrentStaff, 'email'>>(tx)`
    select ${sessionTenantSql}, email
    from tokens join tenants on tenants.tenant_id = tokens.tenant_id
      left join staff on staff.tenant_id = tokens.tenant_id and staff.staff_id = tokens.staff_id
    where tokens.tenant_id = ${tenant} and token_id = ${tokenId}`
