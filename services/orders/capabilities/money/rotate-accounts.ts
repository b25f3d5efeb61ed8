import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, whyUnopened } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openAccount, sealAccount } from './bank-accounts.ts'

type AccountRow = Parameters<typeof openAccount>[2]

/** Seals every bank account with the newest key, each tenant in a transaction of its own. */
export const rotateAccounts = async (pool: pg.Pool, keyring: Keyring) => {
  const unopened: { tenant: string; merchant_id: string; reason: string }[] = []
  let count = 0
  for (const tenant of await findTenantIds(pool))
    await inTenant(pool, tenant, async (tx: Tx) => {
      for (const row of await tx.rows<AccountRow>(accountsSql, [tenant, keyring.newest])) {
        const reason = await whyUnopened(() => rotateAccount(tx, keyring, tenant, row))
        if (reason === undefined) count++
        else unopened.push({ tenant, merchant_id: row.merchant_id, reason })
      }
    })
  return { count, field: 'accounts', what: 'bank accounts', unopened }
}

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
