import { chargesSql, netSql } from './ledger.ts'

/** Lists when a COD may be paid out: at delivery, once the rider has handed it over, or once it is in the bank. */
export const payableWhen = ['delivered', 'handed_over', 'banked'] as const

/** Tests whether a company of `tenants` gives tax invoices apart from remittances. */
const hasTwoSql = `(coalesce(documents, case when tenants.tax_number is null then 'one' else 'two' end) = 'two')`

/** Selects the terms of each merchant of the tenant $1: its own, or else the tenant's. */
export const termsSql = `
  select merchants.merchant_id, merchants.name, ${hasTwoSql} as has_two, charges_apart or ${hasTwoSql} as charges_apart,
    not charges_apart as sets_off, coalesce(merchants.payable_when, tenants.payable_when)
    as payable_when,
    coalesce(merchants.payable_after_days, tenants.payable_after_days) as payable_after_days
  from merchants join tenants on tenants.tenant_id = merchants.tenant_id where merchants.tenant_id = $1`

/**
 * Tests whether the cash of a line, `line`, has come as far as its merchant's `terms` require for a payout. Citus
 * allows no `case` here. The parameters say whether the line was handed over or reversed.
 */
export const releasedSql = (
  isHanded: string,
  isReversed: string,
): string => `(kind <> 'delivered' or cod = 0 or payable_when = 'delivered'
    or (payable_when = 'banked' and banked_by is not null)
    or (payable_when = 'handed_over' and (method <> 'cash' or ${isHanded}))
    or ${isReversed})`

/**
 * Computes the first day on which an invoice may take a line, `line`. A reversed delivery is taken with its reversal,
 * which does not wait.
 */
export const payableOnSql = (isReversed: string): string =>
  `(line.booked_on + payable_after_days * (kind = 'delivered' and not ${isReversed})::integer)`

/** Tests whether a line, `line`, waits for an invoice; lines of handovers never do. */
export const isUninvoicedSql = `line.invoice_id is null and line.kind <> 'handed_over'`

/**
 * Computes the amount that an invoice pays for a line, `line`. Charges are not in it if the merchant pays them itself,
 * or if another document has them.
 */
export const paidSql = `(${netSql} + case when charges_apart then ${chargesSql} else 0 end)`

/**
 * Selects the terms of the invoice $2, since the merchant's own may have changed, and joins them to its lines, `line`.
 */
export const invoiceTermsSql = `(
    select invoice_id, charges_due <> 0 or kind <> 'invoice' as charges_apart from invoices
    where tenant_id = $1 and invoice_id = $2
  ) terms on terms.invoice_id = line.invoice_id`

/** Computes what remittances in wanted states set off of a document, `invoices` of the tenant $1. */
const sumSetOffs = (isWanted: string): string => `coalesce((
    select sum(amount) from set_offs
      join invoices remittance on remittance.tenant_id = $1 and remittance.invoice_id = remittance_id
    where set_offs.tenant_id = $1 and set_offs.invoice_id = invoices.invoice_id
      and remittance.state ${isWanted}), 0)`

export const setOffSql = sumSetOffs("<> 'cancelled'")
export const paidSetOffSql = sumSetOffs("= 'deposited'")

/** Computes what is left to set off or pay of a document, `invoices`; below zero, what the company owes for it. */
export const leftSql = `case when invoices.kind in ('invoice', 'remittance') or state = 'cancelled'
    or charges_journal_id is not null then 0 else charges_due - ${setOffSql} end`
