import type { Faults } from '@courier/shared/http/errors.ts'
import { selectedInvalid } from '@courier/shared/http/faults.ts'
import { cancelledKey, initialStatusKeys, type Statuses } from './statuses.ts'

/** Who moves orders: the courier's staff along the tenant's moves, a merchant only to cancel. */
export type Mover = { readonly staffName: string } | { readonly merchantId: string }

/**
 * What is wrong with moving all of `waybills` to the status `to`. `current` holds the status of each that the mover
 * may see, as it is now: its row is locked. Pure.
 */
export const checkMoves = (
  waybills: readonly string[],
  to: string,
  mover: Mover,
  statuses: Statuses,
  current: ReadonlyMap<string, string>,
): Faults => {
  const faults: Faults = {}
  const isKnown = statuses.has(to)
  if (!isKnown) faults.status_key = [`${selectedInvalid('status_key')} It may be ${[...statuses.keys()].join(', ')}.`]
  const seen = new Set<string>()
  for (const [index, waybill] of waybills.entries()) {
    const from = current.get(waybill)
    const path = `waybill_numbers.${index}`
    if (seen.has(waybill)) faults[path] = [`The ${path} field has a duplicate value.`]
    else if (from === undefined) faults[path] = ['The requested waybill does not exist in the system.']
    else if (isKnown && !legalMoves(from, mover, statuses).includes(to))
      faults[path] = [`${waybill} is ${nameOf(from, statuses)}: ${wayOut(from, mover, statuses)}`]
    seen.add(waybill)
  }
  return faults
}

/** A merchant may cancel a draft too, which the moves of staff do not list. */
const legalMoves = (from: string, mover: Mover, statuses: Statuses): readonly string[] => {
  if ('staffName' in mover) return statuses.get(from)?.moves ?? []
  return initialStatusKeys.some(key => key === from) ? [cancelledKey] : []
}

const wayOut = (from: string, mover: Mover, statuses: Statuses): string => {
  const name = (key: string): string => nameOf(key, statuses)
  if ('merchantId' in mover) return `you may cancel an order that is ${initialStatusKeys.map(name).join(' or ')}.`
  const moves = legalMoves(from, mover, statuses)
  return moves.length > 0 ? `it may move to ${moves.map(name).join(', ')}.` : 'it may not move any more.'
}

const nameOf = (key: string, statuses: Statuses): string => `${key} ${statuses.get(key)?.name ?? ''}`.trim()
