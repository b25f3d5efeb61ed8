import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { TakenMove } from '../../core/moves/move-points.ts'
import { findOpenHandover } from './cash/cash.ts'
import { stopAsking } from './corrections/asked-corrections.ts'
import { bookJournal } from './ledger/ledger.ts'
import { hasLaterSql, holderSql, lockTakeBacks, nextLineSql, readClock } from './ledger/parcels.ts'
import { negatedSql } from './taxes/booked-taxes.ts'

/**
 * Reverses the booking of a move for a parcel whose order is locked. If its money has moved on, returns the errors and
 * writes nothing.
 */
export const reverseBooking = async (
  tx: Tx,
  { tenant, order, movedAt, by, reason }: TakenMove,
): Promise<FieldErrors> => {
  const { waybill_number: waybill, merchant_id } = order
  const findLine = async () => (await tx.rows(liveSql, [tenant, waybill, movedAt]))[0]
  if (!(await findLine())) return {}
  await lockTakeBacks(tx, tenant, merchant_id, 'exclusive')
  const line = await findLine()
  const blockReason =
    line.block_reason ?? ((await findOpenHandover(tx, tenant, waybill)) && 'is in an open handover: settle it first')
  if (blockReason) return { waybill_number: [`The money of ${waybill} ${blockReason}.`] }
  const { journalId, now, today } = await readClock(tx, tenant)
  await tx.client.query(reverseSql, [tenant, waybill, line.line_no, journalId, today, by, reason])
  await bookJournal(tx, tenant, journalId, [waybill])
  if (line.kind === 'delivered') await stopAsking(tx, tenant, waybill, by, now)
  return {}
}

/**
 * Selects the line that the move at $3 booked: none if an earlier move had booked the parcel. An open dispute without
 * an invoice is left of a cancelled invoice: a reversal would leave its amount held.
 */
const liveSql = `
  select line_no, kind, case
      when coalesce(invoice_id, tax_invoice_id) is not null then 'is on an invoice: cancel the invoice first'
      when banked_by is not null or ${hasLaterSql('handed_over')} then
        'was handed over: compensate the merchant, or settle a dispute, instead'
      when (
        select sum(cod) from money_lines where tenant_id = $1 and waybill_number = $2 and kind = 'collection'
          and refers_to = line.line_no
      ) <> 0 then 'has a correction of what was collected: correct that back first'
      when (
        select sum(delivery + cod_fee + return_fee) from money_lines where tenant_id = $1 and waybill_number = $2
          and kind = 'charges' and refers_to = line.line_no
      ) <> 0 then 'has a correction of its charges: correct that back first'
      when line_no < any (
        select line_no from money_lines line where tenant_id = $1 and waybill_number = $2 and kind = 'disputed'
          and invoice_id is null and not ${hasLaterSql('released')}
      ) then 'is in dispute: settle the dispute first'
    end as block_reason
  from money_lines line
  where tenant_id = $1 and waybill_number = $2 and kind in ('delivered', 'returned')
    and uuid_extract_timestamp(journal_id) >= date_trunc('milliseconds', $3::timestamptz)
    and not ${hasLaterSql('delivery_reversed', 'return_reversed')}
  order by line.tenant_id desc, line.waybill_number desc, line_no desc limit 1`

const amounts = ['cod', 'delivery', 'cod_fee', 'return_fee', 'tax', 'withholding']

const reverseSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, ${amounts.join(', ')},
    method, cash_account, tax_percent, withholding_percent, taxes, withheld, refers_to, booked_on, staff_name, reason)
  select $1, waybill_number, ${nextLineSql}, $4, merchant_id, case when kind = 'returned' then 'return_reversed'
    else 'delivery_reversed' end,
    ${amounts.map(amount => `-${amount}`).join(', ')}, method, ${holderSql}, tax_percent, withholding_percent,
    ${negatedSql('taxes')}, ${negatedSql('withheld')}, line_no, $5, $6, $7
  from money_lines line where tenant_id = $1 and waybill_number = $2 and line_no = $3 returning tenant_id`
