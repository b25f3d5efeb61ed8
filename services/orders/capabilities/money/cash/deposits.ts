import { addAmounts, refuseDecimals } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../../core/actions/action.ts'
import { readCurrency } from '../../../core/actions/amounts.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { Amount, BankReference, mostCollected, nullable, Waybills } from '../ledger/fields.ts'
import { bookJournal } from '../ledger/ledger.ts'
import { hasLaterSql, lockName, lockParcels, readClock } from '../ledger/parcels.ts'

// Books the money that goes from the office, or from card and QR providers, to the bank (docs/money.md#cash).

export const Deposit = Type.Object(
  {
    deposit_id: Type.String(),
    amount: Type.Number({ examples: [975] }),
    difference: Type.Number({ description: 'The sum that did not arrive.', examples: [25] }),
    difference_account: nullable('null: all arrived.'),
    parcels: Type.Integer(),
    bank_reference: Type.String(),
  },
  { title: 'Deposit' },
)

/** Names the account of cash that the bank counts otherwise than the office. */
const ofCash = 'cash_differences'
/** Lists the accounts that may have what did not arrive: of payments without cash, and of cash. */
const differenceAccounts = ['acquirer_fees', 'differences', ofCash] as const

export const NewDeposit = defineBody('NewDeposit', {
  amount: { ...Amount, description: 'The sum that arrived at the bank.' },
  bank_reference: BankReference,
  difference: Type.Optional(
    Type.Object(
      {
        account: Type.Union(
          differenceAccounts.map(account => Type.Literal(account)),
          { must: 'be acquirer_fees, differences or cash_differences', examples: ['acquirer_fees'] },
        ),
        amount: { ...Amount, minimum: -mostCollected, must: 'be an amount', examples: [25] },
      },
      {
        additionalProperties: false,
        description:
          'What did not arrive, and the account that has it: cash_differences of cash, another of payments by card, QR or transfer; below zero, more arrived.',
      },
    ),
  ),
  waybill_numbers: Type.Optional({ ...Waybills, description: 'Default: all cash at the office.' }),
})

/** Is true of a row of `line` whose money waits to go to the bank: cash at the office, or a payment without cash. */
export const isUnbankedSql = `line.kind = 'delivered' and line.cod > 0 and line.banked_by is null
    and ((method = 'cash' and ${hasLaterSql('handed_over')})
      or (method <> 'cash' and not ${hasLaterSql('delivery_reversed')}))`

const unbankedSql = `
  select waybill_number, cod::float8 as cod, method = 'cash' as is_cash from money_lines line
  where tenant_id = $1 and ($2::text[] is null and method = 'cash' or waybill_number = any($2::text[]))
    and ${isUnbankedSql}
  order by waybill_number`

/** Sums the office's balance apart from parcels: repaid debts, less missing sums and deposits. */
const otherAtOfficeSql = `(
    select coalesce(sum(debt - (expected - counted)), 0) from cash_handovers where tenant_id = $1
      and journal_id is not null
  ) - (select coalesce(sum(other), 0) from cash_deposits where tenant_id = $1)`

/** Books money that was brought to the bank. Repeating the reference, the amount and the parcels changes nothing. */
export const deposit = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof NewDeposit>>,
): Promise<Acted<Static<typeof Deposit>>> => {
  const { amount, bank_reference, waybill_numbers: wanted, difference } = body
  await lockName(tx, tenant, 'office')
  const { rows: earlier } = await tx.client.query(sameSql, [tenant, bank_reference])
  const [same] = earlier
  if (same?.amount === amount && (await isSameDeposit(tx, tenant, same, wanted)))
    return { kind: 'done', data: same, objects: [] }
  if (same) {
    const sentence = `The reference ${bank_reference} has a deposit of ${same.amount}, of ${same.parcels} parcels. Give another one.`
    return refuse('bank_reference', sentence)
  }
  const before = await findUnbanked(tx, tenant, wanted)
  await lockParcels(tx, tenant, [...before.keys()])
  const parcels = new Map([...(await findUnbanked(tx, tenant, wanted))].filter(([waybill]) => before.has(waybill)))
  const other = wanted ? 0 : await findOther(tx, tenant)
  const sum = addAmounts([other, ...[...parcels.values()].map(({ cod }) => cod)])
  const foreign = (waybill: string) =>
    !parcels.has(waybill) && `No money of ${waybill} is at the office or in clearing.`
  const refused = refuseAny(checkEach(wanted, foreign))
  if (refused) return refused
  if (sum <= 0) return refuse('amount', 'There is nothing to deposit.')
  const isCash = [...parcels.values()].map(({ is_cash }) => is_cash)
  const kinds = wanted ? new Set(isCash) : new Set([true])
  const wrong = difference && (await refuseDifference(tx, tenant, difference, kinds))
  if (wrong) return wrong
  if (sum !== addAmounts([amount, difference?.amount ?? 0])) return refuse('amount', wordDifference(body, sum, kinds))
  const { journalId, now, today } = await readClock(tx, tenant)
  const waybills = [...parcels.keys()]
  const values = [tenant, journalId, amount, other, bank_reference, waybills.length, by.name, now, today]
  await tx.client.query(insertSql, [...values, difference?.amount ?? 0, difference?.account])
  await tx.client.query(bankSql, [tenant, journalId, waybills])
  await bookJournal(tx, tenant, journalId, waybills)
  const missing = { difference: difference?.amount ?? 0, difference_account: difference?.account ?? null }
  const data = { deposit_id: journalId, amount, ...missing, parcels: waybills.length, bank_reference }
  return { kind: 'done', data, objects: [`deposit ${journalId}`] }
}

