import { addAmounts } from '@courier/shared/currency.ts'
import type { Static } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse, refuseAny } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow, unknownInvoice } from '../invoices/invoices.ts'
import { bookJournal, chargesSql } from '../ledger/ledger.ts'
import { type Clock, readClock } from '../ledger/parcels.ts'
import { invoiceTermsSql, paidSql } from '../ledger/payable.ts'
import type { DocumentKind } from '../papers/amounts.ts'
import { addVersion } from '../papers/invoice-versions.ts'
import {
  addToTotalSql,
  checkDisputed,
  disputed,
  findOpen,
  hasTotal,
  insertLines,
  isNamedSql,
  keySql,
  lockDisputed,
  toKeys,
} from './disputed-lines.ts'

// Lets a merchant dispute lines of a document: their part of a total is held until staff settle the dispute.

export const Dispute = defineBody('Dispute', { ...disputed, reason: Reason })

/**
 * Holds back the part that lines add to the total of a submitted document. The rest of it proceeds; with nothing left
 * to pay, it waits. Disputed charges of a tax invoice, which never changes, are on the remittance.
 */
export const disputeLines = async (
  tx: Tx,
  { tenant, merchantId, id: number, body }: Call<Static<typeof Dispute>>,
): Promise<Acted<string[]>> => {
  const { reason } = body
  const keys = toKeys(body)
  const invoice = await findInvoice(tx, tenant, number, { merchantId, lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id, invoice_no, merchant_id, document, state } = invoice
  if (state !== 'submitted')
    return refuse('invoice_no', `The invoice is ${state}: only a submitted one can be disputed.`)
  const holder = hasTotal(document) ? invoice : await findRemittance(tx, tenant, invoice_id)
  const incomplete = await lockDisputed(tx, tenant, body)
  if (incomplete) return incomplete
  const { rows } = await tx.client.query(disputableSql(document), [tenant, invoice_id, keys])
  const found = new Map(rows.map(row => [row.key, row.held]))
  const open = await findOpen(tx, [tenant, merchant_id, keys])
  const errors = checkDisputed(body, key => {
    const amount = found.get(key)
    if (amount === undefined) return `${key} is not on the invoice ${invoice_no}.`
    if (open.has(key)) return `${key} is disputed already.`
    return amount === 0 && `Nothing of ${key} is in the total.`
  })
  const refused = refuseAny(errors)
  if (refused) return refused
  const clock = await readClock(tx, tenant)
  const { journalId, today } = clock
  const about = ['disputed', merchant_id, journalId, today, reason, holder?.invoice_id, invoice_id, null, 0]
  await insertLines(tx, tenant, rows, about)
  if (holder) await holdBack(tx, tenant, holder, addAmounts(found.values()), clock, reason)
  await bookJournal(
    tx,
    tenant,
    journalId,
    rows.map(row => row.waybill_number),
  )
  return { kind: 'done', data: keys, objects: keys }
}

/** Finds the submitted remittance that sets a tax invoice or note off; undefined: the next one takes the dispute. */
const findRemittance = async (tx: Tx, tenant: string, invoiceId: string) => {
  const { rows } = await tx.client.query(remittanceSql, [tenant, invoiceId])
  const found = rows[0] && (await findInvoice(tx, tenant, rows[0].remittance_id, { lock: true }))
  return found?.state === 'submitted' ? found : undefined
}

const remittanceSql = `
  select remittance_id from set_offs join invoices remittance on remittance.tenant_id = $1
    and remittance.invoice_id = remittance_id
  where set_offs.tenant_id = $1 and set_offs.invoice_id = $2 and state = 'submitted' order by 1 limit 1`

/** Takes what is held off the total of a document, as its next version. */
const holdBack = async (tx: Tx, tenant: string, invoice: InvoiceRow, held: number, clock: Clock, reason: string) => {
  await tx.client.query(addToTotalSql, [tenant, invoice.invoice_id, -held])
  const credited = held > 0 && invoice.document === 'invoice' ? held : undefined
  await addVersion(tx, tenant, invoice, clock, { kind: 'disputed', issuedOn: clock.today, credited, reason })
}

/**
 * Selects the amount that each parcel or line adds to what is paid, by the document $2 that has it. An earlier dispute
 * took it out, also of a tax invoice, which does not have its line.
 */
const disputableSql = (document: DocumentKind) => `
  select ${keySql(disputedNo)} as key, waybill_number,
    sum(${hasTotal(document) ? paidSql : `-${chargesSql} - line.held`})::float8 as held,
    max(line_no) filter (where kind <> 'disputed') as refers_to
  from money_lines line ${hasTotal(document) ? `join ${invoiceTermsSql}` : ''}
  where line.tenant_id = $1 and ${isNamedSql(disputedNo)}
    and ${hasTotal(document) ? 'line.invoice_id = $2' : ofTaxInvoiceSql}
  group by 1, 2 having count(*) filter (where kind <> 'disputed') > 0`
const disputedNo = `case kind when 'disputed' then refers_to else line_no end`
const ofTaxInvoiceSql = `(tax_invoice_id = $2 or kind = 'disputed' and disputed_on = $2)`
