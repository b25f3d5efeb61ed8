import {
  type Booking,
  cancelledKey,
  editableIn,
  findBooking,
  merchantMoves,
  type Status,
  type Statuses,
} from './statuses.ts'

/** Describes why a set would lose or repeat money. */
export interface Flaw {
  /** Is the status whose `books` or `move` is wrong. */
  readonly key: string
  /** Is the first move of the wrong path; undefined: `books` itself is wrong. */
  readonly move?: string
  readonly sentence: string
}

/** Returns true for statuses in which the COD can be edited or the order is cancelled: nothing may be booked there. */
export const isBeforeMoney = (key: string): boolean => editableIn(key) === 'all' || key === cancelledKey

/** Returns the kind of the line that a booking writes: a parcel has one live line of each kind at most. */
export const findLineKind = (booking: Booking): 'delivered' | 'returned' | undefined => {
  if (booking === 'nothing') return undefined
  return booking === 'return' ? 'returned' : 'delivered'
}

const wordBooking = (booking: Booking): string => (booking === 'return' ? 'a return' : 'a delivery')

/** Words why no order may move to a status that books money too early; undefined: it does not. */
export const refuseBooking = (status: Status | undefined): string | undefined => {
  const booking = findBooking(status)
  return status && booking !== 'nothing' && isBeforeMoney(status.key)
    ? `${status.key} books ${wordBooking(booking)}, which it may not: ${wordEarly(status.key)}.`
    : undefined
}

const wordEarly = (key: string): string =>
  key === cancelledKey
    ? 'orders there are cancelled'
    : 'the COD of orders there can be edited, and they can be cancelled'

/** Lists the flaws of a set: money booked too early, or a path from a booking to another that would be dropped. */
export const findFlaws = (statuses: Statuses): Flaw[] =>
  [...statuses.values()].flatMap(status => {
    const sentence = refuseBooking(status)
    if (sentence) return [{ key: status.key, sentence }]
    const booking = findBooking(status)
    if (booking === 'nothing') return []
    return status.moves.flatMap(move => {
      const reached = listReached(move, statuses).find(key => isWrongAfter(booking, statuses.get(key)))
      if (reached === undefined) return []
      const path = reached === move ? '' : `, which leads to ${reached}`
      const why = isBeforeMoney(reached)
        ? wordEarly(reached)
        : `${reached} books ${wordBooking(booking)} again, and a parcel is booked once`
      return [
        {
          key: status.key,
          move,
          sentence: `${status.key} books ${wordBooking(booking)}, so no order may move on to ${move}${path}: ${why}.`,
        },
      ]
    })
  })

const isWrongAfter = (booking: Booking, status: Status | undefined): boolean =>
  status !== undefined && (isBeforeMoney(status.key) || findLineKind(findBooking(status)) === findLineKind(booking))

/** Lists the statuses that an order may reach from `key`, which is the first, nearest first. */
const listReached = (key: string, statuses: Statuses): string[] => {
  const reached = new Set([key])
  // A set grows while it is read: each new status is visited once.
  for (const each of reached)
    for (const next of [...(statuses.get(each)?.moves ?? []), ...(merchantMoves[each] ?? [])]) reached.add(next)
  return [...reached]
}
