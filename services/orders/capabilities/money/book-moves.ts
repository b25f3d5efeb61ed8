import { findPerson } from '../../core/access/find-staff.ts'
import { readCurrency } from '../../core/actions/amounts.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameMover } from '../../core/moves/check-moves.ts'
import type { LockedMove, MovePoint, WantedMove } from '../../core/moves/move-points.ts'
import { findLineKind, isBeforeMoney, refuseBooking } from '../../core/statuses/check-set.ts'
import { findBooking } from '../../core/statuses/statuses.ts'
import {
  checkCollection,
  collectionFields,
  collectionParameters,
  hasFraction,
  readCollection,
} from './cash/collection.ts'
import { askBack } from './corrections/asked-corrections.ts'
import { bookDeliverySql, bookReturnSql } from './ledger/fees.ts'
import { findBooked, isCompensation, wordBooked } from './ledger/parcels.ts'
import { reverseBooking } from './reverse.ts'

interface Found {
  /** Lists the parcels that were compensated. */
  readonly compensated: readonly string[]
  /** Names who has the cash; undefined: the mover. */
  readonly collectedBy: string | undefined
}

/**
 * Lists the errors of a move whose money cannot be booked, or that would let a booked order be edited or cancelled.
 * Stored sets may allow both, as long as `apply` accepted them.
 */
const checkMoney = async (tx: Tx, { tenant, waybills, statusKey }: WantedMove, locked: Promise<LockedMove>) => {
  // Most sets book at the usual statuses: reads what is booked there without a round trip of its own.
  const isLikely = findBooking({ key: statusKey }) !== 'nothing'
  const [move, read] = await Promise.all([locked, isLikely ? findBooked(tx, tenant, waybills) : undefined])
  const { to } = move
  const refused = refuseBooking(to)
  if (refused) return { errors: { status_key: [`${refused} The company corrects its set of statuses.`] } }
  const kind = findLineKind(findBooking(to))
  const isEarly = to !== undefined && isBeforeMoney(to.key)
  if (!kind && !isEarly) return { errors: {} }
  const found = read ?? (await findBooked(tx, tenant, waybills))
  const booked = found.filter(each => !isCompensation(each) && (isEarly || each.kind === kind))
  const errors = Object.fromEntries(
    booked.map(each => [`waybill_numbers.${waybills.indexOf(each.waybill_number)}`, [wordBooked(each)]]),
  )
  return { errors, compensated: [...new Set(found.filter(isCompensation).map(each => each.waybill_number))] }
}

const book = async (tx: Tx, move: LockedMove, { compensated, collectedBy }: Found): Promise<void> => {
  const { tenant, waybills, mover, to, given } = move
  const booking = findBooking(to)
  if (booking === 'nothing') return
  const staffName = nameMover(mover)
  const values: unknown[] = [tenant, waybills, staffName]
  if (booking === 'return') await tx.client.query({ name: 'book_return', text: bookReturnSql, values })
  else {
    values.push(...collectionParameters(readCollection(given)), collectedBy ?? staffName)
    await tx.client.query({ name: 'book_delivery', text: bookDeliverySql, values })
    if (compensated.length > 0) await askBack(tx, tenant, compensated, staffName)
  }
}

/** Books money when an order moves to a status that says so. */
export const bookedMoves: MovePoint<Found> = {
  fields: collectionFields,
  check: async (tx, wanted, locked) => {
    const collection = readCollection(wanted.given)
    const { collectedBy } = collection
    const [money, person, move] = await Promise.all([
      checkMoney(tx, wanted, locked),
      collectedBy === null ? undefined : findPerson(tx, wanted.tenant, collectedBy),
      locked,
    ])
    const cods = new Map(move.current.map(row => [row.waybill_number, row.cod]))
    const currency = hasFraction(collection) ? await readCurrency(tx, wanted.tenant) : ''
    const errors = {
      ...money.errors,
      ...(person?.kind === 'refused' && { collected_by: [person.sentence] }),
      ...checkCollection(collection, findBooking(move.to), move.waybills, cods, currency),
    }
    const { compensated = [] } = money
    return { errors, found: { compensated, collectedBy: person?.kind === 'found' ? person.name : undefined } }
  },
  write: book,
  undo: reverseBooking,
}
