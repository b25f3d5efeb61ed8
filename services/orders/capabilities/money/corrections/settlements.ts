import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, refuse, refuseAny } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow, presentInvoice, unknownInvoice } from '../invoices/invoices.ts'
import { Amount, mostCollected } from '../ledger/fields.ts'
import { bookJournal, chargesSql } from '../ledger/ledger.ts'
import { readClock } from '../ledger/parcels.ts'
import { askSettlement } from './asked-corrections.ts'
import {
  addToTotalSql,
  checkDisputed,
  disputed,
  findOpen,
  hasTotal,
  insertLines,
  lockDisputed,
  type OpenLines,
  toKeys,
} from './disputed-lines.ts'

// Settles disputes: what they hold is released, with an adjustment.

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
