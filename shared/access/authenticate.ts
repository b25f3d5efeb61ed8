import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { refusal } from '../edge/addresses.ts'
import { type HttpError, httpError } from '../errors/errors.ts'
import type { FindTokenHolder } from '../postgres/token-holders.ts'

/** Matches the ids that a tenant file may give. */
export const isTenantId = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** Returns the token of an `Authorization: Bearer …` header; undefined when there is none. */
export const bearerToken = (header: string | undefined): string | undefined =>
  /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(header ?? '')?.[1]

/** Returns the tenant that a request names. Throws 400 without X-tenant (docs/merchants/contract.md#authentication). */
export const readTenant = (request: FastifyRequest): string => {
  const tenant = request.headers['x-tenant']
  if (typeof tenant !== 'string' || tenant === '')
    throw httpError('tenant_required', 'The X-tenant header is required.')
  return tenant
}

/**
 * Finds the tenant that a request names, and the caller that its token authenticates there; the caller is undefined for
 * a token that is not valid for the tenant. Throws 400 without X-tenant (docs/merchants/contract.md#authentication),
 * and 429 instead of returning no caller while the address is paused for too many wrong tokens.
 */
export const findTokenHolder = async <Caller>(
  request: FastifyRequest,
  findCaller: FindTokenHolder<Caller>,
): Promise<{ tenant: string; caller: Caller | undefined }> => {
  const tenant = readTenant(request)
  const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
  const isPaused = request.guessingPause !== undefined
  const caller = token === undefined ? undefined : await findCaller(tenant, token, isPaused)
  if (!caller && isPaused) throw refusal(request, unauthenticated())
  return { tenant, caller }
}

export const unauthenticated = (): HttpError => httpError('unauthenticated', 'Unauthenticated.')

/**
 * Adds the fields of `caller` to every later log line of the request. The logger is the request's own: another child
 * would cost more.
 */
export const bindCaller = (request: FastifyRequest, caller: Record<string, string>): void =>
  (request.log as Logger).setBindings(caller)

/** Admits, as an onRequest hook, only the other service, by SERVICE_TOKEN. Compares in constant time. */
export const requireService = (serviceToken: string) => {
  const expected = digest(serviceToken)
  return async (request: FastifyRequest): Promise<void> => {
    const given = bearerToken(request.headers.authorization)
    if (given === undefined || !timingSafeEqual(digest(given), expected)) throw refusal(request, unauthenticated())
  }
}

/** Gives both texts the same length for the comparison. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
