import type { FastifyRequest } from 'fastify'
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

/**
 * The tenant that a request names and whom its token speaks for there; undefined when the token is none of the tenant's.
 * Throws 400 without X-tenant (spec.md 5.1).
 */
export const findHolder = async <Caller>(
  request: FastifyRequest,
  findCaller: (tenant: string, token: string) => Promise<Caller | undefined>,
): Promise<{ tenant: string; caller: Caller | undefined }> => {
  const tenant = tenantOf(request)
  const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
  return { tenant, caller: token === undefined ? undefined : await findCaller(tenant, token) }
}

export const unauthenticated = (): DomainError => new DomainError('unauthenticated', 'Unauthenticated.')
