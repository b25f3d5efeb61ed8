import { bearerToken } from '@courier/shared/http/bearer.ts'
import { DomainError } from '@courier/shared/http/errors.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './tokens.ts'

export type TokenReader = (tenant: string, token: string) => Promise<Caller | undefined>

/** The merchant a request speaks for. */
export interface Merchant {
  readonly tenant: string
  readonly merchantId: string
  readonly tokenId: string
}

/** What a tenant file may call a tenant. */
const isTenantId = /^[a-z0-9][a-z0-9_-]{0,62}$/

const merchants = new WeakMap<FastifyRequest, Merchant>()

/** An onRequest hook: lets only requests with a merchant's token pass (spec.md 5.1), before any body is read. */
export const requireMerchant =
  (findCaller: TokenReader) =>
  async (request: FastifyRequest): Promise<void> => {
    const tenant = request.headers['x-tenant']
    if (typeof tenant !== 'string' || tenant === '')
      throw new DomainError('malformed', 'The X-tenant header is required.')
    const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
    const caller = token === undefined ? undefined : await findCaller(tenant, token)
    if (!caller?.merchantId) throw new DomainError('unauthenticated', 'Unauthenticated.')
    merchants.set(request, { tenant, merchantId: caller.merchantId, tokenId: caller.tokenId })
    request.log = request.log.child({ tenant, merchant_id: caller.merchantId })
  }

/** Whom `requireMerchant` let pass. */
export const merchantOf = (request: FastifyRequest): Merchant => {
  const merchant = merchants.get(request)
  if (!merchant) throw new Error('the route has no requireMerchant hook')
  return merchant
}
