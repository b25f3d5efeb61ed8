import {
  bearerToken,
  bindCaller,
  findTokenHolder,
  isTenantId,
  unauthenticated,
} from '@courier/shared/access/authenticate.ts'
import { readAddress } from '@courier/shared/edge/addresses.ts'
import { countRequest, Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { ErrorBody, httpError } from '@courier/shared/errors/errors.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import type { FindTokenHolder } from '@courier/shared/postgres/token-holders.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { nameActor, type Person, personRoles } from './queries.ts'
import type { Caller } from './tokens.ts'

export type TokenReader = FindTokenHolder<Caller>

/** Lists who may act for a merchant: people who logged in, and programs with tokens of their own. */
export const merchantRoles = [...personRoles, 'program'] as const
export type MerchantRole = (typeof merchantRoles)[number]

const notAllowed = 'Nobody allowed this token to do this. Connect again, and allow it there.'
const refusals = {
  program: 'A token of a program may not do this. Log in as an owner of the merchant, with POST /login.',
  clerk: 'A clerk may not do this. Ask an owner of the merchant.',
}

export interface Merchant {
  readonly tenant: string
  readonly merchantId: string
  readonly tokenId: string
  readonly role: MerchantRole
  /** null: the account of the merchant, or a program. */
  readonly person: Person | null
  /** Lists the operations that the token may use; null: all that its role may use. */
  readonly operations: Caller['operations']
  /** Names who acts in the audit entries of this request. */
  readonly actor: Actor
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Is set by `requireMerchant`. */
    merchant: Merchant
  }
}

/**
 * Requires, as an onRequest hook, a merchant's token before the body is read
 * (docs/merchants/contract.md#authentication).
 */
const requireMerchant =
  (findCaller: TokenReader) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findTokenHolder(request, findCaller)
    if (!caller?.merchantId) throw unauthenticated()
    const { merchantId, tokenId, isFromLogin, person, operations } = caller
    const name = nameActor(merchantId, person)
    const actor = { kind: 'merchant', name, tokenId, requestId: request.id } as const
    const role = person?.role ?? (isFromLogin ? 'owner' : 'program')
    request.merchant = { tenant, merchantId, tokenId, role, person, operations, actor }
    bindCaller(request, { tenant, merchant_id: merchantId })
  }

const refuseOtherOperations = async ({ merchant: { operations }, routeOptions }: FastifyRequest): Promise<void> => {
  if (operations && !operations.includes(routeOptions.schema?.operationId ?? ''))
    throw httpError('role_forbidden', notAllowed)
}

const forbidden = {
  ...ErrorBody,
  description: 'The caller may not send the request: the message says who may.',
  examples: [{ message: refusals.program, code: 'role_forbidden' }],
}

/** Refuses roles for the routes that `app` adds from here on (docs/merchants/merchant-calls.md#people). */
export const refuseRoles = (app: FastifyInstance, ...roles: readonly (keyof typeof refusals)[]): void => {
  app.addHook('onRoute', route => {
    route.schema = { ...route.schema, response: { ...(route.schema?.response as object), 403: forbidden } }
    route.onRequest = async ({ merchant }: FastifyRequest) => {
      const refused = roles.find(role => role === merchant.role)
      if (refused) throw httpError('role_forbidden', refusals[refused])
    }
  })
}

/** Opens the routes of `app` to merchants: they require a merchant's token and count against the merchant's limit. */
export const admitMerchants = (app: FastifyInstance, findCaller: TokenReader, requestsPerMinute: number): void => {
  app.decorateRequest('merchant')
  app.addHook('onRequest', requireMerchant(findCaller))
  app.addHook('onRequest', limitRequests(new Limit('merchant', requestsPerMinute), merchantIn))
  app.addHook('onRequest', refuseOtherOperations)
}

/**
 * Limits requests that need no token: one with a merchant's token counts against the merchant, any other against its
 * network. Once a network has spent its limit, its tokens are looked up as in a flood of wrong ones.
 */
export const limitVisitors = (
  app: FastifyInstance,
  limits: { findCaller: TokenReader; requestsPerMinute: number; publicRequestsPerMinute: number },
): void => {
  const byMerchant = new Limit('merchant', limits.requestsPerMinute)
  const byNetwork = new Limit('public', limits.publicRequestsPerMinute)
  app.addHook('onRequest', async (request, reply) => {
    const address = readAddress(request)
    const merchant = await findVisitor(request, limits.findCaller, byNetwork.secondsSpent(address) > 0)
    const refusal = merchant ? countRequest(byMerchant, merchant, reply) : countRequest(byNetwork, address, reply)
    if (refusal) throw refusal
  })
}

const findVisitor = async (
  request: FastifyRequest,
  findCaller: TokenReader,
  isFlood: boolean,
): Promise<string | undefined> => {
  const { authorization, 'x-tenant': tenant } = request.headers
  const token = bearerToken(authorization)
  if (!token || typeof tenant !== 'string' || !isTenantId.test(tenant)) return undefined
  const caller = await findCaller(tenant, token, isFlood || request.guessingPause !== undefined)
  return caller?.merchantId ? `${tenant} ${caller.merchantId}` : undefined
}

/** Returns the key of the rate limit, which all tokens of a merchant share. */
export const merchantIn = ({ merchant: { tenant, merchantId } }: FastifyRequest): string => `${tenant} ${merchantId}`

/**
 * Limits the orders that a request may see to those of one merchant; for staff, includes the orders of all merchants.
 */
export interface OrderScope {
  readonly tenant: string
  readonly merchantId: string | null
}

/** Reads the scope of a request that a merchant's or a staff token admitted. */
export const readScope = ({ merchant, staff }: FastifyRequest): OrderScope =>
  merchant ?? { tenant: staff.tenant, merchantId: null }
