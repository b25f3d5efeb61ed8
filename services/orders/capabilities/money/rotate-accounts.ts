import { resealRows } from '@courier/shared/postgres/reseal.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openAccount, sealAccount } from './bank-accounts.ts'

type AccountRow = Parameters<typeof openAccount>[2]

/** Seals every bank account with the newest key. */
export const rotateAccounts = async (pool: pg.Pool, keyring: Keyring) => {
  const found = await resealRows<AccountRow>(pool, keyring, {
    sql: accountsSql,
    reseal: (tx, tenant, row) => rotateAccount(tx, keyring, tenant, row),
    name: ({ merchant_id }) => ({ merchant_id }),
  })
  return { ...found, field: 'accounts', what: 'bank accounts' }
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
