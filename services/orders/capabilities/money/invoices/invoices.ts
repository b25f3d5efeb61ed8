import { writeAmount } from '@courier/shared/currency.ts'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Day } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { LockedOrder } from '../../../core/moves/move-points.ts'
import { BankReference, nullable, sum } from '../ledger/fields.ts'
import { bookJournal, chargesSql } from '../ledger/ledger.ts'
import { type Clock, lockParcels, readClock } from '../ledger/parcels.ts'
import { invoiceTermsSql, leftSql, paidSetOffSql, paidSql } from '../ledger/payable.ts'
import { documentKinds } from '../papers/amounts.ts'
import { type Mask, takeNumber } from '../papers/invoice-numbers.ts'
import { addVersion } from '../papers/invoice-versions.ts'
import { bookedTaxes } from '../taxes/tax-sums.ts'
import { lockSetOffs } from './set-offs.ts'

// Takes an invoice from draft to payment (docs/money.md#invoices).

export const invoiceStates = ['draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled'] as const

export const Invoice = Type.Object(
  {
    id: Type.String({ description: 'Names the document before it has numbers, too.' }),
    document: Type.Union(documentKinds.map(kind => Type.Literal(kind))),
    invoice_no: nullable('The number in the series of such documents; null: a draft, which has none.'),
    invoice_ref_no: nullable('A second number; null: a draft.'),
    corrects: nullable('The number of the tax invoice that a note corrects.'),
    merchant_id: Type.Integer(),
    merchant_name: Type.String(),
    until: { ...Day, description: 'The last day whose lines the invoice takes.' },
    state: Type.Union(
      invoiceStates.map(state => Type.Literal(state)),
      { examples: ['submitted'] },
    ),
    parcels: Type.Integer({ examples: [50] }),
    total: sum(
      'The amount that the courier company pays. At 0 or below the invoice waits until its disputes are settled.',
      15877.2,
    ),
    taxable: sum('The charges of its parcels without tax.', 20210),
    tax: sum('The tax on them.', 3637.8),
    taxes: bookedTaxes('The parts of `tax` by name and rate, if the company has several.'),
    charges_due: sum('The charges that the merchant owes for this document; of a credit note below zero.', 0),
    charges_left: sum('The part of `charges_due` that is neither paid nor set off.', 0),
    set_off: sum('The tax invoices, less credit notes, that a remittance takes off.', 0),
    made_by: Type.String({ examples: ['Chamari'] }),
    made_at: Type.String(),
    submitted_at: nullable(),
    objection_until: nullable(
      'Only the merchant approves the invoice before this time; then it is approved unless something is disputed.',
    ),
    version: Type.Integer({ description: 'The newest version; 0: a draft.', examples: [1] }),
    decided_by: nullable(
      'Names who approved, rejected or cancelled the invoice; null before a decision, and after an approval because nobody objected in time.',
    ),
    decided_at: nullable(),
    reason: nullable(),
    deposited_at: nullable(),
    bank_reference: nullable(),
    paid_on: nullable(),
  },
  { title: 'Invoice' },
)
export type Invoice = Static<typeof Invoice>

const issuedNoSql = (column: string) => `nullif(invoices.${column}, invoices.invoice_id::text)`

export const invoiceColumns = `invoices.invoice_id::text as id, invoices.kind as document,
  ${issuedNoSql('invoice_no')} as invoice_no, ${issuedNoSql('invoice_ref_no')} as invoice_ref_no,
  (select invoice_no from invoices corrected where corrected.tenant_id = $1
    and corrected.invoice_id = invoices.corrects_id) as corrects,
  coalesce(taxable, earlier.charges - earlier.tax)::float8 as taxable,
  coalesce(invoices.tax, earlier.tax)::float8 as tax, coalesce(invoices.taxes, '[]') as taxes,
  (${leftSql})::float8 as charges_left,
  (select coalesce(sum(amount), 0) from set_offs where set_offs.tenant_id = $1
    and remittance_id = invoices.invoice_id)::float8 as set_off, invoices.merchant_id::float8,
  merchants.name as merchant_name, until::text, invoices.state,
  parcels, total::float8, charges_due::float8, made_by, ${isoTime('made_at')} as made_at,
  ${isoTime('submitted_at')} as submitted_at, ${isoTime('objection_until')} as objection_until, invoices.version,
  decided_by, ${isoTime('decided_at')} as decided_at, reason,
  ${isoTime('deposited_at')} as deposited_at, bank_reference, paid_on::text`

