import { type Actor, audit } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/idempotency.ts'
import type pg from 'pg'
import type { Tables } from '../database/tables.ts'
import { checkMoves, type Mover } from './check-moves.ts'
import { limitLockWait, lockOrders, writeMoves } from './move-queries.ts'
import { findStatuses, keepStatusSet } from './status-queries.ts'

/** Orders that are to come to one status. */
export interface Move {
  readonly tenant: string
  readonly mover: Mover
  readonly waybills: readonly string[]
  readonly statusKey: string
  readonly note: string | null
  readonly key?: IdempotencyKey | undefined
  /** Whom the audit names; a merchant's own moves stand in the timeline alone. */
  readonly by?: Actor | undefined
}

export type Moved =
  /** `replayed`: an earlier call with the same key and body moved them. */
  | { kind: 'moved'; waybills: readonly string[]; replayed: boolean }
  | { kind: 'refused'; faults: Faults }
  /** A call with the same Idempotency-Key is running now. */
  | { kind: 'running' }
  /** The Idempotency-Key came with another body before. */
  | { kind: 'other_body' }

/** Moves all orders to a status with their timeline events and one row of the outbox, or none. One transaction. */
export const moveOrders = (pool: pg.Pool, move: Move): Promise<Moved> =>
  inTenant<Tables, Moved>(
    pool,
    move.tenant,
    async tx => {
      const { tenant, mover, waybills, statusKey, key, by } = move
      const claim = key && (await claimKey(tx, tenant, key))
      if (claim?.kind === 'finished') return { kind: 'moved', waybills: claim.result, replayed: true }
      if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
      // They run in this order on the connection; only their answers are waited for together.
      const [, , statuses, current] = await Promise.all([
        limitLockWait(tx),
        keepStatusSet(tx, tenant),
        findStatuses(tx, tenant),
        lockOrders(tx, tenant, mover, waybills),
      ])
      const faults = checkMoves(waybills, statusKey, mover, statuses, current)
      if (Object.keys(faults).length > 0) return { kind: 'refused', faults }
      await writeMoves(tx, move)
      if (by) await audit(tx, tenant, by, 'order.status_changed', waybills)
      if (key) await insertKey(tx, tenant, key, waybills)
      return { kind: 'moved', waybills, replayed: false }
    },
    ({ kind }) => kind === 'moved',
  )
