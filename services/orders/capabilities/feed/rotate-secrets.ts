import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { resealRows } from '@courier/shared/postgres/reseal.ts'
import { type Keyring, type Sealed, tryOpen } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openSecret, type SecretRow, sealSecret, secretsIn } from './secrets.ts'

/** Seals the secrets of every endpoint with the newest key. */
export const rotateSecrets = async (pool: pg.Pool, keyring: Keyring, by = operator()) => {
  const found = await resealRows<Row>(pool, keyring, {
    sql: secretsSql,
    reseal: async (tx, tenant, row) => {
      await rotateEndpoint(tx, keyring, tenant, row)
      await audit(tx, tenant, by, 'keys.rotated', row.endpoint_id)
    },
    name: ({ endpoint_id }) => ({ endpoint_id }),
  })
  return { ...found, field: 'rotated', what: 'webhooks' }
}

/** Tries the newest key on secrets that its id sealed. */
export const opensSecret = async (tx: Tx, tenant: string, keyring: Keyring): Promise<boolean | undefined> => {
  const rows = await tx.rows<{ id: string; sealed: Buffer }>(newestSql, [tenant, keyring.newest])
  const opens = ({ id, sealed }: (typeof rows)[number]) =>
    tryOpen(() => openSecret(keyring, tenant, id, { keyId: keyring.newest, sealed })) !== undefined
  return rows.length > 0 ? rows.some(opens) : undefined
}

const newestSql = `
  select endpoint_id as id, sealed_secret as sealed from webhook_endpoints
  where tenant_id = $1 and state <> 'deleted' and key_id = $2 limit 100`

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
