import { findDecimals } from '@courier/shared/currency.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../core/actions/action.ts'
import { Day } from '../../core/actions/fields.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { LockedOrder } from '../../core/moves/move-points.ts'
import { BankReference, nullable, sum } from './fields.ts'
import { bookJournal } from './ledger.ts'
import { lockParcels, readClock } from './parcels.ts'
import { invoiceTermsSql, paidSql } from './payable.ts'

// Takes an invoice from draft to payment (docs/money.md#invoices).

export const invoiceStates = ['draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled'] as const

export const Invoice = Type.Object(
  {
    invoice_no: Type.String(),
    invoice_ref_no: Type.String(),
    merchant_id: Type.Integer(),
    merchant_name: Type.String(),
    until: { ...Day, description: 'The last day whose lines the invoice takes.' },
    state: Type.Union(
      invoiceStates.map(state => Type.Literal(state)),
      { examples: ['submitted'] },
    ),
    parcels: Type.Integer({ examples: [50] }),
    brought_forward: sum('The part of `total` from lines that an earlier invoice left.', 0),
    total: sum('The amount that the courier company pays.', 15877.2),
    charges_due: sum('The charges that the merchant pays separately.', 0),
    made_by: Type.String({ examples: ['Chamari'] }),
    made_at: Type.String(),
    submitted_at: nullable(),
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

/** Selects the state of an invoice. A submitted invoice is approved if nobody objects in time. */
export const stateSql = `case when invoices.state = 'submitted'
  and submitted_at + make_interval(days => accept_after_days) <= now()
    then 'approved' else invoices.state end`

/**
 * Stores approvals by silence before a longer time to object takes them back: they may be in a pay file. Citus refuses
 * an update that adds an interval to a column itself.
 */
export const keepApprovals = (tx: Tx, tenant: string, acceptAfterDays: number): Promise<unknown> =>
  tx.client.query(
    `with silent as materialized (
      select invoice_id, submitted_at + make_interval(days => accept_after_days) as decided_at
      from invoices join tenants on tenants.tenant_id = invoices.tenant_id
      where invoices.tenant_id = $1 and accept_after_days < $2 and invoices.state = 'submitted'
        and ${stateSql} = 'approved'
      for update of invoices
    )
    update invoices set state = 'approved', decided_at = silent.decided_at from silent
    where tenant_id = $1 and invoices.invoice_id = silent.invoice_id`,
    [tenant, acceptAfterDays],
  )

export const invoiceColumns = `invoice_no, invoice_ref_no, invoices.merchant_id::float8,
  merchants.name as merchant_name, until::text, ${stateSql} as state,
  parcels, brought_forward::float8, total::float8, charges_due::float8, made_by, ${isoTime('made_at')} as made_at,
  ${isoTime('submitted_at')} as submitted_at, decided_by, ${isoTime('decided_at')} as decided_at, reason,
  ${isoTime('deposited_at')} as deposited_at, bank_reference, paid_on::text`

/** Joins the tables that `invoiceColumns` come from. */
export const fromInvoicesSql = `from invoices join tenants on tenants.tenant_id = invoices.tenant_id
  join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
  where invoices.tenant_id = $1`

/** Adds fields that the service needs and does not show. */
export interface InvoiceRow extends Invoice {
  readonly invoice_id: string
  readonly submitted_by: string | null
  readonly four_eyes: boolean
  readonly charges_reference: string | null
  readonly currency: string
  /** No one gets a message when the invoice is paid. */
  readonly is_silent: boolean
}

const findSql = `select ${invoiceColumns}, invoice_id, submitted_by, four_eyes, charges_reference, currency,
  not (messaging and phone is not null) as is_silent ${fromInvoicesSql}
  and (invoice_no = $2 or invoice_ref_no = $2)
    and ($3::bigint is null or invoices.merchant_id = $3 and submitted_at is not null)
  limit 1`

/** Matches the numbers that masks produce: printable ASCII. Postgres refuses some other texts. */
export const isNumber = /^[\x21-\x7e]{1,100}$/

/** Finds an invoice by one of its numbers. A merchant finds only its own invoices, once submitted. */
export const findInvoice = async (
  tx: Tx,
  tenant: string,
  number: string,
  { merchantId = null, lock = false }: { merchantId?: string | null; lock?: boolean } = {},
): Promise<InvoiceRow | undefined> => {
  if (!isNumber.test(number)) return undefined
  const text = lock ? `${findSql} for no key update of invoices` : findSql
  const { rows } = await tx.client.query<InvoiceRow>(text, [tenant, number, merchantId])
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

/** Takes an invoice one step further. A cancelled invoice keeps its numbers and frees its lines. */
export const decideInvoice = async (
  tx: Tx,
  step: Step,
  { tenant, merchantId, id: number, by: { name }, body: { reason } }: Call<{ reason?: string }>,
): Promise<Acted<Invoice>> => {
  const invoice = await findInvoice(tx, tenant, number, { merchantId, lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id: id, state, four_eyes, submitted_by } = invoice
  const from: readonly string[] = steps[step].from
  const { to } = steps[step]
  if (!from.includes(state))
    return refuse('invoice_no', `The invoice is ${state}: only one that is ${from.join(' or ')} can be ${to}.`)
  if (step === 'approve' && merchantId === null && four_eyes && submitted_by === name)
    return refuse('invoice_no', `${name} submitted it: a second person must approve it.`)
  if (step === 'cancel' && invoice.charges_reference) return refuse('invoice_no', 'Its charges were paid.')
  const { now } = await readClock(tx, tenant)
  const columns = step === 'submit' ? ['submitted_by', 'submitted_at'] : ['decided_by', 'decided_at']
  const by = merchantId === null ? name : `merchant ${name}`
  await tx.client.query(
    `update invoices set state = $3, ${columns[0]} = $4, ${columns[1]} = $5, reason = coalesce($6, reason)
      where tenant_id = $1 and invoice_id = $2`,
    [tenant, id, to, by, now, reason],
  )
  if (step === 'cancel') await tx.client.query(freeSql, [tenant, id])
  return readAgain(tx, tenant, number, [invoice.invoice_no])
}

const freeSql = 'update money_lines set invoice_id = null where tenant_id = $1 and invoice_id = $2'

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
type PaidCall = Pick<Call<Static<TObject<typeof payment>>>, 'tenant' | 'by' | 'id' | 'body'>

/** Books that an approved invoice was paid. Repeating the payment changes nothing. */
export const depositInvoice = async (
  tx: Tx,
  { tenant, by, id: number, body: { bank_reference, paid_on } }: PaidCall,
): Promise<Acted<Invoice>> => {
  const invoice = await findInvoice(tx, tenant, number, { lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id, invoice_no, invoice_ref_no, merchant_id, state, currency } = invoice
  if (state === 'deposited' && invoice.bank_reference === bank_reference && invoice.paid_on === paid_on)
    return readAgain(tx, tenant, number, [])
  if (state !== 'approved')
    return refuse('invoice_no', `The invoice ${invoice_no} is ${state}: only an approved one is paid.`)
  const parcels = await lockPaid(tx, tenant, invoice_id)
  const { journalId, now, today } = await readClock(tx, tenant)
  if (paid_on > today) return refuse('paid_on', `The day must be ${today} or before: nothing is paid on a later day.`)
  await tx.client.query(depositSql, [tenant, invoice_id, by.name, now, journalId, today, bank_reference, paid_on])
  await bookJournal(tx, tenant, journalId, [])
  const details = { invoice_no, invoice_ref_no, paid_on }
  for (let start = 0; start < parcels.length; start += maxPerEntry) {
    const slice = parcels.slice(start, start + maxPerEntry)
    const values = [slice.map(each => each.waybill_number), slice.map(each => each.status_key)]
    await tx.client.query(logSql, [tenant, merchant_id, 'money.paid', ...values, now, true, JSON.stringify(details)])
  }
  const paid = JSON.stringify({ ...details, total: invoice.total.toFixed(findDecimals(currency)), currency })
  // The entry has no parcel: an empty waybill number gives it one position in the feed.
  const values = [tenant, merchant_id, 'invoice.deposited', [''], [''], now, invoice.is_silent, paid]
  await tx.client.query(logSql, values)
  return readAgain(tx, tenant, number, [invoice_no])
}

const depositSql = `
  update invoices set state = 'deposited', deposited_by = $3, deposited_at = $4, journal_id = $5, booked_on = $6,
    bank_reference = $7, paid_on = $8
  where tenant_id = $1 and invoice_id = $2`

/** Locks the parcels that add to the total of an invoice; disputed and returned ones do not. */
const lockPaid = async (tx: Tx, tenant: string, invoiceId: string): Promise<LockedOrder[]> => {
  const { rows } = await tx.client.query<{ waybill_number: string }>(paidParcelsSql, [tenant, invoiceId])
  return lockParcels(
    tx,
    tenant,
    rows.map(row => row.waybill_number),
  )
}

const paidParcelsSql = `
  select waybill_number from money_lines line join ${invoiceTermsSql}
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
  const { invoice_id, invoice_no, state, charges_due, charges_reference } = invoice
  if (charges_due === 0) return refuse('invoice_no', 'The invoice has no separate charges.')
  if (!['approved', 'deposited'].includes(state))
    return refuse('invoice_no', `The invoice is ${state}: approve it first.`)
  if (charges_reference === bank_reference) return readAgain(tx, tenant, number, [])
  if (charges_reference) return refuse('bank_reference', `The charges were paid with ${charges_reference}.`)
  const { journalId, today } = await readClock(tx, tenant)
  await tx.client.query(chargesPaidSql, [tenant, invoice_id, journalId, today, bank_reference])
  await bookJournal(tx, tenant, journalId, [])
  return readAgain(tx, tenant, number, [invoice_no])
}

const chargesPaidSql = `
  update invoices set charges_journal_id = $3, charges_booked_on = $4, charges_reference = $5
  where tenant_id = $1 and invoice_id = $2`
