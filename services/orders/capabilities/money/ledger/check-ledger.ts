import { UsageError } from '@courier/shared/cli/command-line.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../../../core/database/tables.ts'
import { deliveredKeys } from '../../../core/statuses/statuses.ts'
import { correctionKindsSql } from './correction-lines.ts'
import { type Digests, daySumsSql, digestsSql, seal } from './fold-and-seal.ts'
import { chargesSql, netSql, transfersOfAllSql } from './ledger.ts'
import { hasLaterSql } from './parcels.ts'
import { setOffSql } from './payable.ts'

/** Counts what the check compared, and names everything that breaks a rule of docs/money.md. */
export interface LedgerCheck {
  readonly lines: number
  readonly transfers: number
  /** Lists journals whose transfers differ from the sums of their lines. */
  readonly unequal: readonly string[]
  /** Lists waybills booked as delivered, returned or handed over more than once. */
  readonly doubled: readonly string[]
  /** Lists waybills with a COD that were delivered since the first line, and have no line for the delivery. */
  readonly unbooked: readonly string[]
  /** Lists waybills whose move was taken back, but not its booking, unless a correction took the whole collection. */
  readonly taken_back: readonly string[]
  /**
   * Lists invoices whose total or number of parcels differs from their lines, or that have lines of another merchant.
   */
  readonly wrong_invoices: readonly string[]
  /** Lists handovers that are no longer open and whose parcels differ from the expected sum without the debt. */
  readonly wrong_handovers: readonly string[]
  /** Lists deposits whose amount or number of parcels differs from their lines. */
  readonly wrong_deposits: readonly string[]
  /**
   * Lists batches of payments whose sums differ from their invoices, or that have an invoice in a state that does not
   * follow from their own.
   */
  readonly wrong_batches: readonly string[]
  /** Lists approved corrections whose line differs from them, and journals of lines that no correction explains. */
  readonly wrong_corrections: readonly string[]
  /** Lists folded days whose sums or balances differ from their transfers. */
  readonly wrong_days: readonly string[]
  readonly broken_seals: readonly string[]
}

type Finding = Exclude<keyof LedgerCheck, 'lines' | 'transfers'>

/** Lists the findings of a check: each broken rule with the object that breaks it. */
export const listFindings = ({ lines, transfers, ...found }: LedgerCheck): [Finding, string][] =>
  Object.entries(found).flatMap(([rule, objects]) => objects.map((one): [Finding, string] => [rule as Finding, one]))

/** Checks the ledger of a tenant by the rules of docs/money.md. Throws UsageError for an unknown tenant. */
export const checkLedger = (pool: pg.Pool, tenant: string): Promise<LedgerCheck> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const { rows } = await tx.client.query(checkSql, [tenant])
    if (!rows[0]) throw new UsageError(`there is no tenant ${tenant}`)
    const { rows: days } = await tx.client.query(sealedDaysSql, [tenant])
    return { ...rows[0], broken_seals: findBroken(days) }
  })

interface SealedDay extends Digests {
  readonly booked_on: string
  readonly seal: string | null
  readonly version: number | null
}

/** Selects the days in order. One statement reads both tables: a day may be folded meanwhile. */
const sealedDaysSql = `
  select booked_on, sums, lines, transfers, documents, seal, version from (${digestsSql()}) days
    full join (select booked_on::text, seal, version from ledger_seals where tenant_id = $1) seals using (booked_on)
  order by booked_on`

/** Lists the days that have no seal, or whose seal does not follow from what it covers and the previous seal. */
const findBroken = (days: readonly SealedDay[]): string[] => {
  let before = ''
  return days.flatMap(({ booked_on, seal: found, version, ...digests }) => {
    const isBroken = found !== seal(before, booked_on, digests, version ?? undefined)
    before = found ?? before
    return isBroken ? booked_on : []
  })
}

const countSql = (kind: string): string => `count(*) filter (where kind = '${kind}')`

