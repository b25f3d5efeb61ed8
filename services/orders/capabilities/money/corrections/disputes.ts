import { addAmounts } from '@courier/shared/currency.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow, presentInvoice, unknownInvoice } from '../invoices/invoices.ts'
import { Amount, mostCollected, Waybills } from '../ledger/fields.ts'
import { bookJournal, chargesSql } from '../ledger/ledger.ts'
import { type Clock, hasLaterSql, lockName, lockParcels, readClock } from '../ledger/parcels.ts'
import { invoiceTermsSql, paidSql } from '../ledger/payable.ts'
import type { DocumentKind } from '../papers/amounts.ts'
import { addVersion } from '../papers/invoice-versions.ts'
import { askSettlement } from './asked-corrections.ts'

// Lets a merchant dispute lines of a document: their part of a total is held until staff settle the dispute.

const LineNos = Type.Array(Type.Integer({ minimum: 1, maximum: 2_147_483_647, must: 'be the line_no of a line' }), {
  minItems: 1,
  maxItems: 1000,
  description: 'Lines without a parcel, by their `line_no`.',
  examples: [[1]],
})
/** Defines what a dispute is about: parcels, lines without a parcel, or both. */
const disputed = { waybill_numbers: Type.Optional(Waybills), line_nos: Type.Optional(LineNos) }
type Disputed = Static<TObject<typeof disputed>>

export const Dispute = defineBody('Dispute', { ...disputed, reason: Reason })

/** Names what a dispute is about, as responses and the audit do. No waybill has a blank. */
const toKeys = ({ waybill_numbers = [], line_nos = [] }: Disputed): string[] => [
  ...waybill_numbers,
  ...line_nos.map(toLineKey),
]
const toLineKey = (line: number | string) => `line ${line}`

const checkDisputed = (body: Disputed, check: (key: string) => string | false | undefined): FieldErrors => ({
  ...checkEach(body.waybill_numbers, check),
  ...checkEach(body.line_nos?.map(String), line => check(toLineKey(line)), 'line_nos'),
})

/** Locks what a dispute is about, or refuses a request without it. */
const lockDisputed = async (tx: Tx, tenant: string, body: Disputed) => {
  if (toKeys(body).length === 0)
    return refuse('waybill_numbers', 'Give waybill_numbers, or line_nos of lines without a parcel.')
  await lockParcels(tx, tenant, body.waybill_numbers ?? [])
  if (body.line_nos) await lockName(tx, tenant, 'corrections')
  return undefined
}

/** Tests whether a line is one that $3 names. `no` is the number of the line that is disputed. */
const isNamedSql = (no: string) =>
  `(waybill_number = any($3::text[]) or waybill_number = '') and ${keySql(no)} = any($3::text[])`
const keySql = (no: string) => `case when waybill_number = '' then 'line ' || ${no} else waybill_number end`

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

const hasTotal = (document: DocumentKind) => document === 'invoice' || document === 'remittance'

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

/** Disputed charges may be of parcels that are not on the remittance. */
const addToTotalSql = `
  update invoices set total = total + $3, parcels = counted.parcels
  from (
    select count(distinct nullif(waybill_number, '')) as parcels from money_lines
    where tenant_id = $1 and invoice_id = $2
  ) counted where tenant_id = $1 and invoice_id = $2`

/** Selects the amount that each parcel or line adds to what is paid, by the document $2 that has it. */
const disputableSql = (document: DocumentKind) => `
  select ${keySql('line_no')} as key, waybill_number,
    sum(${hasTotal(document) ? paidSql : `-${chargesSql}`})::float8 as held,
    max(line_no) filter (where kind <> 'disputed') as refers_to
  from money_lines line ${hasTotal(document) ? `join ${invoiceTermsSql}` : ''}
  where line.tenant_id = $1 and line.${hasTotal(document) ? 'invoice_id' : 'tax_invoice_id'} = $2
    and ${isNamedSql('line_no')} and (waybill_number <> '' or kind <> 'disputed')
  group by 1, 2`

