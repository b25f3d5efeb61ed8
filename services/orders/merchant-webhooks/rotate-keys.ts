import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, type Sealed, VaultError } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { openSecret, sealSecret } from './secrets.ts'

/** An endpoint whose secrets could not be opened, and why; it stays as it was. */
interface Unopened {
  readonly tenant: string
  readonly endpoint_id: string
  readonly reason: string
}

/**
 * Seals the secrets of every endpoint with the newest key, each tenant in a transaction: broken off, it may run again.
 */
export const rotateKeys = async (pool: pg.Pool, keyring: Keyring, by: Actor = operator()) => {
  const unopened: Unopened[] = []
  let rotated = 0
  for (const tenant of await findTenantIds(pool)) {
    const failed = await inTenant(pool, tenant, async (tx: Tx) => {
      const { rows } = await tx.client.query(secretsSql, [tenant, keyring.newest])
      const failures = (await Promise.all(rows.map(row => rotateEndpoint(tx, keyring, tenant, row, by)))).flat()
      rotated += rows.length - failures.length
      return failures
    })
    unopened.push(...failed)
  }
  return { rotated, unopened }
}

const secretsSql = `
  select endpoint_id, key_id, sealed_secret, previous_key_id, previous_secret from webhook_endpoints
  where tenant_id = $1 and state <> 'deleted' and (key_id <> $2 or previous_key_id <> $2) order by endpoint_id for update`

interface Row {
  readonly endpoint_id: string
  readonly key_id: string
  readonly sealed_secret: Buffer
  readonly previous_key_id: string | null
  readonly previous_secret: Buffer
}

const rotateEndpoint = async (tx: Tx, keyring: Keyring, tenant: string, row: Row, by: Actor): Promise<Unopened[]> => {
  const { endpoint_id: id, previous_key_id } = row
  const again = (sealed: Sealed): Sealed => sealSecret(keyring, tenant, id, openSecret(keyring, tenant, id, sealed))
  try {
    const current = again({ keyId: row.key_id, sealed: row.sealed_secret })
    const previous = previous_key_id === null ? null : again({ keyId: previous_key_id, sealed: row.previous_secret })
    await tx.client.query(
      `update webhook_endpoints set key_id = $3, sealed_secret = $4, previous_key_id = $5, previous_secret = $6
      where tenant_id = $1 and endpoint_id = $2`,
      [tenant, id, current.keyId, current.sealed, previous?.keyId, previous?.sealed],
    )
    await audit(tx, tenant, by, 'keys.rotated', id)
    return []
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return [{ tenant, endpoint_id: id, reason: error.message }]
  }
}
