import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { CommitInDoubt, inTenant, isUnavailable } from '@courier/shared/postgres/database.ts'
import { batchRequests, countWithin } from '@courier/shared/postgres/request-batcher.ts'
import { inSpans, type Tracer } from '@courier/shared/traces.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Alike, NewBatch } from './batch-rows.ts'
import { insertBatches, storeWarnings } from './insert-batch.ts'

/**
 * Writes a batch that was checked against `version` of the tenant's catalogue. Returns its warnings: it is committed.
 * undefined: nothing was written, because the version has changed, a waybill or the key exists, or, unless `alone`, another batch of the same
 * statement could not be written. Rejects when Postgres is unavailable or its response was lost.
 */
export type WriteBatch = (
  tenant: string,
  version: string,
  batch: NewBatch,
  alone: boolean,
) => Promise<FieldErrors | undefined>

/** In orders. Larger batches gain nothing from group commit. */
const maxSmallBatch = 100
/** The most orders in one statement of several batches. */
const maxGroupOrders = 1_000
/** While so many batches wait, or one waits so long, `lanes` statements of a tenant run at once. */
const crowdSize = 16
const patienceMilliseconds = 50
const lanes = 4
/** While more orders wait, two statements run: Postgres writes on both cores, and still many orders at once. */
const manyOrders = 200

interface Pending {
  readonly version: string
  readonly batch: NewBatch
}

/** Group commit: small batches of a tenant that arrive while others are written share the next statement. */
export const createBatchWriter = (pool: pg.Pool, tracer?: Tracer): WriteBatch => {
  const writeGrouped = batchRequests<Pending, FieldErrors | undefined>({
    run: async (tenant, pending) => {
      const batches = pending.map(({ batch }) => batch)
      const warnings = await writeAll(pool, tenant, pending[0]?.version ?? '', batches)
      return batches.map((_, index) => warnings?.[index])
    },
    take: groupSize,
    lanes: lanesFor,
    patience: { milliseconds: patienceMilliseconds, lanes },
  })
  const write: WriteBatch = async (tenant, version, batch, alone) =>
    alone || batch.waybills.length > maxSmallBatch
      ? (await writeAll(pool, tenant, version, [batch]))?.[0]
      : writeGrouped(tenant, { version, batch })
  return (tenant, version, batch, alone) =>
    inSpans(tracer, 'batch.write', 'internal', [batch], ([traced = batch]) => write(tenant, version, traced, alone))
}

/** The warnings of each batch. */
const writeAll = async (
  pool: pg.Pool,
  tenant: string,
  version: string,
  batches: readonly NewBatch[],
): Promise<readonly FieldErrors[] | undefined> => {
  try {
    return await inTenant(
      pool,
      tenant,
      async (tx: Tx) => {
        const alike = await insertBatches(tx, tenant, version, batches)
        const warnings = alike && batches.map(batch => warningsOf(batch, alike))
        if (alike?.size) await storeNewWarnings(tx, tenant, batches, warnings ?? [])
        return warnings
      },
      { keeps: written => written !== undefined, isPlannedOnce: true },
    )
  } catch (error) {
    if (error instanceof CommitInDoubt || isUnavailable(error)) throw error
    // One batch can fail the statement for all: the caller retries each alone.
    if (batches.length > 1 || isCollision(error as DatabaseError)) return undefined
    throw error
  }
}

const warningsOf = (batch: NewBatch, alike: ReadonlyMap<string, Alike>): FieldErrors => {
  const found = batch.warningsOf && alike.size > 0 ? batch.waybills.map(waybill => alike.get(waybill)) : []
  return found.some(Boolean) ? (batch.warningsOf?.(found) ?? {}) : batch.warnings
}

/** A repeated request gets the same response. */
const storeNewWarnings = async (
  tx: Tx,
  tenant: string,
  batches: readonly NewBatch[],
  found: readonly FieldErrors[],
): Promise<void> => {
  for (const [index, { key, warnings }] of batches.entries()) {
    const all = found[index]
    if (key && all && all !== warnings) await storeWarnings(tx, tenant, key, all)
  }
}

interface DatabaseError {
  readonly code?: unknown
  readonly table?: unknown
}

/** A waybill or a key exists, or a deadlock. The table of a shard has a suffix. */
const isCollision = ({ code, table }: DatabaseError): boolean =>
  code === '40P01' || (code === '23505' && /^(orders|idempotency_keys)(_\d+)?$/.test(String(table)))

const lanesFor = (waiting: readonly Pending[]): number => {
  if (waiting.length >= crowdSize) return lanes
  return countWithin(waiting, manyOrders, ({ batch }) => batch.waybills.length) < waiting.length ? 2 : 1
}

/** How many of the first batches fit one statement: all must have the same version. */
const groupSize = (waiting: readonly Pending[]): number =>
  countWithin(waiting, maxGroupOrders, ({ version, batch }) =>
    version === waiting[0]?.version ? batch.waybills.length : Number.POSITIVE_INFINITY,
  )
