import type { FastifyInstance, FastifyRequest } from 'fastify'
import { rolesFor, type StaffRole } from '../contract/staff-roles.ts'
import { readIdempotencyKey } from '../edge/idempotency.ts'
import { Limit, limitRequests } from '../edge/limits.ts'
import { refuseUnknownFields } from '../edge/validator.ts'
import { ErrorBody, httpError } from '../errors/errors.ts'
import type { Actor } from '../postgres/audit.ts'
import type { IdempotencyKey } from '../postgres/idempotency.ts'
import type { FindTokenHolder } from '../postgres/token-holders.ts'
import { bindCaller, findTokenHolder, unauthenticated } from './authenticate.ts'

/** Describes the member of staff that a request is authenticated as. */
export interface Staff {
  readonly tenant: string
  readonly name: string
  readonly roles: readonly StaffRole[]
  readonly tokenId: string
  /** Names who acts in the audit entries of this request. */
  readonly actor: Actor
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Is set by `requireStaff`. */
    staff: Staff
  }
}

/** Describes the caller that a token authenticates; `staffName` is null when the caller is not staff. */
interface Caller {
  readonly tokenId: string
  readonly staffName: string | null
  readonly roles: readonly StaffRole[]
}

/** Admits, as an onRequest hook, only requests with a staff token, before the body is read. */
const requireStaff =
  (findCaller: FindTokenHolder<Caller>) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findTokenHolder(request, findCaller)
    if (!caller?.staffName) throw unauthenticated()
    const { staffName: name, roles, tokenId } = caller
    const actor: Actor = { kind: 'staff', name, tokenId, requestId: request.id }
    request.staff = { tenant, name, roles, tokenId, actor }
    bindCaller(request, { tenant, token_id: tokenId })
  }

/** Reads the Idempotency-Key of a member of staff: the same key of another person is another key. */
export const readStaffKey = (request: FastifyRequest, operation: string): IdempotencyKey | undefined => {
  const key = readIdempotencyKey(request, `${operation} by ${request.staff.name}`)
  return key && { ...key, formerScope: operation }
}

/** All tokens of a member of staff share one limit. */
const writeLimitKey = ({ staff: { tenant, name } }: FastifyRequest): string => `${tenant} ${name}`

const wordRefusal = (roles: readonly string[], allowed: readonly string[]): string =>
  `Your role${roles.length > 1 ? 's' : ''}, ${roles.join(' and ')}, may not do this. Allowed: ${allowed.join(', ')}.`

const forbidden = {
  ...ErrorBody,
  description: "None of the caller's roles may send the request. The message names these roles and those that may.",
  examples: [{ message: wordRefusal(['viewer'], ['dispatcher', 'admin']), code: 'role_forbidden' }],
}

/** Returns true if one of the roles of a member of staff permits an operation. */
export const mayCall = ({ roles }: Staff, operationId: string): boolean =>
  !!rolesFor(operationId)?.some(role => roles.includes(role))

/**
 * Admits, as an onRequest hook, only staff with one of the roles that shared/contract/staff-roles.ts lists for the
 * operation.
 */
const requireRole = async ({ staff, routeOptions }: FastifyRequest): Promise<void> => {
  const { operationId = '' } = routeOptions.schema ?? {}
  if (!mayCall(staff, operationId))
    throw httpError('role_forbidden', wordRefusal(staff.roles, rolesFor(operationId) ?? []))
}

/**
 * Opens the routes of `app` to staff: they require a staff token and a role, count against the limit of the person, and
 * refuse unknown query fields. Registering a route that has no roles throws.
 */
export const admitStaff = (
  app: FastifyInstance,
  findCaller: FindTokenHolder<Caller>,
  requestsPerMinute: number,
): void => {
  app.addHook('onRoute', route => {
    const { operationId = '', response, security = [{ token: [] }] } = route.schema ?? {}
    if (!rolesFor(operationId))
      throw new Error(`${route.method} ${route.url}: shared/contract/staff-roles.ts has no roles for ${operationId}`)
    route.schema = { ...route.schema, security, response: { ...(response as object), 403: forbidden } }
  })
  app.addHook('onRequest', requireStaff(findCaller))
  app.addHook('onRequest', limitRequests(new Limit('staff', requestsPerMinute), writeLimitKey))
  app.addHook('onRequest', requireRole)
  refuseUnknownFields(app)
}
