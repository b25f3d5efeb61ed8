import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, type Sealed, VaultError } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openAccount, sealAccount } from '../money/bank-accounts.ts'
import { openSecret, type SecretRow, sealSecret, secretsIn } from './secrets.ts'

/** Names what could not be opened and stays as it was, and why. A merchant_id stands for a merchant's bank account. */
type Unopened = { readonly tenant: string; readonly reason: string } & (
  | { readonly endpoint_id: string }
  | { readonly merchant_id: string }
)

/**
 * Seals the secrets of every endpoint and every bank account with the newest key, each tenant in a transaction of its
 * own. It can run again after an interruption.
 */
export const rotateKeys = async (pool: pg.Pool, keyring: Keyring, by: Actor = operator()) => {
  const unopened: Unopened[] = []
  const rotated = { webhooks: 0, accounts: 0 }
  for (const tenant of await findTenantIds(pool))
    await inTenant(pool, tenant, async (tx: Tx) => {
      for (const row of await tx.rows<Row>(secretsSql, [tenant, keyring.newest])) {
        const reason = await findReason(() => rotateEndpoint(tx, keyring, tenant, row, by))
        if (reason === undefined) rotated.webhooks++
        else unopened.push({ tenant, endpoint_id: row.endpoint_id, reason })
      }
      for (const row of await tx.rows<AccountRow>(accountsSql, [tenant, keyring.newest])) {
        const reason = await findReason(() => rotateAccount(tx, keyring, tenant, row))
        if (reason === undefined) rotated.accounts++
        else unopened.push({ tenant, merchant_id: row.merchant_id, reason })
      }
    })
  return { rotated: rotated.webhooks, accounts: rotated.accounts, unopened }
}

/** Returns why a sealed text cannot be opened; undefined: it was sealed again. */
const findReason = async (rotate: () => Promise<void>): Promise<string | undefined> => {
  try {
    await rotate()
    return undefined
  } catch (error) {
    if (error instanceof VaultError) return error.message
    throw error
  }
}

type AccountRow = Parameters<typeof openAccount>[2]

const rotateAccount = async (tx: Tx, keyring: Keyring, tenant: string, row: AccountRow): Promise<void> => {
  const details = openAccount(keyring, tenant, row)
  const { keyId, sealed } = sealAccount(keyring, tenant, row.merchant_id, row.version, details)
  await tx.client.query(
    'update bank_accounts set key_id = $4, sealed = $5 where tenant_id = $1 and merchant_id = $2 and version = $3',
    [tenant, row.merchant_id, row.version, keyId, sealed],
  )
}

const accountsSql = `
  select merchant_id::text, version, key_id, sealed from bank_accounts
  where tenant_id = $1 and key_id <> $2 order by bank_accounts.merchant_id, version for update`

const secretsSql = `
  select endpoint_id, key_id, sealed_secret, previous_key_id, previous_secret from webhook_endpoints
  where tenant_id = $1 and state <> 'deleted' and (key_id <> $2 or previous_key_id <> $2) order by endpoint_id
    for update`

type Row = SecretRow & { readonly endpoint_id: string }

const rotateEndpoint = async (tx: Tx, keyring: Keyring, tenant: string, row: Row, by: Actor): Promise<void> => {
  const { endpoint_id: id } = row
  const reseal = (sealed: Sealed): Sealed => sealSecret(keyring, tenant, id, openSecret(keyring, tenant, id, sealed))
  const [current, previous] = secretsIn(row).map(reseal)
  await tx.client.query(
    `update webhook_endpoints set key_id = $3, sealed_secret = $4, previous_key_id = $5, previous_secret = $6
    where tenant_id = $1 and endpoint_id = $2`,
    [tenant, id, current?.keyId, current?.sealed, previous?.keyId, previous?.sealed],
  )
  await audit(tx, tenant, by, 'keys.rotated', id)
}
