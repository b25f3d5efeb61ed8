import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { Amount, BankReference, Waybills } from './fields.ts'
import { bookJournal } from './ledger.ts'
import { hasLaterSql, lockName, lockParcels, readClock } from './parcels.ts'

// Books the money that goes from the office, or from card and QR providers, to the bank (docs/money.md#cash).

export const Deposit = Type.Object(
  { deposit_id: Type.String(), amount: Type.Number(), parcels: Type.Integer(), bank_reference: Type.String() },
  { title: 'Deposit' },
)

export const NewDeposit = defineBody('NewDeposit', {
  amount: Amount,
  bank_reference: BankReference,
  waybill_numbers: Type.Optional({ ...Waybills, description: 'Default: all cash at the office.' }),
})

/** Is true of a row of `line` whose money waits to go to the bank: cash at the office, or a payment without cash. */
export const isUnbankedSql = `line.kind = 'delivered' and line.cod > 0 and line.banked_by is null
    and ((method = 'cash' and ${hasLaterSql('handed_over')})
      or (method <> 'cash' and not ${hasLaterSql('delivery_reversed')}))`

const unbankedSql = `
  select waybill_number, cod::float8 as cod from money_lines line
  where tenant_id = $1 and ($2::text[] is null and method = 'cash' or waybill_number = any($2::text[]))
    and ${isUnbankedSql}
  order by waybill_number`

/** Sums the office's balance apart from parcels: repaid debts, less missing sums and deposits. */
const otherAtOfficeSql = `(
    select coalesce(sum(debt - (expected - counted)), 0) from cash_handovers where tenant_id = $1
      and journal_id is not null
  ) - (select coalesce(sum(other), 0) from cash_deposits where tenant_id = $1)`

/** Books money that was brought to the bank. Repeating the reference and the amount changes nothing. */
export const deposit = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof NewDeposit>>,
): Promise<Acted<Static<typeof Deposit>>> => {
  const { amount, bank_reference, waybill_numbers: wanted } = body
  await lockName(tx, tenant, 'office')
  const { rows: earlier } = await tx.client.query(sameSql, [tenant, bank_reference])
  if (earlier[0]?.amount === amount) return { kind: 'done', data: earlier[0], objects: [] }
  if (earlier[0]) {
    const sentence = `The reference ${bank_reference} has a deposit of ${earlier[0].amount}. Give another one.`
    return refuse('bank_reference', sentence)
  }
  const before = await findUnbanked(tx, tenant, wanted)
  await lockParcels(tx, tenant, [...before.keys()])
  const parcels = new Map([...(await findUnbanked(tx, tenant, wanted))].filter(([waybill]) => before.has(waybill)))
  const other = wanted ? 0 : await findOther(tx, tenant)
  const sum = addAmounts([other, ...parcels.values()])
  const foreign = (waybill: string) =>
    !parcels.has(waybill) && `No money of ${waybill} is at the office or in clearing.`
  const refused = refuseAny(checkEach(wanted, foreign))
  if (refused) return refused
  if (sum <= 0) return refuse('amount', 'There is nothing to deposit.')
  if (sum !== amount)
    return refuse('amount', `The amount ${amount} is not the ${sum} on hand. Name the waybill_numbers of a part.`)
  const { journalId, now, today } = await readClock(tx, tenant)
  const waybills = [...parcels.keys()]
  const values = [tenant, journalId, amount, other, bank_reference, waybills.length, by.name, now, today]
  await tx.client.query(insertSql, values)
  await tx.client.query(bankSql, [tenant, journalId, waybills])
  await bookJournal(tx, tenant, journalId, waybills)
  const data = { deposit_id: journalId, amount, parcels: waybills.length, bank_reference }
  return { kind: 'done', data, objects: [`deposit ${journalId}`] }
}

const sameSql = `
  select deposit_id, amount::float8, parcels, bank_reference from cash_deposits where tenant_id = $1
    and bank_reference = $2`

const insertSql = `
  insert into cash_deposits (tenant_id, deposit_id, amount, other, bank_reference, parcels, deposited_by, deposited_at,
    booked_on)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

const bankSql = `
  update money_lines line set banked_by = $2 where tenant_id = $1 and waybill_number = any($3::text[])
    and ${isUnbankedSql}`

/** Finds the money of the named parcels or, without names, all cash at the office. */
const findUnbanked = async (tx: Tx, tenant: string, waybills?: readonly string[]): Promise<Map<string, number>> => {
  const { rows } = await tx.client.query({ name: 'find_unbanked', text: unbankedSql, values: [tenant, waybills] })
  return new Map(rows.map(({ waybill_number, cod }) => [waybill_number, cod]))
}

const findOther = async (tx: Tx, tenant: string): Promise<number> => {
  const text = `select (${otherAtOfficeSql})::float8 as other from tenants where tenant_id = $1`
  const { rows } = await tx.client.query({ name: 'find_other_cash', text, values: [tenant] })
  return rows[0].other
}
