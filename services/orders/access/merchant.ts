import { bindCaller, findTokenHolder, unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { FindTokenHolder } from '@courier/shared/postgres/token-holders.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './tokens.ts'

export type TokenReader = FindTokenHolder<Caller>

/** The merchant that a request authenticates as. */
export interface Merchant {
  readonly tenant: string
  readonly merchantId: string
  readonly tokenId: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireMerchant`. */
    merchant: Merchant
  }
}

/**
 * An onRequest hook: requires a merchant's token before the body is read (docs/merchants/contract.md#authentication).
 */
export const requireMerchant =
  (findCaller: TokenReader) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findTokenHolder(request, findCaller)
    if (!caller?.merchantId) throw unauthenticated()
    request.merchant = { tenant, merchantId: caller.merchantId, tokenId: caller.tokenId }
    bindCaller(request, { tenant, merchant_id: caller.merchantId })
  }
