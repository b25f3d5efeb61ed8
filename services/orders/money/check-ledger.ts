import { UsageError } from '@courier/shared/cli/command-line.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { daySumsSql, digestsSql, seal } from './fold.ts'
import { chargesSql, netSql, transfersOfAllSql } from './ledger.ts'

/** What the check compared, and the journals and parcels that break a rule of docs/money.md. */
interface LedgerCheck {
  readonly lines: number
  readonly transfers: number
  /** Journals whose transfers differ from the sums of their lines. */
  readonly unequal: readonly string[]
  /** Waybills booked as delivered, returned or handed over more than once. */
  readonly doubled: readonly string[]
  /** Invoices whose total is not the sum of their lines, or with lines of another merchant. */
  readonly wrong_invoices: readonly string[]
  /** Cleared handovers whose parcels are not what they expected. */
  readonly wrong_handovers: readonly string[]
  /** Folded days whose sums differ from their transfers. */
  readonly wrong_days: readonly string[]
  readonly broken_seals: readonly string[]
}

/** Compares transfers, invoices and folded days of a tenant with its lines. Throws UsageError for an unknown tenant. */
export const checkLedger = (pool: pg.Pool, tenant: string): Promise<LedgerCheck> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const { rows } = await tx.client.query(checkSql, [tenant])
    if (!rows[0]) throw new UsageError(`there is no tenant ${tenant}`)
    const [{ rows: digests }, { rows: seals }] = await Promise.all([
      tx.client.query(`${digestsSql} group by booked_on order by booked_on`, [tenant]),
      tx.client.query('select booked_on::text, seal from ledger_seals where tenant_id = $1 order by booked_on', [
        tenant,
      ]),
    ])
    return { ...rows[0], broken_seals: findBroken(digests, seals) }
  })

/** Lists the days whose seal does not follow from their sums and the seal before. Pure. */
const findBroken = (
  digests: readonly { booked_on: string; digest: string }[],
  seals: readonly { booked_on: string; seal: string }[],
): string[] => {
  const digestOf = new Map(digests.map(({ booked_on, digest }) => [booked_on, digest]))
  const unsealed = digests.flatMap(({ booked_on }) =>
    seals.some(each => each.booked_on === booked_on) ? [] : booked_on,
  )
  const broken = seals.flatMap(({ booked_on, seal: found }, index) =>
    found === seal(seals[index - 1]?.seal ?? '', booked_on, digestOf.get(booked_on) ?? '') ? [] : booked_on,
  )
  return [...unsealed, ...broken]
}

const countSql = (kind: string): string => `count(*) filter (where kind = '${kind}')`

/** Selects a `LedgerCheck`; $1 is the tenant. */
export const checkSql = `
  with wanted as (${transfersOfAllSql()}
  ), found as (
    select journal_id, debit, credit, amount, booked_on from ledger_transfers where tenant_id = $1
  ), sums as (${daySumsSql('booked_on in (select booked_on from ledger_seals where tenant_id = $1)')}
  ), folded as (
    select account, booked_on, counter_account, debit, credit from ledger_days where tenant_id = $1
  ), invoiced as (
    select invoice_id, sum(${netSql}) as net, sum(${chargesSql}) as charges, min(merchant_id) as first_merchant, max(merchant_id) as last_merchant
    from money_lines line where tenant_id = $1 and invoice_id is not null group by 1
  )
  select (select count(*)::int from money_lines where tenant_id = $1) as lines,
    (select count(*)::int from found) as transfers,
    array(
      select distinct journal_id::text from ((table wanted except table found) union all (table found except table wanted)) differing order by 1
    ) as unequal,
    array(
      select waybill_number from money_lines where tenant_id = $1 group by waybill_number
      having ${countSql('delivered')} - ${countSql('delivery_reversed')} not between 0 and 1
        or ${countSql('returned')} - ${countSql('return_reversed')} not between 0 and 1
        or ${countSql('handed_over')} > ${countSql('delivered')}
      order by 1
    ) as doubled,
    array(
      select coalesce(invoice_no, invoice_id::text) from invoiced full join (
        select invoice_id, invoice_no, merchant_id, total, charges_due from invoices where tenant_id = $1 and state <> 'cancelled'
      ) live using (invoice_id)
      where (invoiced.first_merchant, invoiced.last_merchant, invoiced.net + charges_due) is distinct from (merchant_id, merchant_id, total)
        or charges_due not in (0, charges)
      order by 1
    ) as wrong_invoices,
    array(
      select handover_id::text from (
        select handover_id, expected - debt as cash, journal_id from cash_handovers where tenant_id = $1 and state <> 'open'
      ) cleared left join (
        select journal_id, sum(handed) as cash from money_lines where tenant_id = $1 and kind = 'handed_over' group by 1
      ) lines using (journal_id)
      where cleared.cash <> coalesce(lines.cash, 0) order by handover_id
    ) as wrong_handovers,
    array(
      select distinct booked_on::text from ((table sums except table folded) union all (table folded except table sums)) differing order by 1
    ) as wrong_days
  from tenants where tenant_id = $1`
