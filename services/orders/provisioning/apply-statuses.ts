import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses, findUsedKeys, lockStatusSet } from '../statuses/status-queries.ts'
import { merchantStatusKeys, type Status, type Statuses, standardStatuses } from '../statuses/statuses.ts'
import { isWholeSet } from './check-file.ts'
import type { Wanted } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

/**
 * Returns the desired set of a tenant: the file's own, or the existing or standard one with the file's names, colours,
 * descriptions and bookings.
 */
const buildSet = ({ statuses: entries = [] }: TenantFile, current: Statuses): Status[] => {
  if (isWholeSet(entries))
    return entries.map(entry => ({ name: entry.key, color: 'secondary', description: '', moves: [], ...entry }))
  const changed = new Map(entries.map(entry => [entry.key, entry]))
  return findBase(current).map(status => ({ ...status, ...changed.get(status.key), moves: status.moves }))
}

const findBase = (current: Statuses): readonly Status[] => (current.size > 0 ? [...current.values()] : standardStatuses)

/** Lists entries for statuses that the tenant lacks or, for a new set, missing statuses that orders have. */
export const findStatusErrors = async (tx: Tx, file: TenantFile): Promise<FieldErrors> => {
  const { tenant, statuses: entries = [] } = file
  if (isWholeSet(entries)) return findKeysInUse(tx, file)
  const keys = findBase(await findStatuses(tx, tenant.id)).map(({ key }) => key)
  const errors: FieldErrors = {}
  for (const [index, { key }] of entries.entries())
    if (!keys.includes(key))
      errors[`statuses.${index}.key`] = [
        `There is no status ${key}, only ${keys.join(', ')}; for a new set, give every status its moves.`,
      ]
  return errors
}

/** Locks the set: until it is written, no order moves to a status that it lacks. */
const findKeysInUse = async (tx: Tx, { tenant, statuses = [] }: TenantFile): Promise<FieldErrors> => {
  await lockStatusSet(tx, tenant.id)
  const kept = new Set(statuses.map(({ key }) => key))
  const gone = [...(await findStatuses(tx, tenant.id)).keys()].filter(key => !kept.has(key))
  const used = await findUsedKeys(tx, tenant.id, gone)
  const these = used.length > 1 ? 'these statuses' : 'this status'
  return used.length > 0 ? { statuses: [`The set lacks ${used.join(', ')}: orders have ${these}.`] } : {}
}

/** Returns the desired statuses and moves of the tenant. */
export const findStatusRows = async (tx: Tx, file: TenantFile): Promise<Wanted[]> => {
  const wanted = buildSet(file, await findStatuses(tx, file.tenant.id))
  return [
    {
      table: 'statuses',
      rows: wanted.map(({ key, name, description, color, books = null }, index) => ({
        status_key: key,
        name,
        description,
        color,
        books,
        is_merchant_status: merchantStatusKeys.includes(key),
        position: index + 1,
      })),
    },
    {
      table: 'status_moves',
      rows: wanted.flatMap(({ key, moves }) => moves.map(to_key => ({ from_key: key, to_key }))),
    },
  ]
}
