import { linePairsSql, paymentsSql } from '../money/ledger/ledger.ts'

// Reads the journal: what each entry moved, for which parcel, and the document that booked it (docs/money.md#books).

const documentsSql = `
    select journal_id, 'handover' as kind, handover_id::text as number, null as bank_reference from cash_handovers
      where tenant_id = $1
    union all select transfer_id, 'transfer', transfer_id::text, null from cash_transfers where tenant_id = $1
    union all select deposit_id, 'deposit', bank_reference, bank_reference from cash_deposits where tenant_id = $1
    union all select journal_id, 'payment', invoice_no, bank_reference from ${paymentsSql} payment
    union all select journal_id, kind, correction_id::text, bank_reference from corrections where tenant_id = $1
    union all select journal_id, kind, entry_id::text, bank_reference from bank_entries where tenant_id = $1
    union all select charges_journal_id, 'charges_paid', invoice_no, charges_reference from invoices
      where tenant_id = $1
    union all select journal_id, 'dispute', number, null from dispute`

/** Selects the credit note of a dispute; of its settlement, or if it has none, the invoice. */
const disputesSql = `
    select part.journal_id, (array_agg(coalesce(credit_note_no, invoice_no) order by issued.version))[1] as number
    from part join money_lines line on line.tenant_id = $1 and line.waybill_number = coalesce(part.waybill_number, '')
        and line.line_no = case part.kind when 'disputed' then part.line_no else part.refers_to end
      join invoices on invoices.tenant_id = $1 and invoices.invoice_id = coalesce(line.disputed_on, line.invoice_id)
      left join invoice_versions issued on issued.tenant_id = $1 and issued.invoice_id = invoices.invoice_id
        and issued.kind = part.kind and exists (
          select from unnest(waybill_numbers, line_nos) as listed (waybill_number, line_no)
          where listed.waybill_number = line.waybill_number and listed.line_no = line.line_no
        )
    where part.kind in ('disputed', 'released') group by 1`

const isInAccount = '($4::text is null or $4 in (debit, credit))'

/** Selects a pair of accounts in one order, `one` and `two`, and the amount, which is negative from `two` to `one`. */
const pairSql = `least(debit, credit) as one, greatest(debit, credit) as two,
      case when debit < credit then amount else -amount end as amount`

/**
 * Selects at most $8 entries from $2 to $3, of the account $4 unless null, after the entry $7 of the journal $6 of the
 * day $5. Reads at most $9 journals, the journal $6 among them. An entry is the amount that a line moved from one
 * account to another; a document has an entry for the amounts that no line explains.
 */
export const journalSql = `
  with journal as materialized (
    select booked_on, journal_id from ledger_transfers
    where tenant_id = $1 and booked_on >= coalesce($5::date, $2::date) and booked_on <= $3::date
      and ($5::date is null or (booked_on, journal_id) >= ($5::date, $6::uuid)) and ${isInAccount}
    group by booked_on, journal_id order by booked_on, journal_id limit $9
  ), part as (
    select line.journal_id, nullif(waybill_number, '') as waybill_number, line_no, refers_to, kind, invoice_id,
      ${pairSql}
    from journal join money_lines line on line.tenant_id = $1 and line.booked_on = journal.booked_on
      and line.journal_id = journal.journal_id ${linePairsSql()}
    where amount <> 0 and ${isInAccount}
  ), rest as (
    select journal_id, one, two, whole.amount - coalesce(parts.amount, 0) as amount
    from (
      select journal_id, one, two, sum(amount) as amount from (
        select transfer.journal_id, ${pairSql} from journal join ledger_transfers transfer on transfer.tenant_id = $1
          and transfer.booked_on = journal.booked_on and transfer.journal_id = journal.journal_id
        where ${isInAccount}
      ) directed group by 1, 2, 3
    ) whole left join (select journal_id, one, two, sum(amount) as amount from part group by 1, 2, 3) parts
      using (journal_id, one, two)
  ), dispute as (${disputesSql}
  ), document as (
    select journal_id, min(kind) as kind, min(number) as number, min(bank_reference) as bank_reference
    from journal join (${documentsSql}) document using (journal_id) group by 1
  ), entry as (
    select journal_id, waybill_number, line_no, kind, invoice_id, one, two, amount from part
    union all
    select journal_id, null, 0, null, null, one, two, amount from rest where amount <> 0
  ), numbered as (
    select *, row_number() over (
        partition by journal_id order by waybill_number nulls last, line_no, one, two, amount
      )::integer as entry_no
    from entry
  )
  select journal.booked_on::text, numbered.journal_id, entry_no, case when amount > 0 then one else two end as debit,
    case when amount > 0 then two else one end as credit, abs(amount)::float8 as amount, waybill_number,
    coalesce(numbered.kind, document.kind, 'other') as kind, document.number as document,
    nullif(invoice_no, invoices.invoice_id::text) as invoice_no, batch_no,
    document.bank_reference
  from journal join numbered using (journal_id) left join document using (journal_id)
    left join invoices on invoices.tenant_id = $1 and invoices.invoice_id = numbered.invoice_id
    left join payout_batches batch on batch.tenant_id = $1 and batch.bank_reference = document.bank_reference
      and document.kind = 'payment'
  where $5::date is null or (journal.booked_on, numbered.journal_id, entry_no) > ($5::date, $6::uuid, $7::integer)
  order by journal.booked_on, numbered.journal_id, entry_no limit $8`

/** Is after all entries of a journal. */
const lastEntry = 2_147_483_647
/** Aims at pages of this many entries: a journal may have one parcel, or a thousand. */
const wantedEntries = 5_000

/**
 * Reads all entries, in pages of whole journals. `read` gets the position and the number of journals; null: from the
 * start.
 */
export const readJournals = async function* <Entry extends { booked_on: string; journal_id: string }>(
  read: (after: readonly [string, string, number] | null, journals: number) => Promise<Entry[]>,
): AsyncGenerator<Entry[], void> {
  let journals = 50
  for (let last: Entry | undefined; ; ) {
    const entries = await read(last ? [last.booked_on, last.journal_id, lastEntry] : null, journals)
    yield entries
    last = entries.at(-1)
    if (!last) return
    journals = 1 + Math.ceil(Math.min(wantedEntries, (journals * wantedEntries) / entries.length))
  }
}
