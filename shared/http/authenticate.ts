import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { guessingPause, refusal } from './addresses.ts'
import { bearerToken } from './bearer.ts'
import { DomainError } from './errors.ts'

/** What a file of a tenant may call it. */
export const isTenantId = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** The tenant that a request names. Throws 400 without X-tenant (spec.md 5.1). */
export const tenantOf = (request: FastifyRequest): string => {
  const tenant = request.headers['x-tenant']
  if (typeof tenant !== 'string' || tenant === '')
    throw new DomainError('malformed', 'The X-tenant header is required.')
  return tenant
}

/** Finds whom a token speaks for. With `onlyKnown` a token that was not good lately is not looked up. */
export type FindCaller<Caller> = (tenant: string, token: string, onlyKnown?: boolean) => Promise<Caller | undefined>

/**
 * The tenant that a request names and whom its token speaks for there; undefined when the token is none of the tenant's.
 * Throws 400 without X-tenant (spec.md 5.1), and 429 for a token that an address guesses at after too many wrong ones.
 */
export const findHolder = async <Caller>(
  request: FastifyRequest,
  findCaller: FindCaller<Caller>,
): Promise<{ tenant: string; caller: Caller | undefined }> => {
  const tenant = tenantOf(request)
  const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
  const isPaused = guessingPause(request) !== undefined
  const caller = token === undefined ? undefined : await findCaller(tenant, token, isPaused)
  if (!caller && isPaused) throw refusal(request, unauthenticated())
  return { tenant, caller }
}

export const unauthenticated = (): DomainError => new DomainError('unauthenticated', 'Unauthenticated.')

/** Every later log line of the request has these too. The logger is the request's own: another child would cost more. */
export const nameCaller = (request: FastifyRequest, caller: Record<string, string>): void =>
  (request.log as Logger).setBindings(caller)
