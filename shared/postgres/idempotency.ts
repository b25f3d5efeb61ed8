import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { type AnyTransaction, query } from './database.ts'

/** Pairs an Idempotency-Key with the SHA-256 of the body that came with it. */
export interface IdempotencyKey {
  /** Names the caller and the operation: the same key in another scope is another key. */
  readonly scope: string
  /**
   * Is the scope of version 0.2.0: its processes, beside this one, store and find the key there. Its response repeats
   * for the same body only.
   */
  readonly formerScope?: string
  readonly key: string
  readonly fingerprint: Buffer
}

export const fingerprint = (bytes: Buffer): Buffer => hash('sha256', bytes, 'buffer')

export type Claim =
  | { kind: 'free' }
  | { kind: 'running' }
  | { kind: 'other_body' }
  | { kind: 'finished'; result: string[] }

/** The response to a key is kept for this long. */
export const keptHours = 24
const oldSql = sql<boolean>`created_at <= now() - make_interval(hours => ${sql.lit(keptHours)})`

const keySql = (tenant: string, { scope, key }: IdempotencyKey) =>
  sql`tenant_id = ${tenant} and scope = ${scope} and idempotency_key = ${key}`

/**
 * Claims the key until the transaction ends; never waits. Takes the lock first, in its own statement, so that its
 * holder sees what the previous holder committed. `from tenants` has Citus take the lock on the tenant's node, like the
 * lock of a batch.
 */
export const claimKey = async (tx: AnyTransaction, tenant: string, claimed: IdempotencyKey): Promise<Claim> => {
  const lock = lockNumber(tenant, claimed)
  const { formerScope: scope, ...former } = claimed
  const findStored = (sought: IdempotencyKey, condition = sql`true`) =>
    query<{ fingerprint: Buffer; result: string[] }>(tx)`
      select fingerprint, result from idempotency_keys key
      where ${keySql(tenant, sought)} and not (${oldSql}) and ${condition}`
  // A key that this version stored under both scopes is the one of its person only.
  const formerSql = sql<boolean>`not exists (
    select from idempotency_keys twin where twin.tenant_id = ${tenant} and twin.idempotency_key = key.idempotency_key
      and starts_with(twin.scope, key.scope || ' by ') and twin.created_at = key.created_at)`
  const [[locking], [stored], [before]] = await Promise.all([
    query<{ isLocked: boolean }>(tx)`
      select pg_try_advisory_xact_lock(${lock}::bigint) as "isLocked" from tenants where tenant_id = ${tenant}`,
    findStored(claimed),
    scope === undefined ? [] : findStored({ ...former, scope }, formerSql),
  ])
  const earlier = stored ?? (before?.fingerprint.equals(claimed.fingerprint) ? before : undefined)
  if (!earlier) return locking?.isLocked ? { kind: 'free' } : { kind: 'running' }
  const isSame = earlier.fingerprint.equals(claimed.fingerprint)
  return isSame ? { kind: 'finished', result: earlier.result } : { kind: 'other_body' }
}

/** Returns the number of the advisory lock that claims the key. */
export const lockNumber = (tenant: string, { scope, key }: IdempotencyKey): string =>
  hash('sha256', JSON.stringify([tenant, scope, key]), 'buffer')
    .readBigInt64BE()
    .toString()

/** Deletes the key if its response has expired, so that it can be inserted again. */
export const deleteExpiredKey = (tx: AnyTransaction, tenant: string, claimed: IdempotencyKey) =>
  sql`delete from idempotency_keys where ${keySql(tenant, claimed)} and ${oldSql}`.execute(tx)

/** Stores the response under the key, in the transaction that it reports: both are committed or neither. */
export const insertKey = async (
  tx: AnyTransaction,
  tenant: string,
  claimed: IdempotencyKey,
  result: readonly string[],
): Promise<void> => {
  const { scope, formerScope, key, fingerprint } = claimed
  const insert = (scope: string, end = sql``) =>
    sql`
      insert into idempotency_keys (tenant_id, scope, idempotency_key, fingerprint, result, created_at)
      values (${tenant}, ${scope}, ${key}, ${fingerprint}, ${result}::text[], now()) ${end}`.execute(tx)
  await Promise.all([
    deleteExpiredKey(tx, tenant, claimed),
    insert(scope),
    ...(formerScope === undefined ? [] : [insert(formerScope, sql`on conflict do nothing`)]),
  ])
}
