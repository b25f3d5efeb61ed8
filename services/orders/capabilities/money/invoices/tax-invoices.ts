import type { Tx } from '../../../core/database/tables.ts'
import { correctionKindsSql } from '../ledger/correction-lines.ts'
import { chargesSql, netSql } from '../ledger/ledger.ts'
import { readClock } from '../ledger/parcels.ts'
import { isUninvoicedSql } from '../ledger/payable.ts'
import { type Draft, insertDraft, isUndoneLaterSql, type Made, taxSumsSql } from './drafts.ts'

// Drafts the documents of charges: tax invoices, and the notes that correct them (docs/money.md#two-documents).

/** Drafts a tax invoice of all charges of a merchant until a day, whatever its COD. Charges of 0 or less wait. */
export const draftTaxInvoice = async (tx: Tx, draft: Draft): Promise<Made[]> => {
  const { tenant, merchant_id, until } = draft
  const clock = await readClock(tx, tenant)
  await tx.client.query('savepoint charges')
  const { rows } = await tx.client.query(takeChargesSql, [tenant, merchant_id, clock.journalId, until])
  const { charges_due } = rows[0]
  if (charges_due > 0) return [await insertDraft(tx, draft, clock, 'tax_invoice', rows[0])]
  await tx.client.query('rollback to savepoint charges')
  return []
}

/** Drafts a credit or debit note for each tax invoice whose charges corrections changed until a day. */
export const draftNotes = async (tx: Tx, draft: Draft): Promise<Made[]> => {
  const { tenant, merchant_id, until } = draft
  const { rows: corrected } = await tx.client.query(correctedSql, [tenant, merchant_id, null, until])
  const made: Made[] = []
  for (const { invoice_id } of corrected) {
    const clock = await readClock(tx, tenant)
    const values = [tenant, merchant_id, clock.journalId, until, invoice_id]
    const { rows } = await tx.client.query(takeCorrectionsSql, values)
    // Another request may take the corrections first.
    if (rows[0].parcels === 0) continue
    const kind = rows[0].charges_due < 0 ? 'credit_note' : 'debit_note'
    made.push(await insertDraft(tx, draft, clock, kind, rows[0], invoice_id))
  }
  return made
}

const isOpenSql = `line.tenant_id = $1 and line.merchant_id = $2 and ${isUninvoicedSql} and line.tax_invoice_id is null
      and line.booked_on <= $4::date and ${chargesSql} <> 0 and not ${isUndoneLaterSql}`

/** Selects the line that a correction, `line`, corrects, if a tax invoice has it. */
const correctedLineSql = `
    select from money_lines original where line.kind in ${correctionKindsSql} and original.tenant_id = $1
      and original.waybill_number = line.waybill_number and original.line_no = line.refers_to
      and original.tax_invoice_id`

/** Takes lines for the document $3, which becomes the only document of lines without COD. */
const takeSql = (isWanted: string) => `
  with line as (
    update money_lines line set tax_invoice_id = $3,
      invoice_id = case when ${netSql} + ${chargesSql} = 0 then $3::uuid end
    where ${isOpenSql} and ${isWanted} returning line.*
  )
  select ${taxSumsSql}, 0 as total, coalesce(sum(${chargesSql}), 0)::float8 as charges_due from line`

const takeChargesSql = takeSql(`not exists (${correctedLineSql} is not null)`)
const takeCorrectionsSql = takeSql(`exists (${correctedLineSql} = $5)`)

const correctedSql = `
  select distinct invoice_id from invoices
  where tenant_id = $1 and merchant_id = $2 and submitted_at is not null and $3::uuid is null and exists (
      select from money_lines line where ${isOpenSql} and exists (${correctedLineSql} = invoices.invoice_id))
    and state <> 'cancelled' order by invoice_id`
