import type pg from 'pg'
import { type Keyring, VaultError } from '../vault.ts'
import { type AnyTransaction, findTenantIds, inTenant, type TenantTransaction } from './database.ts'

type Tx = TenantTransaction<never>

interface Sealed<Row> {
  /** Selects and locks the rows of the tenant $1 that the key $2, the newest, does not seal. */
  readonly sql: string
  /** Seals one row again. Throws VaultError if no key opens it. */
  readonly reseal: (tx: AnyTransaction, tenant: string, row: Row) => Promise<void>
  /** Names the row in the report. */
  readonly name: (row: Row) => Readonly<Record<string, string>>
}

/**
 * Seals rows of all tenants with the newest key, each tenant in a transaction of its own; it can run again after an
 * interruption. Returns how many it sealed, and what no key opens, which stays as it was.
 */
export const resealRows = async <Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  keyring: Keyring,
  { sql, reseal, name }: Sealed<Row>,
) => {
  const unopened: (Readonly<Record<string, string>> & { tenant: string; reason: string })[] = []
  let count = 0
  for (const tenant of await findTenantIds(pool))
    await inTenant(pool, tenant, async (tx: Tx) => {
      for (const row of await tx.rows<Row>(sql, [tenant, keyring.newest]))
        try {
          await reseal(tx, tenant, row)
          count++
        } catch (error) {
          if (!(error instanceof VaultError)) throw error
          unopened.push({ tenant, ...name(row), reason: error.message })
        }
    })
  return { count, unopened }
}
