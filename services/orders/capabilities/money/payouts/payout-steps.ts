import { addAmounts } from '@courier/shared/currency.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import type { Static } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findInvoice, type InvoiceRow, payInvoice, payment } from '../invoices/invoices.ts'
import { lockName, lockParcels, readClock } from '../ledger/parcels.ts'
import {
  type BatchWithItems,
  type batchStates,
  done,
  InvoiceNos,
  lockBatch,
  lockInvoices,
  refuseEach,
  unknownBatch,
} from './payout-batches.ts'

// Takes a batch of payments from its making to the bank's reference (docs/money.md#the-pay-run).

export const BatchRelease = defineBody('PayoutRelease', {})

/** Releases a batch to the bank: not the person who made it, and only after they saw its accounts. */
export const releaseBatch = async (tx: Tx, { tenant, by, id }: Call<object>): Promise<Acted<BatchWithItems>> => {
  const batch = await lockBatch(tx, tenant, id)
  if (!batch) return unknownBatch
  const { batch_no, state, made_by, released_by } = batch
  if (state === 'released' && released_by === by.name) return done(tx, tenant, batch_no, [])
  if (state !== 'made') return refuse('batch_no', `The batch is ${state}: only one that was just made is released.`)
  if (made_by === by.name) return refuse('batch_no', `${by.name} made it: a second person must release it.`)
  const { rows: seen } = await tx.client.query(seenSql, [tenant, batch_no, by.name, batch.made_at])
  if (!seen[0]) return refuse('batch_no', `Read its accounts first (GET /payout/${batch_no}/lines): you sign for them.`)
  const { now } = await readClock(tx, tenant)
  await tx.client.query(
    `update payout_batches set state = 'released', released_by = $3, released_at = $4 where tenant_id = $1
      and batch_no = $2`,
    [tenant, batch_no, by.name, now],
  )
  return done(tx, tenant, batch_no)
}

const seenSql = `select from audit where tenant_id = $1 and action = 'payout.seen' and object_id = $2 and actor = $3
  and happened_at >= $4 limit 1`

export const BatchCancellation = defineBody('PayoutCancellation', { reason: Reason })

/** Cancels a batch that is not released: its invoices are due again. */
export const cancelBatch = async (
  tx: Tx,
  { tenant, by, id, body: { reason } }: Call<Static<typeof BatchCancellation>>,
): Promise<Acted<BatchWithItems>> => {
  const batch = await lockBatch(tx, tenant, id)
  if (!batch) return unknownBatch
  const { batch_no, state, in_doubt } = batch
  if (state !== 'made')
    return refuse('batch_no', `The batch is ${state}: only one that is not released can be cancelled.`)
  if (in_doubt)
    return refuse('batch_no', 'The bank may have paid it since the backup: ask, release it, then settle or fail it.')
  await endBatch(tx, tenant, batch_no, { state: 'cancelled', by: by.name, reason })
  await tx.client.query(`update payout_items set state = 'cancelled' where tenant_id = $1 and batch_no = $2`, [
    ...[tenant, batch_no],
  ])
  return done(tx, tenant, batch_no)
}

interface End {
  readonly state: (typeof batchStates)[number]
  readonly by: string
  readonly reason?: string
  readonly bank_reference?: string
  readonly paid_on?: string
}

const endBatch = async (tx: Tx, tenant: string, batchNo: string, end: End): Promise<void> => {
  const { now } = await readClock(tx, tenant)
  await tx.client.query(
    `update payout_batches set state = $3, ended_by = $4, ended_at = $5, reason = $6, bank_reference = $7, paid_on = $8
      where tenant_id = $1 and batch_no = $2`,
    [tenant, batchNo, end.state, end.by, now, end.reason, end.bank_reference, end.paid_on],
  )
}

export const BatchFailure = defineBody('PayoutFailure', { invoice_nos: InvoiceNos, reason: Reason })

