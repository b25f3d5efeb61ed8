import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Claim, claimKey, deleteExpiredKey, type IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { arrayLiteral } from './batch-rows.ts'
import { type Comparable, type FoundAlike, findAlike } from './similar-orders.ts'

/** The values to look up for a batch. */
interface Wanted {
  readonly waybills: readonly string[]
  readonly key?: IdempotencyKey | undefined
  /** The batch, if similar orders are an error or the response lists them. */
  readonly comparable?: Comparable | false | undefined
}

export interface Conflicts {
  readonly claim: Claim | undefined
  /** The warnings of the response that the claim has. */
  readonly warnings: FieldErrors
  readonly existing: ReadonlySet<string>
  readonly alike: FoundAlike
}

/** Reads in one transaction what a batch may conflict with. Deletes an expired key, which frees it. */
export const readConflicts = async (
  pool: pg.Pool,
  tenant: string,
  { waybills, key, comparable }: Wanted,
): Promise<Conflicts> => {
  if (waybills.length === 0 && !key && !comparable)
    return { claim: undefined, warnings: {}, existing: new Set(), alike: new Map() }
  return inTenant(pool, tenant, async (tx: Tx) => {
    const [claim, warnings, existing, alike] = await Promise.all([
      key && claimKey(tx, tenant, key),
      key ? findWarnings(tx, tenant, key) : {},
      findExisting(tx, tenant, waybills),
      findAlike(tx, tenant, comparable ? [comparable] : []),
    ])
    if (key && claim?.kind === 'free') await deleteExpiredKey(tx, tenant, key)
    return { claim, warnings, existing, alike }
  })
}

const findWarnings = async (tx: Tx, tenant: string, { scope, key }: IdempotencyKey): Promise<FieldErrors> => {
  const row = await tx
    .selectFrom('idempotency_keys')
    .select('warnings')
    .where('tenant_id', '=', tenant)
    .where('scope', '=', scope)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
  return row?.warnings ? JSON.parse(row.warnings) : {}
}

/** Returns the `waybills` that exist. */
export const findExisting = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const { rows } = await tx.client.query({
    name: 'find_existing',
    text: 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])',
    values: [tenant, arrayLiteral(waybills)],
  })
  return new Set(rows.map((row: { waybill_number: string }) => row.waybill_number))
}
