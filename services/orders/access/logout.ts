import { bearerToken } from '@courier/shared/access/authenticate.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { revokeToken } from '@courier/shared/postgres/tokens.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Merchant, TokenReader } from './merchant.ts'

/** Ends the token of the request. */
export const logoutRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; findCaller: TokenReader }> = async (
  app,
  options,
) => {
  const { pool, findCaller } = options
  app.post(
    '/logout',
    {
      schema: {
        tags: ['merchant'],
        operationId: 'logOut',
        summary: 'Log out',
        description: 'Ends the token of the request: within five seconds every process refuses it.',
        security: [{ token: [] }],
        response: {
          200: Type.Object({ message: Type.Literal('success') }, { examples: [{ message: 'success' }] }),
          ...errorResponses(400, 401, 405, 413, 415, 429, 503),
        },
      },
    },
    async request => {
      await endToken(pool, request.merchant, request.id)
      findCaller.forget(request.merchant.tenant, bearerToken(request.headers.authorization) ?? '')
      return { message: 'success' as const }
    },
  )
}

const endToken = (pool: pg.Pool, { tenant, merchantId, tokenId }: Merchant, requestId: string) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    await revokeToken(tx, tenant, tokenId)
    await audit(tx, tenant, { kind: 'merchant', name: merchantId, tokenId, requestId }, 'merchant.logged_out', tokenId)
  })