/** Returns invoices that the bank did not pay to those that are due. Repeating the request changes nothing. */
export const failInvoices = async (
  tx: Tx,
  { tenant, by, id, body: { invoice_nos: wanted, reason } }: Call<Static<typeof BatchFailure>>,
): Promise<Acted<BatchWithItems>> => {
  const batch = await lockBatch(tx, tenant, id)
  if (!batch) return unknownBatch
  const { batch_no, state, items } = batch
  const find = (number: string) => items.find(item => item.invoice_no === number || item.invoice_ref_no === number)
  const refused = refuseEach(wanted, number => (find(number) ? '' : `${number} is not in the batch ${batch_no}.`))
  if (refused) return refused
  const failing = new Set(wanted.flatMap(number => find(number) ?? []).filter(item => item.state !== 'failed'))
  if (failing.size === 0) return done(tx, tenant, batch_no, [])
  if (state !== 'released')
    return refuse('batch_no', `The batch is ${state}: a payment fails after the release and before the settlement.`)
  const numbers = [...failing].map(item => item.invoice_no)
  const { rows } = await tx.client.query(failSql, [tenant, batch_no, numbers, reason])
  const text = 'update payout_batches set returned = returned + $3 where tenant_id = $1 and batch_no = $2'
  await tx.client.query(text, [tenant, batch_no, addAmounts(rows.map(row => row.amount))])
  if (items.every(item => item.state !== 'open' || failing.has(item)))
    await endBatch(tx, tenant, batch_no, { state: 'failed', by: by.name })
  return done(tx, tenant, batch_no, [batch_no, ...numbers])
}

const failSql = `
  update payout_items item set state = 'failed', reason = $4 from invoices
  where item.tenant_id = $1 and batch_no = $2 and item.state = 'open' and invoices.tenant_id = $1
    and invoices.invoice_id = item.invoice_id and invoice_no = any($3::text[])
  returning amount::float8`

export const BatchSettlement = defineBody('PayoutSettlement', payment)

/** Books that the bank paid a batch: its invoices but those that failed. Repeating the payment changes nothing. */
export const settleBatch = async (
  tx: Tx,
  { tenant, by, id, body: { bank_reference, paid_on } }: Call<Static<typeof BatchSettlement>>,
): Promise<Acted<BatchWithItems>> => {
  const batch = await lockBatch(tx, tenant, id)
  if (!batch) return unknownBatch
  const { batch_no, state, items } = batch
  if (state === 'settled' && batch.bank_reference === bank_reference && batch.paid_on === paid_on)
    return done(tx, tenant, batch_no, [])
  if (state === 'settled')
    return refuse('bank_reference', `The batch was settled with ${batch.bank_reference} of ${batch.paid_on}.`)
  if (state !== 'released') return refuse('batch_no', `The batch is ${state}: only a released one is settled.`)
  await lockName(tx, tenant, `payout ${bank_reference}`)
  const { rows } = await tx.client.query(sameReferenceSql, [tenant, bank_reference])
  if (rows[0]) return refuse('bank_reference', `${bank_reference} settled ${rows[0].batch_no}. Give another one.`)
  const { today } = await readClock(tx, tenant)
  if (paid_on > today) return refuse('paid_on', `The day must be ${today} or before: nothing is paid on a later day.`)
  const made = await tx.client.query(madeOnSql, [tenant, batch_no])
  const { day } = made.rows[0]
  if (paid_on < day) return refuse('paid_on', `The day must be ${day} or later: the batch was made on that day.`)
  const numbers = items.flatMap(item => (item.state === 'open' ? item.invoice_no : []))
  await lockRun(tx, tenant, numbers)
  for (const number of numbers) {
    const invoice = (await findInvoice(tx, tenant, number)) as InvoiceRow
    await payInvoice(tx, { tenant, by: by.name, invoice, bank_reference, paid_on })
  }
  await tx.client.query(
    `update payout_items set state = 'paid' where tenant_id = $1 and batch_no = $2 and state = 'open'`,
    [tenant, batch_no],
  )
  await endBatch(tx, tenant, batch_no, { state: 'settled', by: by.name, bank_reference, paid_on })
  await audit(tx, tenant, by, 'invoice.deposited', numbers)
  return done(tx, tenant, batch_no)
}

const madeOnSql = `
  select (made_at at time zone time_zone)::date::text as day from payout_batches join tenants using (tenant_id)
  where tenant_id = $1 and batch_no = $2`
const sameReferenceSql = 'select batch_no from payout_batches where tenant_id = $1 and bank_reference = $2'

/**
 * Locks the invoices, then all of their parcels, both in sorted order, so that neither another request nor a move
 * deadlocks with this one.
 */
const lockRun = async (tx: Tx, tenant: string, numbers: readonly string[]): Promise<void> => {
  const ids = await lockInvoices(tx, tenant, numbers)
  const text = 'select distinct waybill_number from money_lines where tenant_id = $1 and invoice_id = any($2::uuid[])'
  const { rows: lines } = await tx.client.query(text, [tenant, ids])
  const waybills = lines.map(row => row.waybill_number)
  await lockParcels(tx, tenant, waybills)
}
