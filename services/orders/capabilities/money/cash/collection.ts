import { refuseDecimals } from '@courier/shared/currency.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Reason } from '../../../core/actions/fields.ts'
import type { WantedMove } from '../../../core/moves/move-points.ts'
import type { Booking } from '../../../core/statuses/statuses.ts'
import { CollectedBy, mostCollected, Waybill } from '../ledger/fields.ts'

/** Lists the ways to pay. Only cash stays with the person who collected it. */
export const methods = ['cash', 'card', 'qr', 'transfer'] as const

/** Limits the waybills that a response names as not part of the move. */
const maxForeign = 100

const Collected = Type.Record(
  Waybill,
  Type.Object(
    {
      amount: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: mostCollected,
          must: `be an amount from 0 to ${mostCollected}`,
          description: "The amount, with at most the decimals of the company's currency. Default: the COD.",
        }),
      ),
      method: Type.Optional(
        Type.Union(
          methods.map(method => Type.Literal(method)),
          { description: 'Default: cash.', must: `be ${methods.join(', ')}` },
        ),
      ),
      reason: Type.Optional(Reason),
    },
    { additionalProperties: false },
  ),
  { description: 'The amounts that recipients paid, by waybill number, for statuses that book a delivery.' },
)

/** Defines the fields that money adds to a move. */
export const collectionFields = {
  collected_by: Type.Optional({
    ...CollectedBy,
    description: 'Who has the cash: the id or the name of a member of staff. Default: you.',
  }),
  collected: Type.Optional(Collected),
}

/** Describes who collected the cash of a delivery, and which payments differ from the COD in cash. */
export interface Collection {
  /** null: the mover. */
  readonly collectedBy: string | null
  readonly collected: Static<typeof Collected>
}

/**
 * Lists the errors of the amounts collected by a move that books `booking`. `cods` holds the COD of each order that the
 * mover may see. An amount other than the COD needs a reason; a partial delivery needs an amount if there is a COD.
 */
export const checkCollection = (
  { collectedBy, collected }: Collection,
  booking: Booking,
  waybills: readonly string[],
  cods: ReadonlyMap<string, number>,
  currency: string,
): FieldErrors => {
  const isDelivery = booking === 'delivery' || booking === 'partial_delivery'
  const errors: FieldErrors = {}
  if (!isDelivery) {
    const sentence = 'Leave this out: the status books no delivery.'
    if (collectedBy !== null) errors.collected_by = [sentence]
    if (Object.keys(collected).length > 0) errors.collected = [sentence]
    return errors
  }
  const moved = new Set(waybills)
  const foreign = Object.keys(collected).filter(waybill => !moved.has(waybill))
  for (const waybill of foreign.slice(0, maxForeign))
    errors[`collected.${waybill}`] = [`${waybill} is not among the waybill_numbers.`]
  for (const waybill of waybills) {
    const { amount, reason } = collected[waybill] ?? {}
    const cod = cods.get(waybill) ?? 0
    const tooFine = amount !== undefined && refuseDecimals('The amount', amount, currency)
    if (tooFine) errors[`collected.${waybill}.amount`] = [tooFine]
    else if (amount === undefined && booking === 'partial_delivery' && cod > 0)
      errors[`collected.${waybill}.amount`] = [`State what was collected for ${waybill}; its COD is ${cod}.`]
    else if (amount !== undefined && amount !== cod && !reason)
      errors[`collected.${waybill}.reason`] = [
        `The amount ${amount} is not the COD of ${waybill}, ${cod}: give a reason.`,
      ]
  }
  return errors
}

/** Reads the fields of a move. */
export const readCollection = (given: WantedMove['given'] = {}): Collection => {
  const { collected_by, collected = {} } = given as Static<TObject<typeof collectionFields>>
  return { collectedBy: collected_by?.trim() ?? null, collected }
}

/** Tests whether a currency decides on an amount of a collection. */
export const hasFraction = ({ collected }: Collection): boolean =>
  Object.values(collected).some(({ amount = 0 }) => !Number.isInteger(amount))

/** Returns the columns of `given` in the statement of deliveries, in order. */
export const collectionParameters = ({ collected }: Collection): unknown[] => {
  const given = Object.entries(collected)
  return [
    given.map(([waybill]) => waybill),
    given.map(([, { amount }]) => amount ?? null),
    given.map(([, { method }]) => method ?? null),
    given.map(([, { reason }]) => reason?.trim() ?? null),
  ]
}
