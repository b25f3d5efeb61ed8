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

const ofKey = (tx: Tx, tenant: string, { merchantId, route, key }: IdempotencyKey) =>
  tx
    .selectFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .where('route', '=', route)
    .where('idempotency_key', '=', key)

const findKey = (tx: Tx, tenant: string, key: IdempotencyKey) =>
  ofKey(tx, tenant, key)
    .select(['fingerprint', 'waybill_numbers'])
    .where('created_at', '>', sql<Date>`now() - make_interval(hours => ${keptHours})`)
    .executeTakeFirst()

/** Keeps the answer under the key, in the batch's own transaction: a crash leaves neither. */
export const insertKey = async (tx: Tx, tenant: string, key: IdempotencyKey, waybills: string[]): Promise<void> => {
  await deleteOldKeys(tx, tenant, key)
  const { merchantId, route, fingerprint } = key
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

/** Deletes keys whose answer is no longer kept: that one key, or all of the tenant. */
export const deleteOldKeys = async (tx: Tx, tenant: string, only?: IdempotencyKey): Promise<void> => {
  let query = tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenant)
    .where('created_at', '<=', sql<Date>`now() - make_interval(hours => ${keptHours})`)
  if (only)
    query = query
      .where('merchant_id', '=', only.merchantId)
      .where('route', '=', only.route)
      .where('idempotency_key', '=', only.key)
  await query.execute()
}
