import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import { checkReason, followMove } from '../../capabilities/failures/attempts.ts'
import { type Collection, checkCollection, collectionParameters } from '../../capabilities/money/collection.ts'
import { moveLinesSql } from '../../capabilities/money/move-lines.ts'
import { findBooked, wordBooked } from '../../capabilities/money/parcels.ts'
import type { Tables, Tx } from '../database/tables.ts'
import { findLineKind, isBeforeMoney, refuseBooking } from '../statuses/check-set.ts'
import { findStatuses, keepStatusSet } from '../statuses/status-queries.ts'
import {
  type Booking,
  bookings,
  deliveredKeys,
  failedAttemptKeys,
  findBooking,
  type Status,
} from '../statuses/statuses.ts'
import { checkMoves, findActor, type Mover, nameMover } from './check-moves.ts'

/** Holds the options of routes that change orders. */
export interface ChangeOptions {
  readonly pool: pg.Pool
  /** Runs after a change is committed. */
  readonly onChanged: (tenant: string) => void
}

/** Describes orders to move to one status. */
export interface Move {
  readonly tenant: string
  readonly mover: Mover
  readonly waybills: readonly string[]
  readonly statusKey: string
  readonly note: string | null
  /** Is the reason why the delivery failed or the parcel goes back, from the company's list. */
  readonly reasonCode?: string | undefined
  readonly collection?: Collection
  readonly key?: IdempotencyKey | undefined
  /** Names the person in the audit; a merchant's own moves appear only in the timeline. */
  readonly by?: Actor | undefined
  readonly traceparent?: string | undefined
}

export type Moved =
  /** `replayed`: an earlier request with the same key and body moved the orders. */
  | { kind: 'moved'; waybills: readonly string[]; replayed: boolean }
  | { kind: 'refused'; errors: FieldErrors }
  /** A request with the same Idempotency-Key is running now. */
  | { kind: 'running' }
  /** The Idempotency-Key was used before with another body. */
  | { kind: 'other_body' }

/** Moves all orders to a status, with their timeline events and log entries, or none. Runs in one transaction. */
export const moveOrders = (pool: pg.Pool, move: Move): Promise<Moved> =>
  inTenant<Tables, Moved>(
    pool,
    move.tenant,
    async tx => {
      const { tenant, waybills, key } = move
      const claim = key && (await claimKey(tx, tenant, key))
      if (claim?.kind === 'finished') return { kind: 'moved', waybills: claim.result, replayed: true }
      if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
      const moved = await moveIn(tx, move)
      if (moved.kind === 'moved' && key) await insertKey(tx, tenant, key, waybills)
      return moved
    },
    { keeps: ({ kind }) => kind === 'moved', isPlannedOnce: true },
  )

const asOrdered: Collection = { collectedBy: null, collected: {} }

/** Runs `moveOrders` in the caller's transaction, without a key. Writes nothing when the move is refused. */
export const moveIn = async (
  tx: Tx,
  move: Omit<Move, 'key'>,
): Promise<Extract<Moved, { kind: 'moved' | 'refused' }>> => {
  const { tenant, mover, waybills, statusKey, by, collection = asOrdered } = move
  // The queries are pipelined: the connection runs them in this order.
  const [, , statuses, current] = await Promise.all([
    limitLockWait(tx),
    keepStatusSet(tx, tenant),
    findStatuses(tx, tenant),
    lockOrders(tx, tenant, mover, waybills),
  ])
  const booking = findBooking(statuses.get(statusKey))
  const keys = new Map(current.map(row => [row.waybill_number, row.status_key]))
  const cods = new Map(current.map(row => [row.waybill_number, row.cod]))
  const [reasonErrors, moneyErrors] = await Promise.all([
    checkReason(tx, tenant, statusKey, move.reasonCode),
    checkMoney(tx, move, statuses.get(statusKey)),
  ])
  const errors = {
    ...moneyErrors,
    ...checkMoves(waybills, statusKey, mover, statuses, keys),
    ...reasonErrors,
    ...checkCollection(collection, booking, waybills, cods),
  }
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  await writeMoves(tx, { ...move, collection }, booking)
  await followMove(tx, tenant, { current, statusKey, reasonCode: move.reasonCode ?? null })
  if (by) await audit(tx, tenant, by, 'order.status_changed', waybills)
  return { kind: 'moved', waybills, replayed: false }
}

/**
 * Lists the errors of a move whose money cannot be booked, or that would let a booked order be edited or cancelled.
 * Stored sets may allow both, as long as `apply` accepted them.
 */
