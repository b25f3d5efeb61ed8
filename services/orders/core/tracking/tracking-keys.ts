import { randomUUID } from 'node:crypto'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

export type TrackingKey = {
  readonly key: number
  readonly created_at: Date
  /** null: links of the key are valid. */
  readonly revoked_at: Date | null
}

/** Lists a tenant's keys, newest first: the first one signs. */
export const listTrackingKeys = async (pool: pg.Pool, tenant: string): Promise<TrackingKey[]> => {
  await requireTenant(pool, tenant)
  return inTenant(pool, tenant, (tx: Tx) => findKeys(tx, tenant))
}

const findKeys = (tx: Tx, tenant: string) => query<TrackingKey>(tx)`
  select key_no as key, created_at, revoked_at from tracking_keys where tenant_id = ${tenant} order by key_no desc`

const insertKey = (tx: Tx, tenant: string, key: number, secret: string) => query(tx)`
  insert into tracking_keys (tenant_id, key_no, secret) values (${tenant}, ${key}, ${secret})`

/**
 * Gives a tenant without a key its first one. A tenant that a process of 0.2.0 added keeps the key that signed its
 * links.
 */
export const keepFirstKey = async (tx: Tx, tenant: string, isNew: boolean): Promise<void> => {
  if ((await findKeys(tx, tenant)).length > 0) return
  const [row] = await query<{ link_key: string }>(tx)`select link_key from tenants where tenant_id = ${tenant}`
  await insertKey(tx, tenant, 1, isNew || !row ? randomUUID() : row.link_key)
}

/** Makes a key that signs links from now on, and returns its number. Links of earlier keys stay valid. */
export const rotateTrackingKey = async (pool: pg.Pool, tenant: string, by = operator()): Promise<number> => {
  await requireTenant(pool, tenant)
  return inTenant(pool, tenant, async (tx: Tx) => {
    await lockTenant(tx, tenant)
    await keepFirstKey(tx, tenant, false)
    const key = 1 + ((await findKeys(tx, tenant))[0]?.key ?? 0)
    await insertKey(tx, tenant, key, randomUUID())
    // Catalogues of an older version are read again. The value in the shared table no longer signs anything.
    const unused = randomUUID()
    await query(tx)`update tenants set version = version + 1, link_key = ${unused} where tenant_id = ${tenant}`
    await audit(tx, tenant, by, 'tracking_key.rotated', String(key))
    return key
  })
}

/** Ends the links that a key signed: their pages show neither amount nor city. Throws UsageError for the newest key. */
export const revokeTrackingKey = async (pool: pg.Pool, tenant: string, key: number, by = operator()): Promise<void> => {
  await requireTenant(pool, tenant)
  await inTenant(pool, tenant, async (tx: Tx) => {
    await lockTenant(tx, tenant)
    const keys = await findKeys(tx, tenant)
    const found = keys.find(each => each.key === key)
    if (!found) throw new UsageError(`tenant ${tenant} has no tracking key ${key}; tracking-keys list shows them`)
    if (found === keys[0]) throw new UsageError(`the tracking key ${key} signs new links: rotate the keys first`)
    if (found.revoked_at)
      throw new UsageError(`the tracking key ${key} was revoked at ${found.revoked_at.toISOString()}`)
    await query(tx)`
      update tracking_keys set revoked_at = now() where tenant_id = ${tenant} and key_no = ${key}`
    await query(tx)`update tenants set version = version + 1 where tenant_id = ${tenant}`
    await audit(tx, tenant, by, 'tracking_key.revoked', String(key))
  })
}
