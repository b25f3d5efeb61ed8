import { resealRows } from '@courier/shared/postgres/reseal.ts'
import { type Keyring, tryOpen } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../../core/database/tables.ts'
import { openAccount, sealAccount } from './bank-accounts.ts'
import { openFile, type SealedFile, sealFile } from './make-batch.ts'

type AccountRow = Parameters<typeof openAccount>[2]

/** Seals every bank account and every file for a bank with the newest key. */
export const rotateAccounts = async (pool: pg.Pool, keyring: Keyring) => {
  const accounts = await resealRows<AccountRow>(pool, keyring, {
    sql: accountsSql,
    reseal: (tx, tenant, row) => rotateAccount(tx, keyring, tenant, row),
    name: ({ merchant_id }) => ({ merchant_id }),
  })
  const files = await resealRows<SealedFile>(pool, keyring, {
    sql: filesSql,
    reseal: (tx, tenant, row) => rotateFile(tx, keyring, tenant, row),
    name: ({ batch_no }) => ({ batch_no }),
  })
  const unopened = [...accounts.unopened, ...files.unopened]
  return { count: accounts.count + files.count, unopened, field: 'accounts', what: 'bank accounts, pay files' }
}

const rotateAccount = async (tx: Tx, keyring: Keyring, tenant: string, row: AccountRow): Promise<void> => {
  const details = openAccount(keyring, tenant, row)
  const { keyId, sealed } = sealAccount(keyring, tenant, row.merchant_id, row.version, details)
  await tx.client.query(
    'update bank_accounts set key_id = $4, sealed = $5 where tenant_id = $1 and merchant_id = $2 and version = $3',
    [tenant, row.merchant_id, row.version, keyId, sealed],
  )
}

const rotateFile = async (tx: Tx, keyring: Keyring, tenant: string, row: SealedFile): Promise<void> => {
  const { keyId, sealed } = sealFile(keyring, tenant, row.batch_no, openFile(keyring, tenant, row))
  const text = 'update payout_batches set key_id = $3, sealed = $4 where tenant_id = $1 and batch_no = $2'
  await tx.client.query(text, [tenant, row.batch_no, keyId, sealed])
}

/** Tries the newest key on accounts that its id sealed. */
export const opensAccount = async (tx: Tx, tenant: string, keyring: Keyring): Promise<boolean | undefined> => {
  const rows = await tx.rows<AccountRow>(newestSql, [tenant, keyring.newest])
  return rows.length > 0 ? rows.some(row => tryOpen(() => openAccount(keyring, tenant, row)) !== undefined) : undefined
}

const newestSql = `
  select merchant_id::text, version, key_id, sealed from bank_accounts where tenant_id = $1 and key_id = $2 limit 100`

const accountsSql = `
  select merchant_id::text, version, key_id, sealed from bank_accounts
  where tenant_id = $1 and key_id <> $2 order by bank_accounts.merchant_id, version for update`

const filesSql = `
  select batch_no, key_id, sealed from payout_batches where tenant_id = $1 and key_id <> $2
  order by payout_batches.batch_no for update`
