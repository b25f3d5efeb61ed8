import { httpError } from '@courier/shared/errors/errors.ts'
import { type FindTokenHolder, rememberCallers } from '@courier/shared/postgres/token-holders.ts'
import { findLiveTokens, hashToken, type LiveToken, mayBeToken } from '@courier/shared/postgres/tokens.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { createSessions, type SessionOptions, type StaffToken } from './sessions.ts'

/**
 * Finds the holders of tokens made here or by orders, cached for a few seconds. undefined: unknown, expired or revoked.
 * Throws 503 for a token that only orders can know while it does not respond.
 */
export const createStaffReader = ({ pool, ...options }: SessionOptions): FindTokenHolder<StaffToken> => {
  const findOwn = rememberCallers(pool, findStaff)
  const sessions = createSessions({ pool, ...options })
  const find = async (tenant: string, token: string, flood = false): Promise<StaffToken | undefined> => {
    const session = { tenant, hash: hashToken(token).toString('hex') }
    const own = sessions.findConfirmed(session) ?? (await findOwn(tenant, token, flood))
    if (own || !mayBeToken(token)) return own
    const found = await sessions.find(session, flood)
    if (found === 'unconfirmed') throw httpError('unavailable', unconfirmed, { retryAfterSeconds: 2 })
    return found
  }
  return Object.assign(find, { forget: findOwn.forget })
}

const unconfirmed =
  'Your login cannot be checked at the moment: the orders service does not respond. Nothing was changed; repeat the request.'

const findStaff = (tx: Tx, tenant: string, hashes: readonly Buffer[]) =>
  findLiveTokens<StaffToken & LiveToken>(tx, tenant, hashes, { columns: sql`array['admin'] as roles` })