/** Tells whether an earlier deposit is of the parcels of a request; one that names none is of cash. */
const isSameDeposit = async (
  tx: Tx,
  tenant: string,
  { deposit_id, parcels }: Static<typeof Deposit>,
  wanted: readonly string[] | undefined,
): Promise<boolean> => {
  const { rows } = await tx.client.query(wanted ? bankedSql : clearedSql, [
    tenant,
    deposit_id,
    ...(wanted ? [wanted] : []),
  ])
  return wanted ? rows.length === wanted.length && parcels === wanted.length : rows.length === 0
}

const bankedSql = `select waybill_number from money_lines where tenant_id = $1 and banked_by = $2
  and waybill_number = any($3::text[])`
const clearedSql = `select from ledger_transfers where tenant_id = $1 and journal_id = $2 and credit = 'clearing'`

/** Says what a deposit that differs from the sum on hand must send. */
const wordDifference = (
  { amount, difference, waybill_numbers }: Static<typeof NewDeposit>,
  sum: number,
  kinds: ReadonlySet<boolean>,
): string => {
  if (difference) return `The amount ${amount} and the difference ${difference.amount} are not the ${sum} on hand.`
  const missing = addAmounts([sum, -amount])
  const wrong = `The amount ${amount} is not the ${sum} on hand`
  if (!kinds.has(true))
    return `${wrong}: send a difference of ${missing}, with the account that has it, acquirer_fees or differences.`
  const part = waybill_numbers
    ? 'Name only the waybill_numbers whose money you deposit'
    : 'Name the waybill_numbers of a part'
  const counted = `If the bank counted ${amount}, send a difference of ${missing} with the account ${ofCash}.`
  return `${wrong}. ${part}.${kinds.size > 1 || amount === 0 ? '' : ` ${counted}`}`
}

interface Unbanked {
  readonly cod: number
  readonly is_cash: boolean
}

/** Refuses an account that does not fit the payments: with cash (true), without (false), or both. */
const refuseDifference = async (
  tx: Tx,
  tenant: string,
  { account, amount }: { account: string; amount: number },
  kinds: ReadonlySet<boolean>,
) => {
  if (kinds.size > 1) return refuse('difference', 'Deposit cash and other payments apart, each with its difference.')
  if (kinds.has(true) !== (account === ofCash))
    return refuse('difference', `The account of a difference in cash is ${ofCash}, and of no other payment.`)
  const tooFine = refuseDecimals('The difference', amount, await readCurrency(tx, tenant))
  return tooFine === undefined ? undefined : refuse('difference', tooFine)
}

const sameSql = `
  select deposit_id, amount::float8, difference::float8, difference_account, parcels, bank_reference
  from cash_deposits where tenant_id = $1
    and bank_reference = $2`

const insertSql = `
  insert into cash_deposits (tenant_id, deposit_id, amount, other, bank_reference, parcels, deposited_by, deposited_at,
    booked_on, difference, difference_account)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

const bankSql = `
  update money_lines line set banked_by = $2 where tenant_id = $1 and waybill_number = any($3::text[])
    and ${isUnbankedSql}`

/** Finds the money of the named parcels or, without names, all cash at the office. */
const findUnbanked = async (tx: Tx, tenant: string, waybills?: readonly string[]): Promise<Map<string, Unbanked>> => {
  const { rows } = await tx.client.query({ name: 'find_unbanked', text: unbankedSql, values: [tenant, waybills] })
  return new Map(rows.map(row => [row.waybill_number, row]))
}

const findOther = async (tx: Tx, tenant: string): Promise<number> => {
  const text = `select (${otherAtOfficeSql})::float8 as other from tenants where tenant_id = $1`
  const { rows } = await tx.client.query({ name: 'find_other_cash', text, values: [tenant] })
  return rows[0].other
}
