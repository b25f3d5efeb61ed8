import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../../core/database/tables.ts'
import type { Clock } from '../ledger/parcels.ts'
import { type DocumentKind, documentKinds } from '../papers/amounts.ts'
import { type BookedTax, sumTaxes } from '../taxes/tax-sums.ts'

// Stores the drafts of documents. Each has its id in place of its numbers, which it gets when it is submitted.

export const Made = Type.Object(
  {
    merchant_id: Type.Integer(),
    kind: Type.Union([Type.Literal('made'), Type.Literal('nothing_payable')]),
    id: Type.Optional(Type.String({ description: 'The id of the draft; it gets its numbers when it is submitted.' })),
    document: Type.Optional(Type.Union(documentKinds.map(kind => Type.Literal(kind)))),
    total: Type.Number({
      description: 'The amount owed to the merchant; below zero, the next invoice takes it.',
    }),
    charges_due: Type.Optional(
      Type.Number({ description: 'The charges of a tax invoice; below zero: a credit note.' }),
    ),
  },
  { title: 'MadeInvoice' },
)
export type Made = Static<typeof Made>

export interface Draft {
  readonly tenant: string
  readonly merchant_id: number
  readonly until: string
  readonly by: string
}

interface Sums {
  readonly parcels: number
  readonly total: number
  readonly charges_due: number
  readonly taxable: number
  readonly tax: number
  /** Lists the taxes of each line that has several; null: none has. */
  readonly tax_lists: readonly BookedTax[][] | null
}

/** Stores a draft, and returns how the response names it. */
export const insertDraft = async (
  tx: Tx,
  { tenant, merchant_id, until, by }: Draft,
  { journalId: id, now }: Clock,
  document: DocumentKind,
  { parcels, total, charges_due, taxable, tax, tax_lists }: Sums,
  corrects: string | null = null,
): Promise<Made> => {
  const values = [
    tenant,
    id,
    merchant_id,
    until,
    parcels,
    total,
    charges_due,
    by,
    now,
    document,
    taxable,
    tax,
    corrects,
    tax_lists && JSON.stringify(sumTaxes(tax_lists)),
  ]
  await tx.client.query(insertSql, values)
  return { merchant_id, kind: 'made', id, document, total, charges_due }
}

/** A draft has its id in place of its numbers. */
const insertSql = `
  insert into invoices (tenant_id, invoice_id, merchant_id, invoice_no, invoice_ref_no, until, state, parcels,
    total, charges_due, made_by, made_at, kind, taxable, tax, corrects_id, taxes)
  values ($1, $2, $3, $2::uuid::text, $2::uuid::text, $4, 'draft', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

/**
 * Is true of a line, `line`, if something undid it after the day $4: its reversal, the reversal of the delivery that
 * it disputes, or a dispute of its parcel that is on no invoice yet. An invoice takes such lines together with what
 * undid them, so one up to the day $4 leaves them out.
 */
export const isUndoneLaterSql = `exists (
    select from money_lines later where later.tenant_id = $1 and later.waybill_number = line.waybill_number
      and later.booked_on > $4::date and later.line_no > line.line_no and (
        later.kind in ('delivery_reversed', 'return_reversed') and later.refers_to <= line.line_no
          and line.kind not in ('compensated', 'compensation', 'write_off')
        or later.kind = 'disputed' and later.invoice_id is null
          and (line.waybill_number <> '' or later.refers_to = line.line_no)))`

/** Sums the charges of lines, `line`, without tax, and their tax; lists their taxes, which `sumTaxes` adds up. */
export const taxSumsSql = `coalesce(sum(line.delivery + line.cod_fee + line.return_fee), 0)::float8 as taxable,
    coalesce(sum(line.tax), 0)::float8 as tax,
    jsonb_agg(line.taxes order by line.waybill_number, line.line_no) filter (where line.taxes is not null) as tax_lists,
    count(distinct nullif(line.waybill_number, ''))::int as parcels`
