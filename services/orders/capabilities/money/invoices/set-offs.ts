import { addAmounts } from '@courier/shared/currency.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { lockName } from '../ledger/parcels.ts'
import { leftSql } from '../ledger/payable.ts'
import type { Draft } from './drafts.ts'

// Sets tax invoices and notes off against remittances (docs/money.md#two-documents).

/** Keeps other requests from setting off or paying the merchant's documents until the transaction ends. */
export const lockSetOffs = (tx: Tx, tenant: string, merchantId: number): Promise<void> =>
  lockName(tx, tenant, `set-offs ${merchantId}`)

/**
 * Sets the merchant's documents off against the sum of a remittance: credit notes, then the oldest others, unless the
 * merchant pays those itself. Returns what they take off.
 */
export const setOff = async (
  tx: Tx,
  { tenant, merchant_id }: Draft,
  remittanceId: string,
  sum: number,
  setsOff: boolean,
): Promise<number> => {
  await lockSetOffs(tx, tenant, merchant_id)
  const { rows } = await tx.client.query(openSql, [tenant, merchant_id])
  let left = sum
  const taken = rows.flatMap(({ invoice_id, open }) => {
    const amount = open < 0 || setsOff ? Math.min(open, Math.max(left, 0)) : 0
    left = addAmounts([left, -amount])
    return amount === 0 ? [] : [{ invoice_id, amount }]
  })
  const values = [taken.map(each => each.invoice_id), taken.map(each => each.amount)]
  await tx.client.query(insertSql, [tenant, remittanceId, ...values])
  return addAmounts([sum, -left])
}

const openSql = `
  select * from (
    select invoice_id, (${leftSql})::float8 as open from invoices where tenant_id = $1 and merchant_id = $2
      and kind not in ('invoice', 'remittance') and state not in ('deposited', 'cancelled')
  ) document where open <> 0 order by open > 0, invoice_id`

const insertSql = `
  insert into set_offs (tenant_id, remittance_id, invoice_id, amount)
  select $1, $2, invoice_id, amount from unnest($3::uuid[], $4::numeric[]) as taken (invoice_id, amount)
  returning tenant_id`

/** Lists what a remittance takes off. */
export const listSetOffs = async (
  tx: Tx,
  tenant: string,
  remittanceId: string,
): Promise<{ invoice_no: string; amount: number }[]> => {
  const text = `select coalesce(nullif(invoice_no, invoices.invoice_id::text), 'draft') as invoice_no, amount::float8
    from set_offs join invoices using (tenant_id, invoice_id) where tenant_id = $1 and remittance_id = $2
    order by invoices.invoice_id`
  return (await tx.client.query(text, [tenant, remittanceId])).rows
}
