import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { AnyTransaction } from './database.ts'

/** An Idempotency-Key of whoever calls what, with the SHA-256 of the body that came with it. */
export interface IdempotencyKey {
  /** Who calls and what: keys of one scope are known nowhere else. */
  readonly scope: string
  readonly key: string
  readonly fingerprint: Buffer
}

/** The table that a service keeps them in. */
export interface IdempotencyTable {
  idempotency_keys: {
    tenant_id: string
    scope: string
    idempotency_key: string
    fingerprint: Buffer
    /** The ids that the answer was made of. */
    result: string[]
    created_at: Date
  }
}

export const fingerprint = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()

export type Claim =
  | { kind: 'free' }
  | { kind: 'running' }
  | { kind: 'other_body' }
  | { kind: 'finished'; result: string[] }

/** How long the answer to a key is kept. */
const keptHours = 24
const isOld = sql<boolean>`created_at <= now() - make_interval(hours => ${sql.lit(keptHours)})`

/**
 * Claims the key until the transaction ends; never waits. The lock comes first, in a statement of its own: whoever
 * holds it sees what the one before it committed.
 */
export const claimKey = async (handle: AnyTransaction, tenant: string, claimed: IdempotencyKey): Promise<Claim> => {
  const tx = handle as Kysely<IdempotencyTable>
  const locking = sql<{
    locked: boolean
  }>`select pg_try_advisory_xact_lock(${lockNumber(tenant, claimed)}::bigint) as locked`
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

/** The advisory lock of whoever claims the key. */
export const lockNumber = (tenant: string, { scope, key }: IdempotencyKey): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, scope, key]))
    .digest()
    .readBigInt64BE()
    .toString()

/** Keeps the answer under the key, in the transaction of what it tells of: a crash leaves neither. */
export const insertKey = async (
  handle: AnyTransaction,
  tenant: string,
  { scope, key, fingerprint }: IdempotencyKey,
  result: readonly string[],
): Promise<void> => {
  const tx = handle as Kysely<IdempotencyTable>
  const ofOldKey = tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where('scope', '=', scope)
    .where('idempotency_key', '=', key)
    .where(isOld)
  const row = { tenant_id: tenant, scope, idempotency_key: key, fingerprint, result: [...result] }
  await Promise.all([
    ofOldKey.execute(),
    tx
      .insertInto('idempotency_keys')
      .values({ ...row, created_at: sql<Date>`now()` })
      .execute(),
  ])
}

/** Deletes up to 10,000 keys of the tenant whose answers are no longer kept; returns how many. */
export const deleteOldKeys = async (handle: AnyTransaction, tenant: string): Promise<number> => {
  const tx = handle as Kysely<IdempotencyTable>
  const old = tx.selectFrom('idempotency_keys').select(sql`ctid`.as('row')).where('tenant_id', '=', tenant).where(isOld)
  const { numDeletedRows } = await tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where(sql`ctid`, 'in', old.limit(10_000))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
