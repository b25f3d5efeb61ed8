import { bearerToken, tenantOf, unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { Staff } from '@courier/shared/access/staff.ts'
import {
  operationsFor,
  ordersOperations,
  type StaffRole,
  staffOperations,
} from '@courier/shared/contract/staff-roles.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { revokeToken } from '@courier/shared/postgres/tokens.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { staff } from './accounts.ts'
import type { LoginDependencies } from './login.ts'
import { LoginHeaders, logInAt } from './login-request.ts'
import type { TokenReader } from './merchant.ts'
import { findStaffOf, readRoles } from './queries.ts'
import { CurrentStaff, exampleStaff, LoggedInStaff, StaffLogin } from './staff-schema.ts'

const tags = ['staff']
/** The one request of staff without a token. */
export const staffLoginRoutes: FastifyPluginAsyncTypebox<{ dependencies: LoginDependencies }> = async (
  app,
  { dependencies },
) => {
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', async request => {
    tenantOf(request)
  })
  app.post(
    '/login',
    {
      schema: {
        tags,
        operationId: 'logInStaff',
        summary: 'Log in',
        description: 'Creates a bearer token for orders and the notifier. Earlier ones stay valid.',
        headers: LoginHeaders,
        body: StaffLogin,
        response: { 200: LoggedInStaff, ...errorResponses(400, 405, 413, 415, 422, 429, 503) },
      },
    },
    async request => {
      const { tenant, account, success } = await logInAt(staff, dependencies, request)
      request.log.info({ tenant, staff_id: account.staff_id }, 'staff.logged_in')
      const { name, email, role } = account
      return { ...success, staff: { name, email, role, roles: [...readRoles(account)] } }
    },
  )
}

/** The member of staff itself, and the end of its session. */
export const staffSessionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; findCaller: TokenReader }> = async (
  app,
  { pool, findCaller },
) => {
  const security = [{ token: [] }]
  app.get(
    '/me',
    {
      schema: {
        tags,
        operationId: 'getCurrentStaff',
        summary: 'The member of staff of the token, and what their roles may do',
        security,
        response: {
          200: Type.Object({ data: CurrentStaff }, { examples: [{ data: exampleStaff }] }),
          ...errorResponses(400, 401, 405, 429, 503),
        },
      },
    },
    async request => ({ data: await readStaff(pool, request.staff) }),
  )
  app.post(
    '/logout',
    {
      schema: {
        tags,
        operationId: 'logOutStaff',
        summary: 'Log out',
        description: 'Ends the token of the request: within five seconds every process of both services refuses it.',
        security,
        response: {
          200: Type.Object({ message: Type.Literal('success') }, { examples: [{ message: 'success' }] }),
          ...errorResponses(400, 401, 405, 413, 415, 429, 503),
        },
      },
    },
    async request => {
      await endSession(pool, request.staff)
      findCaller.forget(request.staff.tenant, bearerToken(request.headers.authorization) ?? '')
      return { message: 'success' as const }
    },
  )
}

const readStaff = async (pool: pg.Pool, { tenant, name, roles, tokenId }: Staff): Promise<CurrentStaff> => {
  const found = await inTenant(pool, tenant, (tx: Tx) => findStaffOf(tx, tenant, tokenId))
  if (!found) throw unauthenticated()
  const { email, ...of } = found
  // Without an account it is a token that the operator made: the notifier does not know it.
  const operations = operationsFor(roles, email === null ? ordersOperations : staffOperations)
  return { name, email, role: roles[0] as StaffRole, roles: [...roles], tenant: of, operations }
}

const endSession = (pool: pg.Pool, { tenant, tokenId, actor }: Staff) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    await revokeToken(tx, tenant, tokenId)
    await audit(tx, tenant, actor, 'staff.logged_out', tokenId)
  })
