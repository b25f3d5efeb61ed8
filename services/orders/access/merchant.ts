import { type FindCaller, findHolder, nameCaller, unauthenticated } from '@courier/shared/http/authenticate.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './tokens.ts'

export type TokenReader = FindCaller<Caller>

/** The merchant a request speaks for. */
export interface Merchant {
  readonly tenant: string
  readonly merchantId: string
  readonly tokenId: string
}

const merchants = new WeakMap<FastifyRequest, Merchant>()

/** An onRequest hook: lets only requests with a merchant's token pass (spec.md 5.1), before any body is read. */
export const requireMerchant =
  (findCaller: TokenReader) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findHolder(request, findCaller)
    if (!caller?.merchantId) throw unauthenticated()
    merchants.set(request, { tenant, merchantId: caller.merchantId, tokenId: caller.tokenId })
    nameCaller(request, { tenant, merchant_id: caller.merchantId })
  }

/** Whom `requireMerchant` let pass. */
export const merchantOf = (request: FastifyRequest): Merchant => {
  const merchant = merchants.get(request)
  if (!merchant) throw new Error('the route has no requireMerchant hook')
  return merchant
}
