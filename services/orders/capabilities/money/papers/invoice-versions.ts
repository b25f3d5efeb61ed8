import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../../core/database/tables.ts'
import { nullable, sum } from '../ledger/fields.ts'
import type { Clock } from '../ledger/parcels.ts'
import { negate } from '../taxes/tax-sums.ts'
import { type DocumentKind, InvoiceLine, lineAmountNames, lineColumnsSql, viewLine } from './amounts.ts'
import { takeNumber } from './invoice-numbers.ts'

// Keeps what a merchant saw: versions of invoices, and the credit notes that lead from one to the next
// (docs/money.md#documents). A version names its lines, which never change, and copies whatever may.

const kinds = ['submitted', 'disputed', 'settled', 'cancelled'] as const
type Kind = (typeof kinds)[number]

export const Version = Type.Object(
  {
    version: Type.Integer({ examples: [2] }),
    kind: Type.Union(
      kinds.map(kind => Type.Literal(kind)),
      { description: 'What made the version.', examples: ['disputed'] },
    ),
    issued_on: nullable('The day of issue; null: a draft that was cancelled.'),
    total: sum('The amount that the courier company pays.', 15451.8),
    charges_due: sum('The charges that the merchant pays separately.', 0),
    credit_note_no: nullable('The credit note that takes `credited` off the version before.'),
    credited: Type.Union([Type.Number(), Type.Null()], { examples: [425.4] }),
    reason: nullable(),
  },
  { title: 'InvoiceVersion' },
)
type Version = Static<typeof Version>
type Line = Static<typeof InvoiceLine>

/**
 * Holds the parties of a document as they were on its day, and its form. Documents leave out what is null. Documents of
 * an earlier release have no form: they keep their layout.
 */
export interface Letterhead {
  readonly company: string
  readonly company_address: string | null
  readonly company_tax_number: string | null
  readonly merchant_name: string
  readonly merchant_address: string | null
  readonly merchant_tax_number: string | null
  readonly currency: string
  readonly form?: 'plain' | 'lk'
  readonly company_phone?: string | null
  readonly merchant_phone?: string | null
  readonly merchant_tax_status?: string | null
  readonly place_of_supply?: string | null
  readonly sets_off?: boolean
}

const letterheadSql = `json_build_object('company', tenants.name, 'company_address', tenants.postal_address,
  'company_tax_number', tenants.tax_number, 'merchant_name', merchants.name,
  'merchant_address', merchants.postal_address, 'merchant_tax_number', merchants.tax_number, 'currency', currency,
  'form', invoice_form, 'company_phone', contact, 'merchant_phone', phone, 'merchant_tax_status', tax_status,
  'place_of_supply', place_of_supply, 'sets_off', not charges_apart)`

const findLetterheadSql = `select ${letterheadSql} as letterhead
  from merchants join tenants on tenants.tenant_id = merchants.tenant_id
  where merchants.tenant_id = $1 and merchants.merchant_id = $2`

/** Reads the letterhead of a document that is not issued yet. */
export const findLetterhead = async (tx: Tx, tenant: string, merchantId: number): Promise<Letterhead> =>
  (await tx.client.query(findLetterheadSql, [tenant, merchantId])).rows[0].letterhead

interface Change {
  readonly kind: Kind
  /** null: no merchant sees the version. */
  readonly issuedOn: string | null
  /** Is what the version takes off the one before; undefined: it needs no credit note. */
  readonly credited?: number | undefined
  readonly reason?: string | undefined
}

/** Stores an invoice, which the transaction has locked and changed, as its next version. */
export const addVersion = async (
  tx: Tx,
  tenant: string,
  { invoice_id, merchant_id, document }: { invoice_id: string; merchant_id: number; document: DocumentKind },
  clock: Clock,
  { kind, issuedOn, credited, reason }: Change,
): Promise<void> => {
  const letterhead = await findLetterhead(tx, tenant, merchant_id)
  const { rows } = await tx.client.query(keysSql(lineColumn(document)), [tenant, invoice_id])
  const creditNoteNo =
    credited === undefined ? null : await takeNumber(tx, tenant, 'credit_note_mask', clock, merchant_id)
  const { rows: stored } = await tx.client.query(countVersionSql, [tenant, invoice_id])
  const { version, total, charges_due } = stored[0]
  await tx.client.query(insertSql, [
    ...[tenant, invoice_id, version, kind, issuedOn, total, charges_due, JSON.stringify(letterhead)],
    ...[rows.map(row => row.waybill_number), rows.map(row => row.line_no)],
    ...[creditNoteNo, credited, reason],
  ])
}

/** Names the column of lines that holds a document. */
const lineColumn = (document: DocumentKind): string =>
  document === 'invoice' || document === 'remittance' ? 'invoice_id' : 'tax_invoice_id'

const keysSql = (column: string) => `select waybill_number, line_no from money_lines
  where tenant_id = $1 and ${column} = $2 order by waybill_number, line_no`