/** Joins the tables that `invoiceColumns` come from. */
export const fromInvoicesSql = `from invoices join tenants on tenants.tenant_id = invoices.tenant_id
  join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
  cross join lateral (
    select coalesce(sum(${chargesSql}), 0) as charges, coalesce(sum(line.tax), 0) as tax from money_lines line
    where invoices.taxable is null and line.tenant_id = $1 and line.invoice_id = invoices.invoice_id
  ) earlier
  where invoices.tenant_id = $1`

/** Adds fields that the service needs and does not show. */
export interface InvoiceRow extends Invoice {
  readonly invoice_id: string
  readonly submitted_by: string | null
  readonly four_eyes: boolean
  /** Only the merchant may approve it now. */
  readonly is_objectable: boolean
  readonly charges_reference: string | null
  readonly currency: string
  /** No one gets a message when the invoice is paid. */
  readonly is_silent: boolean
}

const findSql = `select ${invoiceColumns}, invoice_id, submitted_by, four_eyes, charges_reference, currency,
  coalesce(objection_until > clock_timestamp(), false) as is_objectable,
  not (messaging and phone is not null) as is_silent ${fromInvoicesSql}
  and (invoice_no = $2 or invoice_ref_no = $2 or invoices.invoice_id = $4)
    and ($3::bigint is null or invoices.merchant_id = $3 and submitted_at is not null)
  limit 1`

/** Matches the numbers that masks produce: printable ASCII. Postgres refuses some other texts. */
export const isNumber = /^[\x21-\x7e]{1,100}$/

export const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Finds an invoice by its id or one of its numbers. A merchant finds only its own invoices, once submitted. */
export const findInvoice = async (
  tx: Tx,
  tenant: string,
  number: string,
  { merchantId = null, lock = false }: { merchantId?: string | null; lock?: boolean } = {},
): Promise<InvoiceRow | undefined> => {
  if (!isNumber.test(number)) return undefined
  const text = lock ? `${findSql} for no key update of invoices` : findSql
  const id = isId.test(number) ? number : null
  const { rows } = await tx.client.query<InvoiceRow>(text, [tenant, number, merchantId, id])
  return rows[0]
}

export const unknownInvoice = { kind: 'unknown', what: 'invoice' } as const

/** Lists the states that each step leads from, and the state that it leads to. */
const steps = {
  submit: { from: ['draft'], to: 'submitted' },
  approve: { from: ['submitted'], to: 'approved' },
  reject: { from: ['submitted'], to: 'rejected' },
  cancel: { from: ['draft', 'submitted', 'rejected', 'approved'], to: 'cancelled' },
} as const
export type Step = keyof typeof steps