const checkMoney = async (
  tx: Tx,
  { tenant, waybills }: Pick<Move, 'tenant' | 'waybills'>,
  to: Status | undefined,
): Promise<FieldErrors> => {
  const refused = refuseBooking(to)
  if (refused) return { status_key: [`${refused} The company corrects its set of statuses.`] }
  const kind = findLineKind(findBooking(to))
  const isEarly = to !== undefined && isBeforeMoney(to.key)
  if (!kind && !isEarly) return {}
  const booked = (await findBooked(tx, tenant, waybills)).filter(each => isEarly || each.kind === kind)
  return Object.fromEntries(
    booked.map(each => [`waybill_numbers.${waybills.indexOf(each.waybill_number)}`, [wordBooked(each)]]),
  )
}

/** Limits the wait for a lock: a lock that is not acquired within two seconds ends the request with 503. */
export const limitLockWait = (tx: Tx) => tx.client.query(`set local lock_timeout = '2s'`)

type LockedOrder = { readonly waybill_number: string; readonly status_key: string; readonly cod: number }

/**
 * Locks the `waybills` that the mover may see until the transaction ends, and returns them as read under the lock.
 * Locking in the order of the waybills prevents deadlocks.
 */
const lockOrders = (tx: Tx, tenant: string, mover: Mover, waybills: readonly string[]): Promise<LockedOrder[]> => {
  const values = [tenant, waybills, 'merchantId' in mover ? mover.merchantId : null]
  return tx.rows({ name: 'lock_orders', text: lockOrdersSql, values })
}

const lockOrdersSql = `
  select waybill_number, status_key, cod from orders
  where tenant_id = $1 and waybill_number = any($2::text[]) and ($3::bigint is null or merchant_id = $3)
  order by waybill_number for no key update`

/**
 * Writes a checked move of locked orders. Reads the clock and takes entry ids while the rows are locked, so that the
 * events of a waybill never go backwards.
 */
const writeMoves = async (
  tx: Tx,
  { tenant, waybills, statusKey, note, mover, traceparent, reasonCode, collection = asOrdered }: Omit<Move, 'key'>,
  booking: Booking,
) => {
  const staffName = nameMover(mover)
  const failed = deliveredKeys.includes(statusKey) ? await findFailed(tx, tenant, waybills) : null
  const trace = traceparent ? [traceparent] : null
  const values: unknown[] = [tenant, waybills, statusKey, staffName, note, trace, findActor(mover), failed, reasonCode]
  if (booking === 'delivery' || booking === 'partial_delivery')
    values.push(...collectionParameters(collection), collection.collectedBy ?? staffName)
  return tx.client.query({ name: `write_moves_${booking}`, text: writeMovesSql[booking], values })
}

/** Finds the orders among `waybills` that have had a failed delivery. */
export const findFailed = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<string[]> => {
  const values = [tenant, waybills, failedAttemptKeys]
  return (await tx.rows({ name: 'find_failed', text: failedSql, values })).map(row => row.waybill_number)
}

const failedSql = `
  select distinct waybill_number from order_events
  where tenant_id = $1 and waybill_number = any($2::text[]) and status_key = any($3::text[]) and is_counted`

const writeMovesTo = (booking: Booking): string => `
  with clock as materialized (
    select clock_timestamp() as now, uuidv7() as journal_id
  ), moved as (
    update orders set status_key = $3, first_attempt = waybill_number <> all($8::text[]) where tenant_id = $1
      and waybill_number = any($2::text[])
    returning merchant_id, waybill_number, cod, weight, delivery_charge
  ), events as (
    insert into order_events (tenant_id, waybill_number, status_key, happened_at, staff_name, note, actor, reason_code)
    select $1, waybill_number, $3, now, $4, $5, nullif($7, 'staff'), $9 from clock, unnest($2::text[]) as waybill_number
      returning tenant_id
  )${moveLinesSql(booking)}
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, note, happened_at, traceparents,
    is_relayed, details)
  select $1, merchant_id, 'order.status_changed', array_agg(waybill_number order by waybill_number),
    array_fill($3::text, array[count(*)::int]), $7, $5, (select now from clock), $6::text[], not messaging,
    case when $9::text is not null then jsonb_build_object('reason_code', $9::text) end
  from moved, tenants where tenants.tenant_id = $1 group by merchant_id, messaging returning log.tenant_id`

const writeMovesSql = Object.fromEntries(bookings.map(each => [each, writeMovesTo(each)])) as Record<Booking, string>
