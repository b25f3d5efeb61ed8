import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { inTenant, isLost } from '@courier/shared/postgres/database.ts'
import { batchRequests, countWithin } from '@courier/shared/postgres/request-batcher.ts'
import { inSpans, type Tracer } from '@courier/shared/traces.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { NewBatch } from './batch-rows.ts'
import { insertBatches, nameBooker, storeWarnings } from './insert-batch.ts'
import { findAlike } from './similar-orders.ts'
import { addAlike } from './warnings.ts'

/** Every outcome but `written` means that nothing was written. */
type Written =
  /** The batch is committed. */
  | { kind: 'written'; warnings: FieldErrors }
  /** The catalogue's version has changed. */
  | { kind: 'stale' }
  /** A waybill or the key exists or is in use, or the tenant refuses an order that is like an earlier one. */
  | { kind: 'taken' }

/** Writes a checked batch. Rejects when Postgres is unavailable or its response was lost. */
export type WriteBatch = (tenant: string, batch: NewBatch) => Promise<Written>

/** `retry_alone`: another batch of the same statement may be the one in conflict. */
type WrittenTogether = Written | { kind: 'retry_alone' }

/** Limits the orders of a small batch. Larger batches gain nothing from group commit. */
const maxSmallBatch = 100
/** Limits the orders in one statement of several batches. */
const maxGroupOrders = 1_000
/** While this many batches wait, or one has waited this long, `lanes` statements of a tenant run at once. */
const crowdSize = 16
const patienceMilliseconds = 50
const lanes = 4
/** While more orders than this wait, two statements run: Postgres uses two cores, and still writes many at once. */
const manyOrders = 200

/**
 * Commits in groups: small batches of a tenant that arrive while others are written share the next statement. A
 * statement for each batch was tried: 64 connections of single bookings then reached .42 of this rate, .48 with keys.
 */
export const createBatchWriter = (pool: pg.Pool, tracer?: Tracer): WriteBatch => {
  const writeGrouped = batchRequests<NewBatch, WrittenTogether>({
    run: (tenant, batches) => writeTogether(pool, tenant, batches),
    take: countGroup,
    lanes: chooseLanes,
    patience: { milliseconds: patienceMilliseconds, lanes },
  })
  const write: WriteBatch = async (tenant, batch) => {
    const isSmall = batch.waybills.length <= maxSmallBatch
    const written = isSmall ? await writeGrouped(tenant, batch) : undefined
    if (written && written.kind !== 'retry_alone') return written
    const [alone] = await writeTogether(pool, tenant, [batch])
    return alone as Written
  }
  return (tenant, batch) =>
    inSpans(tracer, 'batch.write', 'internal', [batch], ([traced = batch]) => write(tenant, traced))
}

/** Writes all batches in one transaction, or none. Never asks to retry a single batch alone. */
const writeTogether = async (
  pool: pg.Pool,
  tenant: string,
  batches: readonly NewBatch[],
): Promise<readonly WrittenTogether[]> => {
  const taken = batches.map(() => ({ kind: batches.length > 1 ? 'retry_alone' : 'taken' }) as const)
  try {
    return await inTenant(pool, tenant, async (tx: Tx) => (await write(tx, tenant, batches)) ?? taken, {
      keeps: ([first]) => first?.kind === 'written',
      isPlannedOnce: true,
    })
  } catch (error) {
    if (!isLost(error) && (batches.length > 1 || isCollision(error as DatabaseError))) return taken
    throw error
  }
}

/**
 * Writes, then looks for similar orders where there may be any. undefined: a key is known or in use, or the tenant
 * refuses an order that is like an earlier one. Throws 23505 for an existing waybill.
 */
const write = async (tx: Tx, tenant: string, batches: readonly NewBatch[]): Promise<Written[] | undefined> => {
  const { is_current, is_free, maybe_alike } = await insertBatches(tx, tenant, batches)
  if (!is_current) return batches.map(() => ({ kind: 'stale' }))
  if (!is_free) return undefined
  for (const { person, waybills } of batches) if (person) await nameBooker(tx, tenant, person.name, waybills)
  const alike = maybe_alike ? await findAlikeAmong(tx, tenant, batches, maybe_alike) : new Map()
  const written: Written[] = []
  for (const { batch, duplicates, key, warnings } of batches) {
    const isRepeated = alike.size > 0 && batch.orders.some(order => alike.has(order))
    if (isRepeated && duplicates === 'refuse') return undefined
    const all = isRepeated ? addAlike(warnings, batch.orders, alike) : warnings.errors
    // A repeated request gets the same response.
    if (isRepeated && key) await storeWarnings(tx, tenant, key, all)
    written.push({ kind: 'written', warnings: all })
  }
  return written
}

/** Looks up the orders of `suspected` waybills alone: a tenant has many customers, of whom few ordered today. */
const findAlikeAmong = (tx: Tx, tenant: string, batches: readonly NewBatch[], suspected: readonly string[]) => {
  const isSuspected = new Set(suspected)
  const groups = batches.map(({ merchantId, waybills, batch: { country, orders } }) => {
    return { merchantId, country, orders: orders.filter((_, index) => isSuspected.has(waybills[index] ?? '')) }
  })
  const written = batches.flatMap(({ waybills }) => waybills)
  return findAlike(tx, tenant, groups, written)
}

interface DatabaseError {
  readonly code?: unknown
  readonly table?: unknown
  readonly message?: unknown
}

/**
 * Returns true if a waybill or a key exists, or for a deadlock. The table of a shard has a suffix; an error from
 * another node of Citus names no table, only the constraint.
 */
const isCollision = ({ code, table, message }: DatabaseError): boolean =>
  code === '40P01' ||
  (code === '23505' &&
    (/^(orders|idempotency_keys)(_\d+)?$/.test(String(table)) ||
      /"(orders|idempotency_keys)_pkey(_\d+)?"$/.test(String(message))))

const chooseLanes = (waiting: readonly NewBatch[]): number => {
  if (waiting.length >= crowdSize) return lanes
  return countWithin(waiting, manyOrders, ({ waybills }) => waybills.length) < waiting.length ? 2 : 1
}

/**
 * Returns how many of the first batches fit into one statement: all must have the same version. A batch with an order
 * like an earlier one waits for the next statement, which sees that order: a request is often sent twice at once.
 */
const countGroup = (waiting: readonly NewBatch[]): number => {
  const seen = new Set<string>()
  return countWithin(waiting, maxGroupOrders, batch =>
    batch.version === waiting[0]?.version && !isRepeated(batch, seen)
      ? batch.waybills.length
      : Number.POSITIVE_INFINITY,
  )
}

/** Returns true if an order is like one in `seen`; otherwise adds the orders of the batch to `seen`. */
const isRepeated = ({ merchantId, batch: { orders }, duplicates }: NewBatch, seen: Set<string>): boolean => {
  if (duplicates === 'off') return false
  const keys = orders.flatMap(({ order: { cod, orderNo }, destination: { id }, phone }) => {
    const parcel = `${merchantId} ${cod} ${id} ${phone.key}`
    return orderNo === undefined ? parcel : [parcel, `${merchantId} ${orderNo.normalize('NFC')}`]
  })
  if (keys.some(key => seen.has(key))) return true
  for (const key of keys) seen.add(key)
  return false
}
