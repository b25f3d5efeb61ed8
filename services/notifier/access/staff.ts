import type { Actor } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { type FindCaller, findHolder, unauthenticated } from '@courier/shared/http/authenticate.ts'
import { findLiveToken, type LiveToken, rememberCallers } from '@courier/shared/tokens.ts'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

/** Whom a token speaks for. */
export interface Caller {
  readonly tokenId: string
  readonly staffName: string
  readonly expiresAt: Date | null
}

export type StaffReader = FindCaller<Caller>

/** Finds the holders of tokens, remembering them for a few seconds. undefined: unknown, expired or revoked. */
export const createStaffReader = (pool: pg.Pool): StaffReader =>
  rememberCallers<Caller>((tenant, hash) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const row = await findLiveToken<LiveToken & { staff_name: string }>(tx, tenant, hash)
      return row && { tokenId: row.token_id, staffName: row.staff_name, expiresAt: row.expires_at }
    }),
  )

/** The member of staff a request speaks for. */
export interface Staff {
  readonly tenant: string
  readonly name: string
  readonly tokenId: string
  /** As the audit names them in this call. */
  readonly actor: Actor
}

const staff = new WeakMap<FastifyRequest, Staff>()

/** An onRequest hook: lets only requests with a token of staff pass, before any body is read. */
export const requireStaff =
  (findCaller: StaffReader) =>
  async (request: FastifyRequest): Promise<void> => {
    const { tenant, caller } = await findHolder(request, findCaller)
    if (!caller) throw unauthenticated()
    const { staffName: name, tokenId } = caller
    const actor: Actor = { kind: 'staff', name, tokenId, requestId: request.id }
    staff.set(request, { tenant, name, tokenId, actor })
    request.log = request.log.child({ tenant, token_id: tokenId })
  }

/** Whom `requireStaff` let pass. */
export const staffOf = (request: FastifyRequest): Staff => {
  const found = staff.get(request)
  if (!found) throw new Error('the route has no requireStaff hook')
  return found
}
