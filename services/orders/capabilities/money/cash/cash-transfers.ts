import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { findPerson, isOwnCash } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { CollectedBy, Waybills } from '../ledger/fields.ts'
import { bookJournal } from '../ledger/ledger.ts'
import { holderSql, lockName, readClock } from '../ledger/parcels.ts'
import { findHolder, lockHeld } from './cash.ts'

// Moves cash from one person to another, such as at the end of a tour (docs/money.md#who-has-the-cash).

export const Transfer = Type.Object(
  {
    transfer_id: Type.String(),
    from: Type.String({ examples: ['Nimal'] }),
    to: Type.String({ examples: ['Sunil'] }),
    amount: Type.Number({ examples: [2500] }),
    waybill_numbers: Type.Array(Type.String()),
  },
  { title: 'CashTransfer' },
)

export const NewTransfer = defineBody('NewCashTransfer', {
  from: { ...CollectedBy, description: 'Who has the cash: the id or the name of a member of staff.' },
  to: { ...CollectedBy, description: 'Who takes it.', examples: ['Sunil'] },
  waybill_numbers: Type.Optional({ ...Waybills, description: 'Default: all parcels whose cash the person has.' }),
  reason: Type.Optional(Reason),
})

/** Books that a person took the cash of parcels from another; what somebody owes from handovers stays theirs. */
export const transferCash = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof NewTransfer>>,
): Promise<Acted<Static<typeof Transfer>>> => {
  const [giver, taker] = [await findHolder(tx, tenant, body.from), await findPerson(tx, tenant, body.to)]
  if (giver.kind === 'refused') return refuse('from', giver.sentence)
  if (taker.kind === 'refused') return refuse('to', taker.sentence)
  const [from, to] = [giver.name, taker.name]
  if (from === to) return refuse('to', `${to} has the cash already: name somebody else.`)
  if (await isOwnCash(tx, tenant, from, by.name))
    return refuse('from', `${from} has the cash: somebody else must book who takes it (four_eyes of the company).`)
  for (const name of [from, to].toSorted()) await lockName(tx, tenant, `cash ${name}`)
  const own = await lockHeld(tx, tenant, from, 'from', body.waybill_numbers)
  if ('kind' in own) return own
  const waybill_numbers = body.waybill_numbers ?? [...own.keys()]
  if (waybill_numbers.length === 0) return refuse('from', `${from} holds no cash.`)
  const amount = addAmounts(waybill_numbers.map(waybill => own.get(waybill) ?? 0))
  const { journalId, now, today } = await readClock(tx, tenant)
  const values = [tenant, journalId, from, to, waybill_numbers, amount, body.reason, by.name, now, today]
  await tx.client.query(insertSql, values)
  await tx.client.query(moveSql, [tenant, from, to, waybill_numbers])
  await bookJournal(tx, tenant, journalId, [])
  const data = { transfer_id: journalId, from, to, amount, waybill_numbers }
  return { kind: 'done', data, objects: [`transfer ${journalId}`] }
}

const insertSql = `
  insert into cash_transfers (tenant_id, transfer_id, from_name, to_name, waybill_numbers, amount, reason,
    transferred_by, transferred_at, booked_on)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

/** Moves the newest delivery of each parcel: earlier ones were taken back, and have no cash. */
const moveSql = `
  update money_lines line set held_by = 'rider:' || $3::text from (
    select waybill_number, max(line_no) as line_no from money_lines
    where tenant_id = $1 and waybill_number = any($4::text[]) and kind = 'delivered' group by 1
  ) newest
  where line.tenant_id = $1 and line.waybill_number = newest.waybill_number and line.line_no = newest.line_no
    and ${holderSql} = 'rider:' || $2::text`
