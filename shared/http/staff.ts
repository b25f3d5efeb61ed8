import type { FastifyRequest } from 'fastify'
import type { Actor } from '../postgres/audit.ts'
import type { FindTokenHolder } from '../postgres/token-holders.ts'
import { bindCaller, findTokenHolder, unauthenticated } from './authenticate.ts'

/** The member of staff that a request is authenticated as. */
export interface Staff {
  readonly tenant: string
  readonly name: string
  readonly tokenId: string
  /** For the audit entries of this request. */
  readonly actor: Actor
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireStaff`. */
    staff: Staff
  }
}

/** The caller that a token authenticates; `staffName` is null when it is not staff. */
interface Caller {
  readonly tokenId: string
  readonly staffName: string | null
}

/** An onRequest hook: admits only requests with a staff token, before the body is read. */
export const requireStaff =
  (findCaller: FindTokenHolder<Caller>) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findTokenHolder(request, findCaller)
    if (!caller?.staffName) throw unauthenticated()
    const { staffName: name, tokenId } = caller
    const actor: Actor = { kind: 'staff', name, tokenId, requestId: request.id }
    request.staff = { tenant, name, tokenId, actor }
    bindCaller(request, { tenant, token_id: tokenId })
  }

/** The key of the rate limit: all tokens of a member of staff share one. */
export const staffIn = ({ staff: { tenant, name } }: FastifyRequest): string => `${tenant} ${name}`