interface Line {
  readonly waybill_number: string
  /** Is the amount to hold, or below zero to release. */
  readonly held: number
  readonly refers_to: number
}

/** Inserts lines of one kind, each after the newest one of its waybill. */
const insertLines = (tx: Tx, tenant: string, lines: readonly Line[], about: readonly unknown[]) =>
  tx.client.query(insertSql, [
    tenant,
    ...[lines.map(line => line.waybill_number), lines.map(line => line.held), lines.map(line => line.refers_to)],
    ...about,
  ])

const insertSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, held, refers_to, kind, merchant_id, journal_id,
    booked_on, reason, invoice_id, disputed_on, staff_name, adjustment)
  select $1, waybill_number, newest.line_no + row_number() over (partition by waybill_number order by refers_to), held,
    refers_to, $5, $6, $7, $8, $9, $10, $11, $12, $13
  from unnest($2::text[], $3::numeric[], $4::integer[]) as taken (waybill_number, held, refers_to)
    cross join lateral (
      select line_no from money_lines newest where newest.tenant_id = $1
        and newest.waybill_number = taken.waybill_number
      order by newest.tenant_id desc, newest.waybill_number desc, newest.line_no desc limit 1
    ) newest
  returning tenant_id`

export const DisputeSettlement = Type.Object({
  ...disputed,
  adjustment: Type.Optional({
    ...Amount,
    minimum: -mostCollected,
    must: 'be an amount',
    description: 'The amount that the merchant gets in addition; below zero, the merchant gets less.',
    examples: [100],
  }),
  reason: Reason,
})

type Settling = Pick<Call<Static<typeof DisputeSettlement>>, 'tenant' | 'by' | 'id' | 'body'>

/** Settles a dispute; under `four_eyes` an amount waits for a second person. Lists the parcels that are settled. */
export const settleDispute = async (tx: Tx, call: Settling): Promise<Acted<string[]>> => {
  const found = await findDispute(tx, call)
  if ('kind' in found) return found
  const { tenant, by, body } = call
  if (!body.adjustment || !(await hasFourEyes(tx, tenant))) return bookSettlement(tx, call, found)
  const { waybill_numbers = [], adjustment, reason } = body
  await askSettlement(tx, { waybill_numbers, adjustment, reason, tenant, by, invoice: found.invoice })
  return { kind: 'done', data: [], objects: [] }
}

/** Settles a dispute with the amount that a second person approved. */
export const settleApproved = async (tx: Tx, call: Settling): Promise<Acted<string[]>> => {
  const found = await findDispute(tx, call)
  return 'kind' in found ? found : bookSettlement(tx, call, found)
}

interface OpenDispute {
  readonly invoice: InvoiceRow
  readonly open: OpenLines
}

/** Finds the disputes that a request settles, and locks their parcels; or refuses the request. */
const findDispute = async (tx: Tx, { tenant, id: number, body }: Settling) => {
  const { waybill_numbers: waybills = [], line_nos, adjustment = 0 } = body
  const invoice = await findInvoice(tx, tenant, number, { lock: true })
  if (!invoice) return unknownInvoice
  const incomplete = await lockDisputed(tx, tenant, body)
  if (incomplete) return incomplete
  if (line_nos && adjustment !== 0) return refuse('adjustment', noAdjustment)
  const open = await findOpen(tx, [tenant, invoice.merchant_id, toKeys(body)], invoice.invoice_id)
  const errors = checkDisputed(
    body,
    key => !open.has(key) && `No dispute of ${key} is open on the invoice ${invoice.invoice_no}.`,
  )
  const [tooSmall, line] = [...open].find(([, { held }]) => adjustment < -Math.abs(held)) ?? []
  if (tooSmall) errors.adjustment = [`Take at most what is held for ${tooSmall}, ${line?.held}.`]
  if (adjustment > 0) Object.assign(errors, await refuseAddition(tx, tenant, waybills, adjustment))
  return refuseAny(errors) ?? { invoice, open }
}

export const noAdjustment =
  'A line without a parcel is released as it is: make a write_off for the merchant, which a second person approves.'

/**
 * Releases the amount held for parcels or lines that the merchant disputes on an invoice, with an adjustment. The
 * merchant's next invoice takes both; an invoice that waits because it has nothing to pay takes them itself.
 */
const bookSettlement = async (
  tx: Tx,
  { tenant, by, body }: Settling,
  { invoice, open }: OpenDispute,
): Promise<Acted<string[]>> => {
  const { waybill_numbers: waybills = [], line_nos, adjustment = 0, reason } = body
  const keys = toKeys(body)
  const clock = await readClock(tx, tenant)
  const { journalId, today } = clock
  const isWaiting = hasTotal(invoice.document) && invoice.state === 'submitted' && invoice.total <= 0
  const taker = isWaiting ? invoice.invoice_id : null
  const released = [...open.values()].map(line => ({ ...line, held: -line.held }))
  const about = ['released', invoice.merchant_id, journalId, today, reason, taker, null, by.name, adjustment]
  await insertLines(tx, tenant, released, about)
  await bookJournal(tx, tenant, journalId, line_nos ? [...waybills, ''] : waybills)
  if (isWaiting) {
    const added = addAmounts(released.flatMap(({ held }) => [-held, adjustment]))
    await tx.client.query(addToTotalSql, [tenant, invoice.invoice_id, added])
    await presentInvoice(tx, tenant, invoice, clock, 'settled')
  }
  return { kind: 'done', data: keys, objects: keys }
}

/**
 * Refuses an adjustment that brings the merchant more than a parcel's COD, or than what was paid if that is more, or,
 * for a parcel of which nothing was paid, than what the company pays for a lost one. Compensation counts.
 */
const refuseAddition = async (tx: Tx, tenant: string, waybills: readonly string[], adjustment: number) => {
  const { rows } = await tx.client.query(leastRoomSql, [tenant, waybills])
  const { waybill_number: waybill, most } = rows[0] ?? {}
  if (!waybill || adjustment <= most) return {}
  const sentence = `Add at most ${most} for ${waybill}: its COD and charges explain no more. Make a correction of the rest, which a second person approves.`
  return { adjustment: [sentence] }
}

const leastRoomSql = `
  select line.waybill_number, greatest(0, case when sum(line.cod) > 0 then greatest(orders.cod, sum(line.cod))
      else least(orders.cod, compensation_max) end - sum(line.cod + line.adjustment + line.compensation)
    + sum(${chargesSql} + line.withholding))::float8 as most
  from money_lines line join tenants on tenants.tenant_id = line.tenant_id
    join orders on orders.tenant_id = line.tenant_id and orders.waybill_number = line.waybill_number
  where line.tenant_id = $1 and line.waybill_number = any($2::text[])
  group by line.waybill_number, orders.cod, compensation_max order by most limit 1`

/** Selects the invoice of a dispute. An earlier version forgot it once the invoice was cancelled: any settles it. */
const isOwnSql = (invoice: string) => `coalesce(line.disputed_on, line.invoice_id, ${invoice}::uuid) = ${invoice}::uuid`

const isOpenSql = `tenant_id = $1 and merchant_id = $2 and kind = 'disputed' and not ${hasLaterSql('released')}`

const heldSql = `
  select ${keySql('refers_to')} as key, waybill_number, held::float8, line_no as refers_to from money_lines line
  where ${isOpenSql} and ${isNamedSql('refers_to')}
    and ($4::uuid is null or ${isOwnSql('$4')})`

/** Holds the open dispute of each parcel or line; `refers_to` is the line that holds the amount. */
type OpenLines = ReadonlyMap<string, Line>

/**
 * Finds the open disputes of parcels or lines, on one invoice or on any. A parcel has one open dispute at a time, on
 * whichever of its invoices.
 */
const findOpen = async (tx: Tx, values: readonly unknown[], invoiceId: string | null = null): Promise<OpenLines> => {
  const { rows } = await tx.client.query(heldSql, [...values, invoiceId])
  return new Map(rows.map(row => [row.key, row]))
}
