import { UsageError } from '@courier/shared/cli/command-line.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { transfersOfAllSql } from './ledger.ts'

/** What the check compared, and the journals and parcels that break a rule of docs/money.md. */
interface LedgerCheck {
  readonly lines: number
  readonly transfers: number
  /** Journals whose transfers differ from the sums of their lines. */
  readonly unequal: readonly string[]
  /** Waybills booked as delivered or returned more than once. */
  readonly doubled: readonly string[]
}

/** Compares the transfers of a tenant with its lines, in one snapshot. Throws UsageError for an unknown tenant. */
export const checkLedger = (pool: pg.Pool, tenant: string): Promise<LedgerCheck> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const { rows } = await tx.client.query(checkSql, [tenant])
    if (!rows[0]) throw new UsageError(`there is no tenant ${tenant}`)
    return rows[0]
  })

/** Selects a `LedgerCheck`; $1 is the tenant. */
export const checkSql = `
  with wanted as (${transfersOfAllSql()}
  ), found as (
    select journal_id, debit, credit, amount, booked_on from ledger_transfers where tenant_id = $1
  )
  select (select count(*)::int from money_lines where tenant_id = $1) as lines,
    (select count(*)::int from found) as transfers,
    array(
      select distinct journal_id::text from ((table wanted except table found) union all (table found except table wanted)) differing order by 1
    ) as unequal,
    array(
      select waybill_number from money_lines where tenant_id = $1
      group by waybill_number, kind having count(*) > 1 order by 1
    ) as doubled
  from tenants where tenant_id = $1`
