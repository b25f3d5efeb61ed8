import { required } from '@courier/shared/errors/field-errors.ts'
import { merchantStatusKeys } from '../statuses/statuses.ts'
import type { TenantFile } from './tenant-file.ts'
import { type Add, unique } from './unique.ts'

type Entries = NonNullable<TenantFile['statuses']>

/** Returns true if a file replaces the set of statuses instead of renaming or recolouring some. */
export const isWholeSet = (entries: Entries): boolean => entries.some(entry => entry.moves)

export const checkStatuses = ({ statuses = [] }: TenantFile, add: Add): void => {
  const once = unique(add, 'status key')
  for (const [index, { key }] of statuses.entries()) once(`statuses.${index}.key`, key)
  if (isWholeSet(statuses)) checkSet(statuses, add)
}

const checkSet = (statuses: Entries, add: Add): void => {
  const keys = new Set(statuses.map(({ key }) => key))
  const missing = merchantStatusKeys.filter(key => !keys.has(key))
  if (missing.length > 0)
    add('statuses', `The set lacks ${missing.join(' and ')}, which the calls of merchants rely on.`)
  for (const [index, { name, moves }] of statuses.entries()) {
    const path = `statuses.${index}`
    if (name === undefined) add(`${path}.name`, required('name'))
    if (moves === undefined) add(`${path}.moves`, 'Give every status its moves for a new set, or none for new names.')
    const once = unique(add, 'move to')
    for (const [m, move] of (moves ?? []).entries()) {
      if (!keys.has(move)) add(`${path}.moves.${m}`, `There is no status ${move} in this set.`)
      once(`${path}.moves.${m}`, move)
    }
  }
}
