import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, type Sealed, whyUnopened } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openSecret, type SecretRow, sealSecret, secretsIn } from './secrets.ts'

/**
 * Seals the secrets of every endpoint with the newest key, each tenant in a transaction of its own. It can run again
 * after an interruption.
 */
export const rotateSecrets = async (pool: pg.Pool, keyring: Keyring, by = operator()) => {
  const unopened: { tenant: string; endpoint_id: string; reason: string }[] = []
  let count = 0
  for (const tenant of await findTenantIds(pool))
    await inTenant(pool, tenant, async (tx: Tx) => {
      for (const row of await tx.rows<Row>(secretsSql, [tenant, keyring.newest])) {
        const reason = await whyUnopened(() => rotateEndpoint(tx, keyring, tenant, row))
        if (reason !== undefined) unopened.push({ tenant, endpoint_id: row.endpoint_id, reason })
        else {
          await audit(tx, tenant, by, 'keys.rotated', row.endpoint_id)
          count++
        }
      }
    })
  return { count, field: 'rotated', what: 'webhooks', unopened }
}

const secretsSql = `
  select endpoint_id, key_id, sealed_secret, previous_key_id, previous_secret from webhook_endpoints
  where tenant_id = $1 and state <> 'deleted' and (key_id <> $2 or previous_key_id <> $2) order by endpoint_id
    for update`

type Row = SecretRow & { readonly endpoint_id: string }

const rotateEndpoint = async (tx: Tx, keyring: Keyring, tenant: string, row: Row): Promise<void> => {
  const { endpoint_id: id } = row
  const reseal = (sealed: Sealed): Sealed => sealSecret(keyring, tenant, id, openSecret(keyring, tenant, id, sealed))
  const [current, previous] = secretsIn(row).map(reseal)
  await tx.client.query(
    `update webhook_endpoints set key_id = $3, sealed_secret = $4, previous_key_id = $5, previous_secret = $6
    where tenant_id = $1 and endpoint_id = $2`,
    [tenant, id, current?.keyId, current?.sealed, previous?.keyId, previous?.sealed],
  )
}