const countVersionSql = `update invoices set version = version + 1 where tenant_id = $1 and invoice_id = $2
  returning version, total, charges_due`

const insertSql = `
  insert into invoice_versions (tenant_id, invoice_id, version, kind, issued_on, total, charges_due, letterhead,
    waybill_numbers, line_nos, credit_note_no, credited, reason)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

interface StoredVersion extends Version {
  readonly letterhead: Letterhead
}

/** Lists the versions of an invoice, oldest first. A draft and invoices of an earlier release have none. */
export const listVersions = async (tx: Tx, tenant: string, invoiceId: string): Promise<StoredVersion[]> =>
  (await tx.client.query(listSql, [tenant, invoiceId])).rows

const listSql = `
  select version, kind, issued_on::text, total::float8, charges_due::float8, letterhead, credit_note_no,
    credited::float8, reason
  from invoice_versions
  where tenant_id = $1 and invoice_id = $2 order by version`

/** Reads the lines of a version or, without one, those that the document has now. */
export const readLines = async (
  tx: Tx,
  tenant: string,
  { invoice_id, document }: { invoice_id: string; document: DocumentKind },
  version?: number,
): Promise<Line[]> => {
  const text = version === undefined ? currentLinesSql(lineColumn(document)) : versionLinesSql
  const values = version === undefined ? [tenant, invoice_id] : [tenant, invoice_id, version]
  const { rows } = await tx.client.query<Line>(text, values)
  return rows.map(line => viewLine(document, line))
}

const currentLinesSql = (column: string) => `
  select ${lineColumnsSql} from money_lines line where tenant_id = $1 and ${column} = $2
  order by waybill_number, line_no`

const versionLinesSql = `
  select ${lineColumnsSql}
  from (
    select unnest(waybill_numbers) as waybill_number, unnest(line_nos) as line_no from invoice_versions
    where tenant_id = $1 and invoice_id = $2 and version = $3
  ) listed join money_lines line on line.tenant_id = $1 and line.waybill_number = listed.waybill_number
    and line.line_no = listed.line_no
  order by waybill_number, line_no`

export const CreditNote = Type.Object(
  {
    credit_note_no: Type.String({ examples: ['CN-26-02-00001'] }),
    invoice_no: Type.String(),
    version: Type.Integer({ description: 'The version of the invoice that the credit note leads to.' }),
    kind: Version.properties.kind,
    issued_on: Type.String(),
    credited: sum('The amount that it takes off the total of the invoice.', 425.4),
    charges_credited: sum('The amount that it takes off `charges_due`.', 0),
    reason: nullable(),
    lines: Type.Array(InvoiceLine, { description: 'The lines that it adds; of a cancelled invoice, all, reversed.' }),
  },
  { title: 'CreditNote' },
)
export type CreditNote = Static<typeof CreditNote>

/** Finds a credit note by its number. A merchant finds only its own. */
export const findCreditNote = async (
  tx: Tx,
  tenant: string,
  merchantId: string | null,
  number: string,
): Promise<(CreditNote & { letterhead: Letterhead }) | undefined> => {
  const [row] = (await tx.client.query(findCreditNoteSql, [tenant, number, merchantId])).rows
  if (!row) return undefined
  const { invoice_id, document, charges_due, ...note } = row
  const isCancelled = note.kind === 'cancelled'
  const lines = await readLines(tx, tenant, { invoice_id, document }, note.version)
  return {
    ...note,
    charges_credited: isCancelled ? charges_due : 0,
    lines: isCancelled
      ? lines.map(reverse)
      : await removeEarlier(tx, tenant, { invoice_id, document }, note.version, lines),
  }
}

const findCreditNoteSql = `
  select issued.invoice_id, invoices.kind as document, credit_note_no, invoice_no, issued.version,
    issued.kind, issued_on::text, credited::float8,
    issued.charges_due::float8, issued.reason, letterhead
  from invoice_versions issued
    join invoices on invoices.tenant_id = issued.tenant_id and invoices.invoice_id = issued.invoice_id
  where issued.tenant_id = $1 and credit_note_no = $2 and ($3::bigint is null or merchant_id = $3)`

/** Leaves out the lines of the version before. */
const removeEarlier = async (
  tx: Tx,
  tenant: string,
  invoice: { invoice_id: string; document: DocumentKind },
  version: number,
  lines: readonly Line[],
) => {
  const toKey = ({ waybill_number, line_no }: Line) => `${waybill_number} ${line_no}`
  const earlier = new Set((await readLines(tx, tenant, invoice, version - 1)).map(toKey))
  return lines.filter(line => !earlier.has(toKey(line)))
}

/** Changes the sign of a line's amounts. */
const reverse = (line: Line): Line => ({
  ...line,
  ...Object.fromEntries(lineAmountNames.map(name => [name, -line[name] || 0])),
  ...{ taxes: negate(line.taxes), withheld: negate(line.withheld) },
})
