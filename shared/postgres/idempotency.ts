import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { AnyTransaction } from './database.ts'
import { deleteWhere } from './housekeeping.ts'

/** An Idempotency-Key with the SHA-256 of the body that came with it. */
export interface IdempotencyKey {
  /** The caller and the operation: the same key in another scope is another key. */
  readonly scope: string
  readonly key: string
  readonly fingerprint: Buffer
}

/** The table of both services. */
interface IdempotencyTable {
  idempotency_keys: {
    tenant_id: string
    scope: string
    idempotency_key: string
    fingerprint: Buffer
    /** The ids that the response has. */
    result: string[]
    created_at: Date
  }
}

export const fingerprint = (bytes: Buffer): Buffer => hash('sha256', bytes, 'buffer')

export type Claim =
  | { kind: 'free' }
  | { kind: 'running' }
  | { kind: 'other_body' }
  | { kind: 'finished'; result: string[] }

/** The response to a key is kept for this long. */
const keptHours = 24
const isOld = sql<boolean>`created_at <= now() - make_interval(hours => ${sql.lit(keptHours)})`

/**
 * Claims the key until the transaction ends; never waits. The lock is taken first, in its own statement, so that its
 * holder sees what the previous one committed. `from tenants`: on Citus the lock is taken on the tenant's node, as that
 * of a batch is.
 */
export const claimKey = async (handle: AnyTransaction, tenant: string, claimed: IdempotencyKey): Promise<Claim> => {
  const tx = handle as Kysely<IdempotencyTable>
  const locking = sql<{
    locked: boolean
  }>`select pg_try_advisory_xact_lock(${lockNumber(tenant, claimed)}::bigint) as locked from tenants where tenant_id = ${tenant}`
  const finding = tx
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'result'])
    .where('tenant_id', '=', tenant)
    .where('scope', '=', claimed.scope)
    .where('idempotency_key', '=', claimed.key)
    .where(sql<boolean>`not (${isOld})`)
  const [{ rows }, earlier] = await Promise.all([locking.execute(tx), finding.executeTakeFirst()])
  if (earlier)
    return earlier.fingerprint.equals(claimed.fingerprint)
      ? { kind: 'finished', result: earlier.result }
      : { kind: 'other_body' }
  return rows[0]?.locked ? { kind: 'free' } : { kind: 'running' }
}

/** The advisory lock that claims the key. */
export const lockNumber = (tenant: string, { scope, key }: IdempotencyKey): string =>
  hash('sha256', JSON.stringify([tenant, scope, key]), 'buffer')
    .readBigInt64BE()
    .toString()

/** Deletes the key if its response has expired, so that it can be inserted again. */
export const deleteExpiredKey = (handle: AnyTransaction, tenant: string, { scope, key }: IdempotencyKey) =>
  (handle as Kysely<IdempotencyTable>)
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where('scope', '=', scope)
    .where('idempotency_key', '=', key)
    .where(isOld)
    .execute()

/** Stores the response under the key, in the transaction that it reports: both are committed or neither. */
export const insertKey = async (
  handle: AnyTransaction,
  tenant: string,
  claimed: IdempotencyKey,
  result: readonly string[],
): Promise<void> => {
  const { scope, key, fingerprint } = claimed
  const row = { tenant_id: tenant, scope, idempotency_key: key, fingerprint, result: [...result] }
  await Promise.all([
    deleteExpiredKey(handle, tenant, claimed),
    (handle as Kysely<IdempotencyTable>)
      .insertInto('idempotency_keys')
      .values({ ...row, created_at: sql<Date>`now()` })
      .execute(),
  ])
}

/** Deletes expired keys of the tenant. */
export const deleteOldKeys = deleteWhere('idempotency_keys', `created_at <= now() - interval '${keptHours} hours'`)
