import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { inTenant, query, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { claimKey, deleteExpiredKey, type IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { toArrayLiteral } from './batch-rows.ts'
import { type Comparable, type FoundAlike, findAlike } from './similar-orders.ts'

interface Wanted {
  readonly waybills: readonly string[]
  readonly key?: IdempotencyKey | undefined
  /** Holds the batch if similar orders are an error or the response lists them. */
  readonly comparable?: Comparable | false | undefined
}

export type Conflicts = Awaited<ReturnType<typeof readConflicts>>

/**
 * Reads in one transaction what a batch may conflict with; `warnings` belong to the response that the claim holds.
 * Deletes an expired key, which frees it.
 */
export const readConflicts = async (pool: pg.Pool, tenant: string, { waybills, key, comparable }: Wanted) => {
  if (waybills.length === 0 && !key && !comparable)
    return { claim: undefined, warnings: {}, existing: new Set<string>(), alike: new Map() as FoundAlike }
  return inTenant(pool, tenant, async (tx: Tx) => {
    const [claim, warnings, existing, alike] = await Promise.all([
      key && claimKey(tx, tenant, key),
      key ? findWarnings(tx, tenant, key) : {},
      findExisting(tx, tenant, waybills),
      findAlike(tx, tenant, comparable ? [comparable] : []),
    ])
    if (key && claim?.kind === 'free') await deleteExpiredKey(tx, tenant, key)
    return { claim, warnings, existing, alike }
  }).catch(withoutDoubt)
}

const findWarnings = async (tx: Tx, tenant: string, { scope, key }: IdempotencyKey): Promise<FieldErrors> => {
  const [row] = await query<{ warnings: string | null }>(tx)`
    select warnings from idempotency_keys where tenant_id = ${tenant} and scope = ${scope} and idempotency_key = ${key}`
  return row?.warnings ? JSON.parse(row.warnings) : {}
}

export const findExisting = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const text = 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])'
  const rows = await tx.rows({ name: 'find_existing', text, values: [tenant, toArrayLiteral(waybills)] })
  return new Set(rows.map(row => row.waybill_number))
}
