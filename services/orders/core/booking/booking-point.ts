import { type ErrorList, isBlank } from '@courier/shared/errors/field-errors.ts'
import type pg from 'pg'
import type { ReadableBatch } from './read-batch.ts'

/** Describes a value of general_data that a capability reads. */
export interface GivenField {
  readonly tenant: string
  readonly merchantId: string
  readonly businessId: string
  /** Is as the client sent it: any JSON value that is not blank. */
  readonly value: unknown
}

/** Lets a capability read a field of general_data that the core ignores, and keep it with the orders of the batch. */
export interface BookingPoint {
  readonly field: string
  /** Returns what orders keep in `booked_with`, or an error. undefined: the field is ignored. */
  readonly read: (pool: pg.Pool, given: GivenField) => Promise<{ keep: string } | { error: string } | undefined>
}

interface Asked {
  readonly tenant: string
  readonly merchantId: string
  readonly batch: ReadableBatch
}

/** Returns what the orders of a batch keep, as JSON. Costs no query for a batch without such fields. */
export const readPoints = async (
  pool: pg.Pool,
  points: readonly BookingPoint[],
  { tenant, merchantId, batch: { given = {}, businessId } }: Asked,
  errors: ErrorList,
): Promise<string | undefined> => {
  const kept: Record<string, string> = {}
  for (const { field, read } of points) {
    const value = given[field]
    if (businessId === undefined || isBlank(value)) continue
    const found = await read(pool, { tenant, merchantId, businessId, value })
    if (found && 'error' in found) errors.add(`general_data.${field}`, found.error)
    else if (found) kept[field] = found.keep
  }
  return Object.keys(kept).length > 0 ? JSON.stringify(kept) : undefined
}