const unbookedSql = `
      select orders.waybill_number from orders
      where tenant_id = $1 and cod > 0 and status_key in (
          select status_key from statuses where tenant_id = $1
            and (books in ('delivery', 'partial_delivery')
              or books is null and status_key in (${deliveredKeys.map(key => `'${key}'`).join(', ')}))
        )
        and exists (
          select from order_events event where event.tenant_id = $1 and event.waybill_number = orders.waybill_number
            and event.status_key = orders.status_key
            and happened_at > (select min(uuid_extract_timestamp(journal_id)) from money_lines where tenant_id = $1)
        ) and not exists (
          select from money_lines line where line.tenant_id = $1 and line.waybill_number = orders.waybill_number
            and kind = 'delivered'
            and not ${hasLaterSql('delivery_reversed')}
        ) order by 1`

/** A booking follows the event of its move, in one transaction. An archived timeline says nothing. */
const takenBackSql = `
      select waybill_number from money_lines line
      where tenant_id = $1 and kind in ('delivered', 'returned')
        and not ${hasLaterSql('delivery_reversed', 'return_reversed')}
        and not (
          select is_counted from order_events event
          where event.tenant_id = $1 and event.waybill_number = line.waybill_number
            and date_trunc('milliseconds', happened_at) <= uuid_extract_timestamp(line.journal_id)
          order by event_id desc limit 1
        ) and (cod = 0 or cod <> coalesce((
          select -sum(cod) from money_lines later where later.tenant_id = $1
            and later.waybill_number = line.waybill_number and later.refers_to = line.line_no and kind = 'collection'
        ), 0)) order by 1`

