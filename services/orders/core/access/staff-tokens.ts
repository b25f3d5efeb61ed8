import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { StaffTokenHolders, StaffTokens } from '@courier/shared/contract/staff-tokens.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { findInTenants } from '@courier/shared/postgres/token-holders.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type pg from 'pg'
import { type Caller, findCallers } from './tokens.ts'

/** 100 tokens of tenants with the longest ids take 16 KB. */
const maxBodyBytes = 32_768

/**
 * Lets the notifier find who logged in with a token. Tokens that the operator made are unknown here: they are valid
 * only in orders.
 */
export const staffTokenRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const clock = createClock(pool)
  acceptJson(app)
  const schema = {
    operationId: 'findStaffTokens',
    summary: 'Find who logged in with these staff tokens',
    description: 'Looks the hashes up in the database each time. Needs SERVICE_TOKEN.',
    body: StaffTokens,
    response: { 200: StaffTokenHolders },
  }
  app.post('/internal/staff-tokens', { bodyLimit: maxBodyBytes, schema }, async ({ body }) => ({
    now: (await clock()).toISOString(),
    data: (await findInTenants(pool, body.tokens.map(toToken), findCallers)).map(toHolder),
  }))
}

/** Converts a hash from hexadecimal to base64. */
const toToken = ({ tenant, hash }: StaffTokens['tokens'][number]) => ({
  tenant,
  hash: Buffer.from(hash, 'hex').toString('base64'),
})

const toHolder = (caller: Caller | undefined): StaffTokenHolders['data'][number] =>
  caller?.staffId && caller.staffName
    ? {
        token_id: caller.tokenId,
        name: caller.staffName,
        role: caller.roles[0] as StaffRole,
        roles: [...caller.roles],
        expires_at: caller.expiresAt?.toISOString() ?? null,
      }
    : null
