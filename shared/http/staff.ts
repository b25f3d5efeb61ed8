import type { FastifyRequest } from 'fastify'
import type { Actor } from '../audit.ts'
import { type FindCaller, findHolder, nameCaller, unauthenticated } from './authenticate.ts'

/** The member of staff a request speaks for. */
export interface Staff {
  readonly tenant: string
  readonly name: string
  readonly tokenId: string
  /** As the audit names them in this call. */
  readonly actor: Actor
}

const staff = new WeakMap<FastifyRequest, Staff>()

/** Whom a token speaks for; `staffName` is null when it is nobody of the staff. */
interface Caller {
  readonly tokenId: string
  readonly staffName: string | null
}

/** An onRequest hook: lets only requests with a token of staff pass, before any body is read. */
export const requireStaff =
  (findCaller: FindCaller<Caller>) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findHolder(request, findCaller)
    if (!caller?.staffName) throw unauthenticated()
    const { staffName: name, tokenId } = caller
    const actor: Actor = { kind: 'staff', name, tokenId, requestId: request.id }
    staff.set(request, { tenant, name, tokenId, actor })
    nameCaller(request, { tenant, token_id: tokenId })
  }

/** Whom `requireStaff` let pass. */
export const staffOf = (request: FastifyRequest): Staff => {
  const found = staff.get(request)
  if (!found) throw new Error('the route has no requireStaff hook')
  return found
}

/** Whose limit of calls it is: all tokens of a member of staff share what it may do. */
export const staffIn = (request: FastifyRequest): string => {
  const { tenant, name } = staffOf(request)
  return `${tenant} ${name}`
}
