import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { Amount, Waybill } from '../ledger/fields.ts'
import { bookJournal } from '../ledger/ledger.ts'
import { findBooked, firstFreeSql, lockParcels, readClock } from '../ledger/parcels.ts'
import { askCompensation } from './asked-corrections.ts'

// Books what the company owes a merchant for a lost or damaged parcel (docs/money.md#corrections).

export const ValueReason = Type.Optional({
  ...Reason,
  description: 'Says why the goods are worth more than the COD, such as: half was paid in advance.',
  examples: [],
})

/** Adds why the goods are worth more than the COD to the reason of an entry. */
export const joinReasons = (reason: string, value_reason: string | undefined): string =>
  value_reason === undefined ? reason : `${reason}; worth more than the COD: ${value_reason}`

export const Compensation = defineBody('Compensation', {
  waybill_number: Waybill,
  amount: Amount,
  reason: Reason,
  delivered_reason: Type.Optional({
    ...Reason,
    description: 'Says why the merchant is compensated for a parcel that was delivered, such as: it was damaged.',
    examples: [],
  }),
  value_reason: ValueReason,
})

export const Compensated = Type.Object(
  {
    waybill_number: Type.String(),
    amount: Amount,
    correction_id: Type.Optional(
      Type.Integer({ description: 'The correction that waits for a second person, under four_eyes.', examples: [1] }),
    ),
  },
  { title: 'Compensated' },
)

/** Books the compensation for a parcel, once; under `four_eyes` it waits for a second person. */
export const compensate = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof Compensation>>,
): Promise<Acted<Static<typeof Compensated>>> => {
  const { waybill_number: waybill, amount, reason, delivered_reason, value_reason } = body
  if (amount <= 0) return refuse('amount', 'Give an amount above zero.')
  const [order] = await lockParcels(tx, tenant, [waybill])
  if (!order) return { kind: 'unknown', what: 'waybill' }
  const { rows } = await tx.client.query(earlierSql, [tenant, waybill])
  const { compensation, booked_on } = rows[0] ?? {}
  if (booked_on)
    return refuse('waybill_number', `${waybill} was compensated with ${compensation} on ${booked_on}: correct that.`)
  const refused = await refuseCompensation(tx, tenant, waybill, amount, value_reason !== undefined)
  if (refused) return refused
  const delivered = (await findBooked(tx, tenant, [waybill])).find(({ kind }) => kind === 'delivered')
  if (delivered && delivered_reason === undefined)
    return refuse('delivered_reason', `${waybill} was delivered on ${delivered.booked_on}: say why it is compensated.`)
  const why = joinReasons(delivered ? `${reason}; delivered: ${delivered_reason}` : reason, value_reason)
  const { merchant_id } = order
  if (await hasFourEyes(tx, tenant)) {
    const asked = { tenant, merchant_id, waybill_number: waybill, amount, reason: why, by }
    const correction_id = await askCompensation(tx, { ...asked, exceeds_cod: value_reason !== undefined })
    if (correction_id === undefined) return refuse('waybill_number', `A compensation of ${waybill} waits already.`)
    return { kind: 'done', data: { waybill_number: waybill, amount, correction_id }, objects: [] }
  }
  const { journalId, today } = await readClock(tx, tenant)
  await tx.client.query(compensateSql, [tenant, waybill, journalId, merchant_id, amount, today, by.name, why])
  await bookJournal(tx, tenant, journalId, [waybill])
  return { kind: 'done', data: { waybill_number: waybill, amount }, objects: [waybill] }
}

/**
 * Refuses an amount that makes all compensation for a parcel less than nothing, or more than the company allows or,
 * unless it may exceed the COD, than the COD: nothing else states a value.
 */
export const refuseCompensation = async (
  tx: Tx,
  tenant: string,
  waybill: string,
  amount: number,
  exceedsCod: boolean,
) => {
  const { rows } = await tx.client.query(limitSql, [tenant, waybill, amount])
  const { booked, settled, most, cod } = rows[0]
  if (rows[0].total < 0)
    return refuse('amount', `Take back at most the ${booked} with which ${waybill} was compensated.`)
  if (amount <= 0) return undefined
  const total = addAmounts([rows[0].total, settled])
  if (most !== null && total > most)
    return refuse('amount', `A parcel is compensated with at most ${most} in all (compensation_max of the company).`)
  if (exceedsCod || total <= cod || (cod === 0 && most !== null)) return undefined
  const sentence =
    cod > 0
      ? `The COD of ${waybill} is ${cod}: say why the goods are worth more.`
      : `${waybill} has no COD: set the company's compensation_max, or say what the goods are worth.`
  return refuse('value_reason', sentence)
}

const limitSql = `
  select compensation_max::float8 as most, booked::float8, settled::float8, (booked + $3::numeric)::float8 as total,
    cod::float8
  from tenants join orders on orders.tenant_id = tenants.tenant_id and waybill_number = $2 cross join (
    select coalesce(sum(compensation), 0) as booked,
      coalesce(sum(adjustment) filter (where kind = 'released' and adjustment > 0), 0) as settled
    from money_lines where tenant_id = $1 and waybill_number = $2
  ) lines where tenants.tenant_id = $1`

const earlierSql = `
  select min(booked_on)::text as booked_on, sum(compensation)::float8 as compensation
  from money_lines where tenant_id = $1 and waybill_number = $2 and kind in ('compensated', 'compensation')
  having sum(compensation) > 0 or bool_or(kind = 'compensated')`

const compensateSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, compensation, booked_on,
    staff_name, reason)
  select $1, $2, line_no, $3, $4, 'compensated', $5, $6, $7, $8 from ${firstFreeSql} returning tenant_id`
