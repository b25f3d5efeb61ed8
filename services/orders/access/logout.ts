import { bearerToken } from '@courier/shared/access/authenticate.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { revokeToken } from '@courier/shared/postgres/tokens.ts'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { TokenReader } from './merchant.ts'

interface Session {
  readonly tenant: string
  readonly tokenId: string
  readonly actor: Actor & { readonly kind: 'merchant' | 'staff' }
}

interface LogoutRoute {
  readonly pool: pg.Pool
  readonly findCaller: TokenReader
  readonly schema: FastifySchema
  readonly readSession: (request: FastifyRequest) => Session
}

const success = Type.Object({ message: Type.Literal('success') }, { examples: [{ message: 'success' }] })

/** Adds `POST /logout`, which ends the token of the request. */
export const addLogout = (app: FastifyInstance, { pool, findCaller, schema, readSession }: LogoutRoute): void => {
  const security = [{ token: [] }]
  const response = { 200: success, ...errorResponses(400, 401, 405, 413, 415, 429, 503) }
  app.post('/logout', { schema: { summary: 'Log out', ...schema, security, response } }, async request => {
    const { tenant, tokenId, actor } = readSession(request)
    await inTenant(pool, tenant, async (tx: Tx) => {
      await revokeToken(tx, tenant, tokenId)
      await audit(tx, tenant, actor, `${actor.kind}.logged_out`, tokenId)
    })
    findCaller.forget(tenant, bearerToken(request.headers.authorization) ?? '')
    return { message: 'success' }
  })
}
