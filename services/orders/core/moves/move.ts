import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Catalogues } from '../catalogue/catalogue.ts'
import { readStatuses } from '../catalogue/queries.ts'
import type { Tables, Tx } from '../database/tables.ts'
import { keepStatusSet } from '../statuses/status-queries.ts'
import { deliveredKeys, failedAttemptKeys } from '../statuses/statuses.ts'
import { checkMoves, findActor, nameMover } from './check-moves.ts'
import type { LockedMove, LockedOrder, MovePoint, WantedMove } from './move-points.ts'

export interface ChangeOptions {
  readonly pool: pg.Pool
  readonly movePoints: readonly MovePoint[]
  readonly catalogues: Catalogues
  /** Runs after a change is committed. */
  readonly onChanged: (tenant: string) => void
}

export interface Move extends WantedMove {
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

type MoveOptions = Pick<ChangeOptions, 'pool' | 'movePoints' | 'catalogues'>

/** Moves all orders to a status, with their timeline events and log entries, or none. Runs in one transaction. */
export const moveOrders = (options: MoveOptions, move: Move): Promise<Moved> =>
  inTenant<Tables, Moved>(
    options.pool,
    move.tenant,
    async tx => {
      const { tenant, key } = move
      const claim = key && (await claimKey(tx, tenant, key))
      if (claim?.kind === 'finished') return { kind: 'moved', waybills: claim.result, replayed: true }
      if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
      return moveIn(tx, options, move)
    },
    { keeps: ({ kind }) => kind === 'moved', isPlannedOnce: true },
  )

/** Runs `moveOrders` in the caller's transaction, which has claimed a key. Writes nothing when the move is refused. */
export const moveIn = async (
  tx: Tx,
  { movePoints: points, catalogues }: Omit<MoveOptions, 'pool'>,
  wanted: Move,
): Promise<Extract<Moved, { kind: 'moved' | 'refused' }>> => {
  const { tenant, mover, waybills, statusKey, by, key } = wanted
  // The queries are pipelined: the connection runs them in this order.
  const locked = Promise.all([
    limitLockWait(tx),
    keepStatusSet(tx, tenant),
    readStatuses(tx, catalogues, tenant),
    lockOrders(tx, tenant, waybills, 'merchantId' in mover ? mover.merchantId : null),
  ]).then(([, , statuses, current]) => ({ ...wanted, statuses, to: statuses.get(statusKey), current }))
  const [move, checked] = await Promise.all([locked, checkPoints(tx, points, wanted, locked)])
  const keys = new Map(move.current.map(row => [row.waybill_number, row.status_key]))
  const errors = { ...checked.errors, ...checkMoves(waybills, statusKey, mover, move.statuses, keys) }
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  await Promise.all([
    writeMoves(tx, move),
    ...points.map((point, index) => point.write?.(tx, move, checked.found[index])),
    by && audit(tx, tenant, by, 'order.status_changed', waybills),
    key && insertKey(tx, tenant, key, waybills),
  ])
  return { kind: 'moved', waybills, replayed: false }
}

/** Checks a move or an edit; `found` holds what each point found. */
export const checkPoints = async (
  tx: Tx,
  points: readonly MovePoint[],
  wanted: WantedMove,
  locked: Promise<LockedMove>,
) => {
  const checked = await Promise.all(points.map(point => point.check?.(tx, wanted, locked)))
  const errors: FieldErrors = Object.assign({}, ...checked.map(each => each?.errors))
  return { errors, found: checked.map(each => each?.found) }
}

/** Limits the wait for a lock: a lock that is not acquired within two seconds ends the request with 503. */
export const limitLockWait = (tx: Tx) => tx.client.query(`set local lock_timeout = '2s'`)

/**
 * Locks orders, of the merchant if given, until the transaction ends, and returns them as read under the lock. Locking
 * in the order of the waybills prevents deadlocks.
 */
export const lockOrders = (
  tx: Tx,
  tenant: string,
  waybills: readonly string[],
  merchantId: string | null,
): Promise<LockedOrder[]> =>
  tx.rows({ name: 'lock_orders', text: lockOrdersSql, values: [tenant, waybills, merchantId] })

const lockOrdersSql = `
  select waybill_number, merchant_id, status_key, cod from orders
  where tenant_id = $1 and waybill_number = any($2::text[]) and ($3::bigint is null or merchant_id = $3)
  order by waybill_number for no key update`

/**
 * Writes a checked move of locked orders. Reads the clock and takes entry ids while the rows are locked, so that the
 * events of a waybill never go backwards.
 */
const writeMoves = (tx: Tx, move: LockedMove & Pick<Move, 'traceparent'>) => {
  const { tenant, waybills, statusKey, note, mover, traceparent, given = {} } = move
  const trace = traceparent ? [traceparent] : null
  const failed = deliveredKeys.includes(statusKey) ? failedAttemptKeys : null
  const values = [tenant, waybills, statusKey, nameMover(mover), note, trace, findActor(mover), failed]
  return tx.client.query({ name: 'write_moves', text: writeMovesSql, values: [...values, given.reason_code ?? null] })
}

/**
 * Lists the orders among `waybills` that had a failed delivery, for `update orders … from`. `failedKeys` has the
 * statuses of failed deliveries; null: the move delivers nothing, and the list is null. Citus refuses a query per order
 * below `set`.
 */
export const failedSql = (waybills: string, failedKeys: string): string => `(
    select case when ${failedKeys}::text[] is not null then coalesce(array_agg(waybill_number), '{}') end as waybills
    from order_events where tenant_id = $1 and waybill_number = any(${waybills}::text[])
      and ${failedKeys}::text[] is not null and status_key = any(${failedKeys}::text[]) and is_counted
  ) failed`

const writeMovesSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), moved as (
    update orders set status_key = $3, first_attempt = waybill_number <> all(failed.waybills)
    from ${failedSql('$2', '$8')} where tenant_id = $1 and waybill_number = any($2::text[])
    returning merchant_id, waybill_number
  ), events as (
    insert into order_events (tenant_id, waybill_number, status_key, happened_at, staff_name, note, actor, reason_code)
    select $1, waybill_number, $3, now, $4, $5, nullif($7, 'staff'), $9 from clock, unnest($2::text[]) as waybill_number
      returning tenant_id
  )
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, note, happened_at, traceparents,
    is_relayed, details)
  select $1, merchant_id, 'order.status_changed', array_agg(waybill_number order by waybill_number),
    array_fill($3::text, array[count(*)::int]), $7, $5, (select now from clock), $6::text[], not messaging,
    case when $9::text is not null then jsonb_build_object('reason_code', $9::text) end
  from moved, tenants where tenants.tenant_id = $1 group by merchant_id, messaging returning log.tenant_id`
