import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { InvoiceRow } from '../invoices/invoices.ts'
import { readClock } from '../ledger/parcels.ts'

// Stores corrections that other requests ask for: each waits for a second person.

export const insertSql = `
  insert into corrections (tenant_id, kind, merchant_id, waybill_number, amount, reason, bank_reference, made_by,
    made_at, exceeds_cod, invoice_id, payment_journal_id, payment_booked_on, payment_reference, payment_paid_on,
    disputed_on, right_delivery, right_cod_fee, right_return_fee)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
  returning correction_id::float8`

interface Asked {
  readonly tenant: string
  readonly kind: string
  readonly merchant_id: number | string
  readonly waybill_number: string
  readonly amount: number | string
  readonly reason: string
  readonly by: string
  readonly exceeds_cod?: boolean
  /** Is the invoice of a dispute. */
  readonly disputed_on?: string
}

const ask = async (tx: Tx, { tenant, kind, merchant_id, waybill_number, amount, reason, by, ...more }: Asked) => {
  const { now } = await readClock(tx, tenant)
  const { exceeds_cod = false, disputed_on } = more
  const values = [tenant, kind, merchant_id, waybill_number, amount, reason, null, by, now, exceeds_cod]
  const { rows } = await tx.client.query(insertSql, [...values, ...Array(5).fill(null), disputed_on, null, null, null])
  return rows[0].correction_id as number
}

const foundReason = 'Delivered after it was compensated'

/** Asks for the compensation of parcels that are now delivered. The caller has locked the orders. */
export const askBack = async (tx: Tx, tenant: string, waybills: readonly string[], by: string | null) => {
  const found = await tx.rows<{ merchant_id: string; waybill_number: string; total: string }>({
    ...{ name: 'find_compensated', text: compensatedSql, values: [tenant, waybills] },
  })
  for (const { total, ...parcel } of found)
    await ask(tx, {
      ...parcel,
      tenant,
      kind: 'compensation',
      amount: `-${total}`,
      reason: foundReason,
      by: by ?? 'Courier',
    })
}

const compensatedSql = `
  select waybill_number, min(merchant_id) as merchant_id, sum(compensation) as total from money_lines line
  where tenant_id = $1 and waybill_number = any($2::text[]) and kind in ('compensated', 'compensation')
    and not exists (
      select from corrections where corrections.tenant_id = $1 and state = 'waiting' and kind = 'compensation'
        and corrections.waybill_number = line.waybill_number
    )
  group by 1 having sum(compensation) > 0`

/** Rejects what `askBack` made for a parcel whose delivery is taken back. */
export const stopAsking = async (tx: Tx, tenant: string, waybill: string, by: string, now: Date) => {
  const text = `update corrections set state = 'rejected', decided_by = $3, decided_at = $4
    where tenant_id = $1 and waybill_number = $2 and state = 'waiting' and reason = $5`
  await tx.client.query(text, [tenant, waybill, by, now, foundReason])
}

interface Compensating extends Omit<Asked, 'kind' | 'by'> {
  readonly by: Actor
}

/** Asks for the compensation of a parcel. Returns the id of the correction; undefined: one waits already. */
export const askCompensation = async (tx: Tx, { by, ...asked }: Compensating): Promise<number | undefined> => {
  const text = `select from corrections where tenant_id = $1 and waybill_number = $2 and state = 'waiting'
    and kind = 'compensation'`
  const { rows } = await tx.client.query(text, [asked.tenant, asked.waybill_number])
  if (rows[0]) return undefined
  const id = await ask(tx, { ...asked, kind: 'compensation', by: by.name })
  await audit(tx, asked.tenant, by, 'correction.made', `correction ${id}`)
  return id
}

interface SettlingWithAmount {
  readonly tenant: string
  readonly by: Actor
  readonly invoice: InvoiceRow
  readonly waybill_numbers: readonly string[]
  readonly adjustment: number
  readonly reason: string
}

/** Asks for the settlement of disputes with an amount: a correction for each parcel. */
export const askSettlement = async (
  tx: Tx,
  { tenant, by, invoice, waybill_numbers, adjustment, reason }: SettlingWithAmount,
) => {
  const { merchant_id, invoice_id: disputed_on } = invoice
  const asked = { tenant, kind: 'settlement', merchant_id, amount: adjustment, reason, by: by.name, disputed_on }
  const ids: string[] = []
  for (const waybill_number of waybill_numbers) ids.push(`correction ${await ask(tx, { ...asked, waybill_number })}`)
  await audit(tx, tenant, by, 'correction.made', ids)
}
