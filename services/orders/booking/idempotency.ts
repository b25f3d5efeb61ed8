import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'

/** One merchant's Idempotency-Key on one route, with the SHA-256 of the body that came with it. */
export interface IdempotencyKey {
  readonly merchantId: string
  readonly route: string
  readonly key: string
  readonly fingerprint: Buffer
}

export const fingerprint = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()

export type Claim =
  | { kind: 'free' }
  | { kind: 'running' }
  | { kind: 'other_body' }
  | { kind: 'finished'; waybills: string[] }

/** How long the answer to a key is kept. */
const keptHours = 24

/**
 * Claims the key until the transaction ends; never waits. The lock comes first, in a statement of its own: whoever
 * holds it sees what the one before it committed.
 */
export const claimKey = async (tx: Tx, tenant: string, claimed: IdempotencyKey): Promise<Claim> => {
  const name = JSON.stringify([tenant, claimed.merchantId, claimed.route, claimed.key])
  const locking = sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${lockNumber(name)}::bigint) as locked`
  const [{ rows }, earlier] = await Promise.all([locking.execute(tx), findKey(tx, tenant, claimed)])
  if (earlier)
    return earlier.fingerprint.equals(claimed.fingerprint)
      ? { kind: 'finished', waybills: earlier.waybill_numbers }
      : { kind: 'other_body' }
  return rows[0]?.locked ? { kind: 'free' } : { kind: 'running' }
}

const lockNumber = (name: string): string => createHash('sha256').update(name).digest().readBigInt64BE().toString()

const findKey = (tx: Tx, tenant: string, { merchantId, route, key }: IdempotencyKey) =>
  tx
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'waybill_numbers'])
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('route', '=', route)
    .where('idempotency_key', '=', key)
    .where(sql<boolean>`not (${isOld})`)
    .executeTakeFirst()

/** A key whose answer is no longer kept is free. */
const ofOldKey = (tx: Tx, tenant: string, { merchantId, route, key }: IdempotencyKey) =>
  tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('route', '=', route)
    .where('idempotency_key', '=', key)
    .where(isOld)

/** Keeps the answer under the key, in the batch's own transaction: a crash leaves neither. */
export const insertKey = async (tx: Tx, tenant: string, key: IdempotencyKey, waybills: string[]): Promise<void> => {
  const { merchantId, route, fingerprint } = key
  await ofOldKey(tx, tenant, key).execute()
  await tx
    .insertInto('idempotency_keys')
    .values({
      tenant_id: tenant,
      merchant_id: merchantId,
      route,
      idempotency_key: key.key,
      fingerprint,
      waybill_numbers: waybills,
    })
    .execute()
}

const isOld = sql<boolean>`created_at <= now() - make_interval(hours => ${keptHours})`

/** Deletes up to 10,000 keys of the tenant whose answers are no longer kept; returns how many. */
export const deleteOldKeys = async (tx: Tx, tenant: string): Promise<number> => {
  const old = tx.selectFrom('idempotency_keys').select(sql`ctid`.as('row')).where('tenant_id', '=', tenant).where(isOld)
  const { numDeletedRows } = await tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where(sql`ctid`, 'in', old.limit(10_000))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
