import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import type { ChangeActor } from '../database/tables.ts'
import { cancelledKey, merchantMoves, type Statuses } from '../statuses/statuses.ts'

/**
 * Identifies who moves orders. Staff may make every move in the tenant's set, merchants and customers only
 * `merchantMoves`.
 */
export type Mover =
  | { readonly staffName: string }
  | { readonly merchantId: string; readonly person?: { readonly name: string } | null }
  | { readonly isCustomer: true }

/** Names the member of staff, or the person of a merchant. */
export const nameMover = (mover: Mover): string | null => {
  if ('staffName' in mover) return mover.staffName
  return 'merchantId' in mover ? (mover.person?.name ?? null) : null
}

export const findActor = (mover: Mover): ChangeActor => {
  if ('staffName' in mover) return 'staff'
  return 'merchantId' in mover ? 'merchant' : 'customer'
}

/**
 * Lists the errors of moving all of `waybills` to the status `to`. `current` holds the status of each order that the
 * mover may see; the caller has locked their rows.
 */
export const checkMoves = (
  waybills: readonly string[],
  to: string,
  mover: Mover,
  statuses: Statuses,
  current: ReadonlyMap<string, string>,
): FieldErrors => {
  const errors: FieldErrors = {}
  const isKnown = statuses.has(to)
  if (!isKnown) errors.status_key = [`${selectedInvalid('status_key')} It may be ${[...statuses.keys()].join(', ')}.`]
  const seen = new Set<string>()
  for (const [index, waybill] of waybills.entries()) {
    const from = current.get(waybill)
    const path = `waybill_numbers.${index}`
    if (seen.has(waybill)) errors[path] = [`The ${path} field has a duplicate value.`]
    else if (from === undefined) errors[path] = ['The requested waybill does not exist in the system.']
    else if (isKnown && !listLegalMoves(from, mover, statuses).includes(to))
      errors[path] = [`${waybill} is ${nameStatus(from, statuses)}: ${writeHint(from, to, mover, statuses)}`]
    seen.add(waybill)
  }
  return errors
}

const listLegalMoves = (from: string, mover: Mover, statuses: Statuses): readonly string[] =>
  ('staffName' in mover ? statuses.get(from)?.moves : merchantMoves[from]) ?? []

const writeHint = (from: string, to: string, mover: Mover, statuses: Statuses): string => {
  const name = (key: string): string => nameStatus(key, statuses)
  if (!('staffName' in mover)) {
    const movable = Object.keys(merchantMoves).filter(key => merchantMoves[key]?.includes(to))
    const verb = to === cancelledKey ? 'cancel' : 'confirm'
    return `${whoMay(mover)} only ${verb} an order that is ${movable.map(name).join(' or ')}.`
  }
  const moves = listLegalMoves(from, mover, statuses)
  return moves.length > 0 ? `it may move to ${moves.map(name).join(', ')}.` : 'it may not move any more.'
}

/** Begins a hint. Staff read the hints about a customer's actions, so those say "customers" instead of "you". */
export const whoMay = (mover: Mover): string => ('isCustomer' in mover ? 'customers may' : 'you may')

export const nameStatus = (key: string, statuses: Statuses): string => `${key} ${statuses.get(key)?.name ?? ''}`.trim()