/** Selects a `LedgerCheck` without `broken_seals`; $1 is the tenant. */
export const checkSql = `
  with wanted as (${transfersOfAllSql()}
  ), found as (
    select journal_id, debit, credit, amount, booked_on from ledger_transfers where tenant_id = $1
  ), sums as (${daySumsSql('booked_on in (select booked_on from ledger_seals where tenant_id = $1)')}
  ), folded as (
    select account, booked_on, counter_account, debit, credit from ledger_days where tenant_id = $1
  ), balances as (
    select *, sum(debit - credit) over (partition by account order by booked_on, counter_account) as found
      from ledger_days where tenant_id = $1
  ), invoiced as (
    select invoice_id, sum(${netSql}) as net, sum(${chargesSql}) as charges,
      count(distinct nullif(waybill_number, '')) as parcels, min(merchant_id) as first_merchant,
      max(merchant_id) as last_merchant
    from money_lines line where tenant_id = $1 and invoice_id is not null group by 1
  ), charged as (
    select tax_invoice_id as invoice_id, sum(${chargesSql}) as charges, sum(tax) as tax,
      count(distinct nullif(waybill_number, '')) as parcels, min(merchant_id) as first_merchant,
      max(merchant_id) as last_merchant
    from money_lines line where tenant_id = $1 and tax_invoice_id is not null group by 1
  )
  select (select count(*)::int from money_lines where tenant_id = $1) as lines,
    (select count(*)::int from found) as transfers,
    array(
      select distinct journal_id::text
        from ((table wanted except table found) union all (table found except table wanted)) differing order by 1
    ) as unequal,
    array(
      select waybill_number from money_lines where tenant_id = $1 group by waybill_number
      having ${countSql('delivered')} - ${countSql('delivery_reversed')} not between 0 and 1
        or ${countSql('returned')} - ${countSql('return_reversed')} not between 0 and 1
        or ${countSql('handed_over')} > ${countSql('delivered')}
      order by 1
    ) as doubled,
    array(${unbookedSql}
    ) as unbooked,
    array(${takenBackSql}
    ) as taken_back,
    array(
      select coalesce(invoice_no, invoice_id::text) from (
        select * from invoiced where invoice_id not in (select invoice_id from charged)
      ) invoiced full join (
        select invoice_id, invoice_no, merchant_id, total, charges_due, parcels, kind = 'remittance' as is_remittance,
          (
            select coalesce(sum(amount), 0) from set_offs where tenant_id = $1 and remittance_id = invoices.invoice_id
          ) as off
        from invoices where tenant_id = $1 and state <> 'cancelled' and kind in ('invoice', 'remittance')
      ) live using (invoice_id)
      where (coalesce(first_merchant, case when is_remittance then merchant_id end),
          coalesce(last_merchant, merchant_id), coalesce(invoiced.parcels, 0),
          coalesce(invoiced.net, 0) + case when is_remittance then coalesce(charges, 0) else charges_due end)
          is distinct from (merchant_id, merchant_id, live.parcels, total + off)
        or charges_due not in (0, charges)
      union all
      select coalesce(invoice_no, invoice_id::text) from charged full join (
        select invoice_id, invoice_no, merchant_id, charges_due, tax, taxable + tax as sum, parcels, ${setOffSql} as off
        from invoices where tenant_id = $1 and state <> 'cancelled' and kind not in ('invoice', 'remittance')
      ) live using (invoice_id)
      where (charged.first_merchant, charged.last_merchant, charged.parcels, charged.charges, charged.tax, charges)
          is distinct from (merchant_id, merchant_id, live.parcels, charges_due, live.tax, sum)
        or off not between least(0, charges_due) and greatest(0, charges_due)
      order by 1
    ) as wrong_invoices,
    array(
      select handover_id::text from (
        select handover_id, expected - debt as cash, journal_id from cash_handovers where tenant_id = $1
          and state <> 'open'
      ) cleared left join (
        select journal_id, sum(handed) as cash from money_lines where tenant_id = $1 and kind = 'handed_over' group by 1
      ) lines using (journal_id)
      where cleared.cash <> coalesce(lines.cash, 0) order by handover_id
    ) as wrong_handovers,
    array(
      select coalesce(deposit_id, banked_by)::text from (
        select deposit_id, amount + difference - other as cod, parcels from cash_deposits where tenant_id = $1
      ) deposit full join (
        select banked_by, sum(cod) as cod, count(*) as parcels from money_lines where tenant_id = $1
          and banked_by is not null group by 1
      ) lines on banked_by = deposit_id
      where (deposit.cod, deposit.parcels) is distinct from (coalesce(lines.cod, 0), coalesce(lines.parcels, 0))
        order by 1
    ) as wrong_deposits,
    array(
      select batch_no from (
        select batch_no, batch.state, batch.total, returned, invoices,
          sum(amount) as amount, coalesce(sum(amount) filter (where item.state = 'failed'), 0) as failed,
          count(*) as items, count(*) filter (where item.state = 'open') as open,
          bool_and(item.state <> 'open' or invoice.state = 'approved' and invoice.total = amount)
            and bool_and(item.state <> 'paid' or invoice.state = 'deposited' and invoice.total = amount
              and invoice.bank_reference = batch.bank_reference) as is_right
        from payout_batches batch join payout_items item using (tenant_id, batch_no)
          join invoices invoice using (tenant_id, invoice_id)
        where tenant_id = $1 group by tenant_id, batch_no, batch.state, batch.total, returned, invoices
      ) batches
      where (total, returned, invoices) is distinct from (amount, failed, items) or not is_right
        or (open > 0) <> (state in ('made', 'released'))
      order by 1
    ) as wrong_batches,
    array(
      select coalesce(correction_id::text, lines.journal_id::text) from (
        select correction_id, journal_id, kind, merchant_id, coalesce(waybill_number, '') as waybill_number, amount
        from corrections where tenant_id = $1 and state = 'approved' and kind in ${correctionKindsSql}
      ) approved full join (
        select journal_id, kind, merchant_id, waybill_number, case kind when 'collection' then cod
          when 'charges' then -(delivery + cod_fee + return_fee + tax)
          else compensation + adjustment end as amount
        from money_lines where tenant_id = $1 and kind in ${correctionKindsSql}
      ) lines using (journal_id, kind, merchant_id, waybill_number, amount)
      where approved.correction_id is null or lines.journal_id is null order by 1
    ) as wrong_corrections,
    array(
      select distinct booked_on::text from (
        (table sums except table folded) union all (table folded except table sums)
        union all select account, booked_on, counter_account, debit, credit from balances where balance <> found
      ) differing order by 1
    ) as wrong_days
  from tenants where tenant_id = $1`
