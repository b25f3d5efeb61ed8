import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { Staff } from '@courier/shared/access/staff.ts'
import {
  operationsFor,
  ordersOperations,
  type StaffRole,
  staffOperations,
} from '@courier/shared/contract/staff-roles.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { staff } from './accounts.ts'
import type { LoginDependencies } from './login.ts'
import { addLogin } from './login-request.ts'
import { addLogout } from './logout.ts'
import type { TokenReader } from './merchant.ts'
import { findStaffOf, readRoles } from './queries.ts'
import { CurrentStaff, exampleStaff, LoggedInStaff, StaffLogin } from './staff-schema.ts'

const tags = ['staff']

export const staffLoginRoutes: FastifyPluginAsync<{ dependencies: LoginDependencies }> = async (
  app,
  { dependencies },
) => {
  refuseUnknownFields(app)
  addLogin(app, {
    accounts: staff,
    dependencies,
    schema: {
      tags,
      operationId: 'logInStaff',
      description: 'Creates a bearer token for orders and the notifier. Earlier ones stay valid.',
      body: StaffLogin,
      success: LoggedInStaff,
    },
    describe: ({ name, email, role, ...row }) => ({
      staff: { name, email, role, roles: [...readRoles({ role, ...row })] },
    }),
  })
}

/** Describes the member of staff, and ends the session. */
export const staffSessionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; findCaller: TokenReader }> = async (
  app,
  { pool, findCaller },
) => {
  app.get(
    '/me',
    {
      schema: {
        tags,
        operationId: 'getCurrentStaff',
        summary: 'The member of staff of the token, and what their roles may do',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ data: CurrentStaff }, { examples: [{ data: exampleStaff }] }),
          ...errorResponses(400, 401, 405, 429, 503),
        },
      },
    },
    async request => ({ data: await readStaff(pool, request.staff) }),
  )
  addLogout(app, {
    pool,
    findCaller,
    schema: {
      tags,
      operationId: 'logOutStaff',
      description: 'Ends the token of the request: within five seconds every process of both services refuses it.',
    },
    readSession: ({ staff: { actor, ...session } }) => ({ ...session, actor: { ...actor, kind: 'staff' } }),
  })
}

const readStaff = async (pool: pg.Pool, { tenant, name, roles, tokenId }: Staff): Promise<CurrentStaff> => {
  const found = await inTenant(pool, tenant, (tx: Tx) => findStaffOf(tx, tenant, tokenId))
  if (!found) throw unauthenticated()
  const { email, ...of } = found
  // A token without an account was made by the operator: the notifier does not know it.
  const operations = operationsFor(roles, email === null ? ordersOperations : staffOperations)
  return { name, email, role: roles[0] as StaffRole, roles: [...roles], tenant: of, operations }
}
