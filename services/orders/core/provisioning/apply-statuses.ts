import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../database/tables.ts'
import { findFlaws } from '../statuses/check-set.ts'
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

/**
 * Lists entries for statuses that the tenant lacks or, for a new set, missing statuses that orders have; else the flaws
 * of the set.
 */
export const findStatusErrors = async (tx: Tx, file: TenantFile): Promise<FieldErrors> => {
  const { tenant, statuses: entries = [] } = file
  if (entries.length === 0) return {}
  const current = await findStatuses(tx, tenant.id)
  const errors = isWholeSet(entries) ? await findKeysInUse(tx, file) : findUnknownKeys(entries, findBase(current))
  return Object.keys(errors).length > 0 ? errors : listFlaws(entries, buildSet(file, current))
}

const findUnknownKeys = (entries: Entries, base: readonly Status[]): FieldErrors => {
  const keys = base.map(({ key }) => key)
  const errors: FieldErrors = {}
  for (const [index, { key }] of entries.entries())
    if (!keys.includes(key))
      errors[`statuses.${index}.key`] = [
        `There is no status ${key}, only ${keys.join(', ')}; for a new set, give every status its moves.`,
      ]
  return errors
}

type Entries = NonNullable<TenantFile['statuses']>
const toStatuses = (set: readonly Status[]): Statuses => new Map(set.map(status => [status.key, status]))

/** Lists the flaws of the desired set, under the entries that have them. */
const listFlaws = (entries: Entries, set: readonly Status[]): FieldErrors => {
  const errors: Record<string, string[]> = {}
  for (const { key, move, sentence } of findFlaws(toStatuses(set))) {
    const index = entries.findIndex(entry => entry.key === key)
    const moves = entries[index]?.moves
    const field = move === undefined ? 'books' : moves ? `moves.${moves.indexOf(move)}` : 'books'
    const path = index < 0 ? 'statuses' : `statuses.${index}.${field}`
    errors[path] = [...(errors[path] ?? []), sentence]
  }
  return errors
}

/** Warns of the flaws of the stored set, which a file without statuses leaves as it is. */
export const warnOfStatuses = async (tx: Tx, { tenant }: TenantFile): Promise<string[]> =>
  findFlaws(await findStatuses(tx, tenant.id)).map(({ sentence }) => `the set of statuses has a flaw: ${sentence}`)

/** Locks the set: until it is written, no order moves to a status that it lacks. */
const findKeysInUse = async (tx: Tx, { tenant, statuses = [] }: TenantFile): Promise<FieldErrors> => {
  await lockStatusSet(tx, tenant.id)
  const kept = new Set(statuses.map(({ key }) => key))
  const gone = [...(await findStatuses(tx, tenant.id)).keys()].filter(key => !kept.has(key))
  const used = await findUsedKeys(tx, tenant.id, gone)
  const these = used.length > 1 ? 'these statuses' : 'this status'
  return used.length > 0 ? { statuses: [`The set lacks ${used.join(', ')}: orders have ${these}.`] } : {}
}

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
