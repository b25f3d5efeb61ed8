import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { TProperties } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { Status, Statuses } from '../statuses/statuses.ts'
import type { Mover } from './check-moves.ts'

export interface WantedMove {
  readonly tenant: string
  readonly mover: Mover
  readonly waybills: readonly string[]
  readonly statusKey: string
  readonly note: string | null
  /** Holds the fields of the request that the points define, by name. */
  readonly given?: Readonly<Record<string, unknown>>
}

export interface LockedOrder {
  readonly waybill_number: string
  readonly merchant_id: string
  readonly status_key: string
  readonly cod: number
}

/** Holds what a move reads under its locks. */
export interface LockedMove extends WantedMove {
  readonly statuses: Statuses
  /** Is undefined if the set lacks the status. */
  readonly to: Status | undefined
  /** Lists the orders that the mover may see, with their status before the move. */
  readonly current: readonly LockedOrder[]
}

/** Describes a move that staff take back; its order is locked. */
export interface TakenMove {
  readonly tenant: string
  readonly order: LockedOrder
  /** Is the status that the order returns to. */
  readonly backTo: string
  readonly movedAt: Date
  readonly by: string
  readonly reason: string
}

/** Sums the cash of parcels that a member of staff has. */
export interface HeldCash {
  readonly name: string
  readonly parcels: number
  readonly amount: number
}

/** Lets the capability that books what recipients pay say how they pay, and who has their cash. */
export interface CashPoint {
  readonly methods: readonly string[]
  /** Reads the cash of one person, or of everybody. */
  readonly read: (tx: Tx, tenant: string, name?: string) => Promise<readonly HeldCash[]>
  /** Returns true if the office has taken the cash of a delivered parcel. */
  readonly isHandedOver: (tx: Tx, tenant: string, waybill: string) => Promise<boolean>
}

/** Holds the errors by the path of the request, and what `write` needs of what the check found. */
export interface Checked<Found> {
  readonly errors: FieldErrors
  readonly found?: Found
}

/**
 * Lets a capability take part in moves. All functions run in the transaction of the move, whose orders are locked, and
 * send their queries at once: the connection pipelines those of all points.
 */
// biome-ignore lint/suspicious/noExplicitAny: each point finds something else
export interface MovePoint<Found = any> {
  /** Defines fields of the body of staff's move, all optional. */
  readonly fields?: TProperties
  /**
   * Checks a move; with any error, nothing is written. Edits of an order are checked too. A query that it sends before
   * it awaits `locked` still runs under the locks, and costs no round trip of its own.
   */
  readonly check?: (tx: Tx, wanted: WantedMove, locked: Promise<LockedMove>) => Promise<Checked<Found>>
  /** Writes what follows from a checked move, after the order and its timeline. */
  readonly write?: (tx: Tx, move: LockedMove, found: Found) => Promise<unknown>
  /** Undoes what `write` wrote, or returns errors and writes nothing. */
  readonly undo?: (tx: Tx, taken: TakenMove) => Promise<FieldErrors>
}
