import { bindCaller, findTokenHolder, unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import type { FindTokenHolder } from '@courier/shared/postgres/token-holders.ts'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './tokens.ts'

export type TokenReader = FindTokenHolder<Caller>

/** The merchant that a request authenticates as. */
export interface Merchant {
  readonly tenant: string
  readonly merchantId: string
  readonly tokenId: string
  /** For the audit entries of this request. */
  readonly actor: Actor
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
    const { merchantId, tokenId } = caller
    const actor = { kind: 'merchant', name: merchantId, tokenId, requestId: request.id } as const
    request.merchant = { tenant, merchantId, tokenId, actor }
    bindCaller(request, { tenant, merchant_id: merchantId })
  }

/** The key of the rate limit: all tokens of a merchant share one. */
export const merchantIn = ({ merchant: { tenant, merchantId } }: FastifyRequest): string => `${tenant} ${merchantId}`

/** The orders that a request may see: those of one merchant or, for staff, of all. */
export interface OrderScope {
  readonly tenant: string
  readonly merchantId: string | null
}

/** Reads the scope of a request that a merchant's or staff's token admitted. */
export const readScope = ({ merchant, staff }: FastifyRequest): OrderScope =>
  merchant ?? { tenant: staff.tenant, merchantId: null }