/** Takes an invoice one step further. A cancelled invoice keeps its documents and frees its lines. */
export const decideInvoice = async (
  tx: Tx,
  step: Step,
  { tenant, merchantId, id: number, by: { name }, body: { reason } }: Call<{ reason?: string }>,
): Promise<Acted<Invoice>> => {
  const invoice = await findInvoice(tx, tenant, number, { merchantId, lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id: id, state } = invoice
  const from: readonly string[] = steps[step].from
  const { to } = steps[step]
  if (!from.includes(state))
    return refuse('invoice_no', `The invoice is ${state}: only one that is ${from.join(' or ')} can be ${to}.`)
  const refused = step === 'approve' && refuseApproval(invoice, merchantId === null ? name : undefined)
  if (refused) return refused
  if (step === 'cancel' && invoice.charges_reference) return refuse('invoice_no', 'Its charges were paid.')
  const batch = step === 'cancel' && (await findBatchOf(tx, tenant, id))
  if (batch) return refuse('invoice_no', `The batch ${batch} has it: cancel that, or settle or fail the payment first.`)
  const blocked = await findBlock(tx, tenant, step, invoice)
  if (blocked) return refuse('invoice_no', blocked)
  const clock = await readClock(tx, tenant)
  const columns = step === 'submit' ? ['submitted_by', 'submitted_at'] : ['decided_by', 'decided_at']
  const by = merchantId === null ? name : `merchant ${name}`
  await tx.client.query(
    `update invoices set state = $3, ${columns[0]} = $4, ${columns[1]} = $5, reason = coalesce($6, reason)
      where tenant_id = $1 and invoice_id = $2`,
    [tenant, id, to, by, clock.now, reason],
  )
  const numbered = step === 'submit' ? { ...invoice, ...(await takeNumbers(tx, tenant, invoice, clock)) } : invoice
  if (step === 'submit') await presentInvoice(tx, tenant, numbered, clock, 'submitted')
  if (step === 'cancel') await releaseLines(tx, tenant, invoice, clock, reason)
  if (step === 'approve') await settleDocuments(tx, tenant)
  return readAgain(tx, tenant, number, [numbered.invoice_no ?? id])
}

/** Gives a document its numbers as it is issued. Drafts of an earlier release have theirs. */
const takeNumbers = async (tx: Tx, tenant: string, invoice: InvoiceRow, clock: Clock) => {
  const { invoice_id, invoice_no: given, invoice_ref_no, merchant_id, document } = invoice
  if (given !== null) return { invoice_no: given, invoice_ref_no }
  const take = (mask: Mask) => takeNumber(tx, tenant, mask, clock, merchant_id)
  const invoice_no = await take(maskOf[document])
  const hasReference = document === 'invoice' || document === 'remittance'
  const numbers = { invoice_no, invoice_ref_no: hasReference ? await take('invoice_ref_mask') : invoice_no }
  const text = 'update invoices set invoice_no = $3, invoice_ref_no = $4 where tenant_id = $1 and invoice_id = $2'
  await tx.client.query(text, [tenant, invoice_id, numbers.invoice_no, numbers.invoice_ref_no])
  return numbers
}

const maskOf = {
  invoice: 'invoice_mask',
  tax_invoice: 'invoice_mask',
  credit_note: 'credit_note_mask',
  debit_note: 'debit_note_mask',
  remittance: 'remittance_mask',
} as const

/** Says which other document keeps this one from a step; undefined: none does. */
const findBlock = async (tx: Tx, tenant: string, step: Step, invoice: InvoiceRow): Promise<string | undefined> => {
  const { invoice_id, merchant_id, document, invoice_no } = invoice
  if (document === 'invoice' || !['submit', 'cancel'].includes(step)) return undefined
  await lockSetOffs(tx, tenant, merchant_id)
  const find = async (text: string) => (await tx.client.query(text, [tenant, invoice_id])).rows[0]?.found
  if (step === 'submit') {
    const draft = document === 'remittance' && (await find(draftSetOffSql))
    return draft ? `It sets the draft ${draft} off: submit that first.` : undefined
  }
  if (document === 'remittance') return undefined
  if (invoice_no !== null && document !== 'tax_invoice') return 'A note that was issued stays: another one corrects it.'
  const user = await find(usedBySql)
  return user ? `${user} sets it off or corrects it, or has its parcels: cancel that first.` : undefined
}

const draftSetOffSql = `
  select invoices.invoice_id::text as found from set_offs join invoices using (tenant_id, invoice_id)
  where tenant_id = $1 and remittance_id = $2 and submitted_at is null limit 1`

const usedBySql = `
  select invoice_no as found from invoices where tenant_id = $1 and state <> 'cancelled' and (corrects_id = $2
    or invoice_id in (select remittance_id from set_offs where tenant_id = $1 and invoice_id = $2
      union select invoice_id from money_lines where tenant_id = $1 and tax_invoice_id = $2 and invoice_id <> $2))
  limit 1`

/** Marks documents of charges as paid, or as approved again after a payment that came back. */
export const settleDocuments = async (tx: Tx, tenant: string): Promise<void> => {
  const text = `update invoices set state = 'deposited', deposited_at = now()
    where tenant_id = $1 and kind = 'remittance' and state = 'approved' and total = 0`
  await tx.client.query(text, [tenant])
  await tx.client.query(settleSql, [tenant])
}

const settleSql = `
  update invoices set state = case when is_settled then 'deposited' else 'approved' end
  from (
    select invoice_id, charges_journal_id is not null or charges_due = ${paidSetOffSql} as is_settled
    from invoices where tenant_id = $1 and kind not in ('invoice', 'remittance')
      and state in ('submitted', 'approved', 'deposited')
  ) document
  where tenant_id = $1 and invoices.invoice_id = document.invoice_id and (state = 'deposited') <> is_settled`

/** Refuses an approval that comes too early, of nothing, or by the person who submitted it. `staff` names staff. */
const refuseApproval = (invoice: InvoiceRow, staff: string | undefined) => {
  const { total, charges_due, set_off, four_eyes, submitted_by, is_objectable, objection_until } = invoice
  if (total < 0 || (total === 0 && charges_due === 0 && set_off === 0))
    return refuse('invoice_no', 'It has nothing to pay while parcels are disputed: settle the dispute, or cancel it.')
  if (staff === undefined) return undefined
  if (is_objectable)
    return refuse('invoice_no', `Only the merchant approves it before ${objection_until}: it may dispute parcels.`)
  if (four_eyes && submitted_by === staff)
    return refuse('invoice_no', `${staff} submitted it: a second person must approve it.`)
  return undefined
}

/** Gives the merchant a new version of a submitted invoice, with the company's time to object to it. */
export const presentInvoice = async (
  tx: Tx,
  tenant: string,
  invoice: InvoiceRow,
  clock: Clock,
  kind: 'submitted' | 'settled',
): Promise<void> => {
  const { invoice_id, invoice_no, invoice_ref_no, merchant_id, currency, is_silent, document, charges_due } = invoice
  const isOfCharges = document !== 'invoice' && document !== 'remittance'
  const { rows } = await tx.client.query(objectionSql, [tenant, clock.now])
  const { objection_until, object_until } = rows[0]
  const setSql = 'update invoices set objection_until = $3 where tenant_id = $1 and invoice_id = $2 returning total'
  const { rows: changed } = await tx.client.query(setSql, [tenant, invoice_id, objection_until])
  await addVersion(tx, tenant, invoice, clock, { kind, issuedOn: clock.today })
  const total = writeAmount(Number(changed[0].total), currency)
  const more = isOfCharges && { document, charges_due: writeAmount(charges_due, currency) }
  const details = JSON.stringify({ invoice_no, invoice_ref_no, total, currency, object_until, ...more })
  const values = [[''], [''], clock.now, is_silent || isOfCharges, details]
  await tx.client.query(logSql, [tenant, merchant_id, 'invoice.submitted', ...values])
}

/** Selects the end of the time to object: for programs, and in the company's time zone for people. */
const objectionSql = `
  select until as objection_until, to_char(until at time zone time_zone, 'YYYY-MM-DD HH24:MI') as object_until
  from (
    select $2::timestamptz + make_interval(hours => objection_hours) as until, time_zone from tenants
    where tenant_id = $1
  ) company`

/**
 * Frees the lines of a cancelled invoice, which its last version names. A credit note takes back what was submitted; a
 * total that a dispute left below zero only rises.
 */
const releaseLines = async (tx: Tx, tenant: string, invoice: InvoiceRow, clock: Clock, reason: string | undefined) => {
  const { submitted_at, total, charges_due, document } = invoice
  const issuedOn = submitted_at === null ? null : clock.today
  const isCredited = issuedOn !== null && document !== 'remittance' && total >= 0 && total + charges_due > 0
  const credited = isCredited ? total : undefined
  await addVersion(tx, tenant, invoice, clock, { kind: 'cancelled', issuedOn, credited, reason })
  await tx.client.query(freeSql, [tenant, invoice.invoice_id])
}

/** Finds the live batch that has an invoice, which the caller has locked. */
const findBatchOf = async (tx: Tx, tenant: string, invoiceId: string): Promise<string | undefined> => {
  const text = `select batch_no from payout_items where tenant_id = $1 and invoice_id = $2 and state = 'open'`
  return (await tx.client.query(text, [tenant, invoiceId])).rows[0]?.batch_no
}

const freeSql = `
  update money_lines set invoice_id = nullif(invoice_id, $2), tax_invoice_id = nullif(tax_invoice_id, $2)
  where tenant_id = $1 and (invoice_id = $2 or tax_invoice_id = $2)`

/**
 * Approves submitted invoices to which nobody objected in time, unless a dispute leaves nothing to pay or, under
 * `four_eyes`, one person alone made and submitted them. Returns how many.
 */
export const approveUndisputed: DeleteExpired = async (tx, tenant) => {
  const { rowCount } = await tx.client.query(approveUndisputedSql, [tenant])
  if (rowCount) await settleDocuments(tx, tenant)
  return rowCount ?? 0
}

const approveUndisputedSql = `
  update invoices set state = 'approved', decided_at = now() from tenants
  where invoices.tenant_id = $1 and tenants.tenant_id = $1 and state = 'submitted' and objection_until <= now()
    and (not four_eyes or made_by <> submitted_by)
    and (total > 0 or total = 0 and (charges_due <> 0
      or exists (select from set_offs where set_offs.tenant_id = $1 and remittance_id = invoices.invoice_id)))`

/** Returns the invoice as the transaction wrote it. */
const readAgain = async (
  tx: Tx,
  tenant: string,
  number: string,
  objects: readonly string[],
): Promise<Acted<Invoice>> => ({
  kind: 'done',
  data: (await findInvoice(tx, tenant, number)) as Invoice,
  objects,
})

export const payment = { bank_reference: BankReference, paid_on: Day }
interface Paid extends Static<TObject<typeof payment>> {
  readonly tenant: string
  readonly by: string
  readonly invoice: InvoiceRow
}

/** Books that an approved invoice was paid. The caller has locked it, and the parcels of all that it pays. */
export const payInvoice = async (tx: Tx, { tenant, by, invoice, bank_reference, paid_on }: Paid): Promise<void> => {
  const { invoice_id, invoice_no, invoice_ref_no, merchant_id, currency, is_silent } = invoice
  const parcels = await lockPaid(tx, tenant, invoice_id, currency)
  const { journalId, now, today } = await readClock(tx, tenant)
  await tx.client.query(depositSql, [tenant, invoice_id, by, now, journalId, today, bank_reference, paid_on])
  await bookJournal(tx, tenant, journalId, [])
  await settleDocuments(tx, tenant)
  const details = { invoice_no, invoice_ref_no, paid_on, bank_reference }
  for (let start = 0; start < parcels.length; start += maxPerEntry) {
    const slice = parcels.slice(start, start + maxPerEntry)
    const values = [slice.map(each => each.waybill_number), slice.map(each => each.status_key)]
    const more = JSON.stringify({ ...details, each: slice.map(({ amount }) => ({ amount, currency })) })
    await tx.client.query(logSql, [tenant, merchant_id, 'money.paid', ...values, now, true, more])
  }
  const paid = JSON.stringify({ ...details, total: writeAmount(invoice.total, currency), currency })
  // The entry has no parcel: an empty waybill number gives it one position in the feed.
  await tx.client.query(logSql, [tenant, merchant_id, 'invoice.deposited', [''], [''], now, is_silent, paid])
}

const depositSql = `
  update invoices set state = 'deposited', deposited_by = $3, deposited_at = $4, journal_id = $5, booked_on = $6,
    bank_reference = $7, paid_on = $8
  where tenant_id = $1 and invoice_id = $2`

type Paying = LockedOrder & { readonly amount: string }

/** Locks the parcels that add to the total of an invoice, with their part of it; disputed and returned ones do not. */
const lockPaid = async (tx: Tx, tenant: string, invoiceId: string, currency: string): Promise<Paying[]> => {
  const { rows } = await tx.client.query(paidParcelsSql, [tenant, invoiceId])
  const amounts = new Map<string, string>(rows.map(row => [row.waybill_number, writeAmount(row.amount, currency)]))
  const orders = await lockParcels(tx, tenant, [...amounts.keys()])
  return orders.map(order => ({ ...order, amount: amounts.get(order.waybill_number) ?? '' }))
}

const paidParcelsSql = `
  select waybill_number, sum(${paidSql})::float8 as amount from money_lines line join ${invoiceTermsSql}
  where line.tenant_id = $1 and line.invoice_id = $2
  group by waybill_number having sum(${paidSql}) > 0`

const maxPerEntry = 1000

/** Writes a log entry. The caller has locked its parcels, so the entries of a waybill keep their order. */
const logSql = `
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, happened_at, is_relayed, details)
  values ($1, $2, $3, $4, $5, 'staff', $6, $7, $8)`

export const ChargesPayment = defineBody('ChargesPayment', { bank_reference: BankReference })

/** Books that a merchant paid the charges that it keeps apart. Repeating the reference changes nothing. */
export const payCharges = async (
  tx: Tx,
  { tenant, id: number, body: { bank_reference } }: Call<Static<typeof ChargesPayment>>,
): Promise<Acted<Invoice>> => {
  const invoice = await findInvoice(tx, tenant, number, { lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id, invoice_no, merchant_id, state, document, charges_due, charges_reference } = invoice
  if (document !== 'invoice') await lockSetOffs(tx, tenant, merchant_id)
  if (charges_due <= 0) return refuse('invoice_no', 'The invoice has no separate charges.')
  if (!['approved', 'deposited'].includes(state))
    return refuse('invoice_no', `The invoice is ${state}: approve it first.`)
  if (charges_reference === bank_reference) return readAgain(tx, tenant, number, [])
  if (charges_reference) return refuse('bank_reference', `The charges were paid with ${charges_reference}.`)
  const { charges_left } = (await findInvoice(tx, tenant, number)) as InvoiceRow
  const due = document === 'invoice' ? charges_due : charges_left
  if (due <= 0) return refuse('invoice_no', 'Its charges are set off.')
  const { journalId, today } = await readClock(tx, tenant)
  await tx.client.query(chargesPaidSql, [tenant, invoice_id, journalId, today, bank_reference, due])
  await bookJournal(tx, tenant, journalId, [])
  await settleDocuments(tx, tenant)
  return readAgain(tx, tenant, number, [invoice_no ?? invoice_id])
}

const chargesPaidSql = `
  update invoices set charges_journal_id = $3, charges_booked_on = $4, charges_reference = $5,
    charges_paid = $6
  where tenant_id = $1 and invoice_id = $2`
