import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow, presentInvoice, unknownInvoice } from '../invoices/invoices.ts'
import { Amount, mostCollected, Waybills } from '../ledger/fields.ts'
import { bookJournal, chargesSql } from '../ledger/ledger.ts'
import { hasLaterSql, lockParcels, nextLineSql, readClock } from '../ledger/parcels.ts'
import { invoiceTermsSql, paidSql } from '../ledger/payable.ts'
import { addVersion } from '../papers/invoice-versions.ts'
import { askSettlement } from './asked-corrections.ts'

// Lets a merchant dispute parcels of an invoice: their part of its total is held until staff settle the dispute.

export const Dispute = defineBody('Dispute', { waybill_numbers: Waybills, reason: Reason })

/**
 * Holds back the part that parcels add to the total of a submitted invoice. The rest of the invoice proceeds; with
 * nothing left to pay, the invoice waits.
 */
export const disputeParcels = async (
  tx: Tx,
  { tenant, merchantId, id: number, body }: Call<Static<typeof Dispute>>,
): Promise<Acted<string[]>> => {
  const { waybill_numbers: waybills, reason } = body
  const invoice = await findInvoice(tx, tenant, number, { merchantId, lock: true })
  if (!invoice) return unknownInvoice
  const { invoice_id, invoice_no, merchant_id, document, state } = invoice
  if (state !== 'submitted')
    return refuse('invoice_no', `The invoice is ${state}: only a submitted one can be disputed.`)
  await lockParcels(tx, tenant, waybills)
  const { rows } = await tx.client.query(disputableSql, [tenant, invoice_id, waybills])
  const found = new Map(rows.map(row => [row.waybill_number, row]))
  const open = await findOpen(tx, [tenant, merchant_id, waybills])
  const refused = refuseAny(
    checkEach(waybills, waybill => {
      const { amount } = found.get(waybill) ?? {}
      if (amount === undefined) return `${waybill} is not on the invoice ${invoice_no}.`
      if (open.has(waybill)) return `${waybill} is disputed already.`
      return amount === 0 && `Nothing of ${waybill} is in the total.`
    }),
  )
  if (refused) return refused
  const held = addAmounts(rows.map(({ amount }) => amount))
  const clock = await readClock(tx, tenant)
  const { journalId, today } = clock
  await tx.client.query(disputeSql, [tenant, invoice_id, waybills, journalId, today, reason])
  await tx.client.query(addToTotalSql, [tenant, invoice_id, -held])
  const change = {
    kind: 'disputed',
    issuedOn: today,
    credited: held > 0 && document === 'invoice' ? held : undefined,
    reason,
  } as const
  await addVersion(tx, tenant, invoice, clock, change)
  await bookJournal(tx, tenant, journalId, waybills)
  return { kind: 'done', data: waybills, objects: waybills }
}

const addToTotalSql = 'update invoices set total = total + $3 where tenant_id = $1 and invoice_id = $2'

/** Selects the amount that each parcel adds to the total of the invoice $2. */
const disputableSql = `
  select waybill_number, sum(${paidSql})::float8 as amount,
    max(line_no) filter (where kind <> 'disputed') as refers_to, min(line.merchant_id) as merchant_id
  from money_lines line join ${invoiceTermsSql}
  where line.tenant_id = $1 and line.invoice_id = $2 and waybill_number = any($3::text[]) group by waybill_number`

const disputeSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, held, refers_to,
    invoice_id, disputed_on, booked_on, reason)
  select $1, waybill_number, next.line_no, $4, merchant_id, 'disputed', amount, refers_to, $2, $2, $5, $6
  from (${disputableSql}) parcel cross join lateral (
    select 1 + line_no as line_no from money_lines newest where newest.tenant_id = $1
      and newest.waybill_number = parcel.waybill_number
    order by newest.tenant_id desc, newest.waybill_number desc, newest.line_no desc limit 1
  ) next
  returning tenant_id`

export const DisputeSettlement = Type.Object({
  waybill_numbers: Waybills,
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
  await askSettlement(tx, { ...body, adjustment: body.adjustment, tenant, by, invoice: found.invoice })
  return { kind: 'done', data: [], objects: [] }
}

/** Settles a dispute with the amount that a second person approved. */
export const settleApproved = async (tx: Tx, call: Settling): Promise<Acted<string[]>> => {
  const found = await findDispute(tx, call)
  return 'kind' in found ? found : bookSettlement(tx, call, found)
}

interface OpenDispute {
  readonly invoice: InvoiceRow
  /** Holds the amount held for each parcel. */
  readonly open: ReadonlyMap<string, number>
}

/** Finds the disputes that a request settles, and locks their parcels; or refuses the request. */
const findDispute = async (tx: Tx, { tenant, id: number, body }: Settling) => {
  const { waybill_numbers: waybills, adjustment = 0 } = body
  const invoice = await findInvoice(tx, tenant, number, { lock: true })
  if (!invoice) return unknownInvoice
  await lockParcels(tx, tenant, waybills)
  const open = await findOpen(tx, [tenant, invoice.merchant_id, waybills], invoice.invoice_id)
  const errors = checkEach(
    waybills,
    waybill => !open.has(waybill) && `No dispute of ${waybill} is open on the invoice ${invoice.invoice_no}.`,
  )
  const [tooSmall, most] = [...open].find(([, held]) => adjustment < -Math.abs(held)) ?? []
  if (tooSmall) errors.adjustment = [`Take at most what is held for ${tooSmall}, ${most}.`]
  if (adjustment > 0) Object.assign(errors, await refuseAddition(tx, tenant, waybills, adjustment))
  return refuseAny(errors) ?? { invoice, open }
}

/**
 * Releases the amount held for parcels that the merchant disputes on an invoice, with an adjustment. The merchant's
 * next invoice takes both; an invoice that waits because it has nothing to pay takes them itself.
 */
const bookSettlement = async (
  tx: Tx,
  { tenant, by, body }: Settling,
  { invoice, open }: OpenDispute,
): Promise<Acted<string[]>> => {
  const { waybill_numbers: waybills, adjustment = 0, reason } = body
  const values = [tenant, invoice.merchant_id, waybills]
  const clock = await readClock(tx, tenant)
  const { journalId, today } = clock
  const isWaiting = invoice.state === 'submitted' && invoice.total <= 0
  const taker = isWaiting ? invoice.invoice_id : null
  await tx.client.query(releaseSql, [...values, journalId, today, by.name, reason, adjustment, taker])
  await bookJournal(tx, tenant, journalId, waybills)
  if (isWaiting) {
    const released = addAmounts([...open.values()].flatMap(held => [held, adjustment]))
    await tx.client.query(addToTotalSql, [tenant, invoice.invoice_id, released])
    await presentInvoice(tx, tenant, invoice, clock, 'settled')
  }
  return { kind: 'done', data: waybills, objects: waybills }
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
  select waybill_number, held::float8 from money_lines line where ${isOpenSql} and waybill_number = any($3::text[])
    and ($4::uuid is null or ${isOwnSql('$4')})`

/**
 * Finds the amount held for each parcel, on one invoice or on any. A parcel has one open dispute at a time, on
 * whichever of its invoices.
 */
const findOpen = async (
  tx: Tx,
  values: readonly unknown[],
  invoiceId: string | null = null,
): Promise<Map<string, number>> => {
  const { rows } = await tx.client.query(heldSql, [...values, invoiceId])
  return new Map(rows.map(row => [row.waybill_number, row.held]))
}

const releaseSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, held, adjustment,
    refers_to, booked_on, staff_name, reason, invoice_id)
  select $1, waybill_number, ${nextLineSql}, $4, merchant_id, 'released', -held, $8, line_no, $5, $6, $7, $9
  from money_lines line where ${isOpenSql} and waybill_number = any($3::text[]) returning tenant_id`
