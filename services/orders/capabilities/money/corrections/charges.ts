import { Type } from '@sinclair/typebox'
import { refuse } from '../../../core/actions/action.ts'
import { maxWeightKg, weightRule } from '../../../core/booking/schema.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findChargesDue, priceByCard, type RightCharges } from '../ledger/correction-lines.ts'
import { Amount, mostCollected } from '../ledger/fields.ts'

// Reads the right charges of a parcel, stated or computed by the rate card (docs/money.md#corrections).

/** Names the charges that a correction may state: the first two of a delivery, the last of a return. */
export const chargeNames = ['delivery', 'cod_fee', 'return_fee'] as const

const newCharge = Type.Optional({
  ...{ ...Amount, maximum: mostCollected, examples: [] },
  description: 'For charges: the right amount, without tax.',
})

/** Defines the fields that state right charges, or the weight by which the rate card computes them. */
export const rightFields = () => ({
  delivery: newCharge,
  cod_fee: newCharge,
  return_fee: newCharge,
  weight: Type.Optional(
    Type.Number({
      ...{ exclusiveMinimum: 0, maximum: maxWeightKg, must: weightRule, examples: [] },
      description: 'For charges: the right weight in kilograms, by which the rate card computes them.',
    }),
  ),
})

/** Refuses charges that do not say one thing. */
export const refuseCharges = (given: readonly string[], amount: number | undefined) => {
  if (amount !== undefined) return refuse('amount', 'Leave this out: the right charges say it.')
  if (given.length === 0)
    return refuse('delivery', 'Give the right delivery, cod_fee or return_fee. A weight computes them.')
  if (given.includes('weight') && given.length > 1)
    return refuse('weight', 'Give the weight or the right charges, not both.')
  if (given.includes('return_fee') && given.length > 1)
    return refuse('return_fee', 'Correct the charges of the delivery and of the return apart.')
  return undefined
}

/** Reads right charges; undefined: it is no correction of charges. */
export const readRight = ({
  kind,
  delivery,
  cod_fee,
  return_fee,
}: { kind: string } & Partial<Record<keyof RightCharges, number | null | undefined>>) =>
  kind === 'charges'
    ? Object.fromEntries(
        Object.entries({ delivery, cod_fee, return_fee }).filter(([, value]) => typeof value === 'number'),
      )
    : undefined

/** Computes right charges by the rate card and a weight; refuses what the card cannot say. */
export const computeRight = async (tx: Tx, tenant: string, waybill: string, weight: number) => {
  const { is_delivered, delivery, cod_fee, return_fee } = await priceByCard(tx, tenant, waybill, weight)
  if (is_delivered && return_fee !== null)
    return refuse('weight', `${waybill} was delivered and returned: state the charges, of each move apart.`)
  if (is_delivered && delivery === null)
    return refuse('weight', `The rate card has changed since ${waybill} was booked: state the charges.`)
  if (is_delivered) return { delivery: delivery ?? undefined, cod_fee: cod_fee ?? undefined, return_fee: undefined }
  return return_fee === null
    ? refuse('waybill_number', `${waybill} is booked neither as delivered nor as returned with a fee.`)
    : { delivery: undefined, cod_fee: undefined, return_fee }
}

/** Finds what right charges add to what the merchant is owed, or refuses them. */
export const findDue = async (tx: Tx, tenant: string, waybill: string, right: RightCharges) => {
  const due = await findChargesDue(tx, tenant, waybill, right)
  const move = right.return_fee === undefined ? 'delivered' : 'returned with a fee'
  if (due === undefined) return refuse('waybill_number', `${waybill} is not booked as ${move}.`)
  if (due === null)
    return refuse('waybill_number', `${waybill} was booked before rates were stored: write off the difference.`)
  return due === 0 ? refuse('waybill_number', `${waybill} is charged that already.`) : due
}
