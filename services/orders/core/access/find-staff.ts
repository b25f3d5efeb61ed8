import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import type { Tx } from '../database/tables.ts'
import { findStaffName, listStaffNames } from './queries.ts'

// Finds the member of staff whom a person names, such as who has cash (docs/money.md#who-has-the-cash).

/** `id` is null for somebody with only a token of the operator. */
type Found = { kind: 'found'; id: string | null; name: string } | { kind: 'refused'; sentence: string }

interface Sought {
  readonly isFormerToo?: boolean
  /** Finds only members of staff with this role. */
  readonly role?: StaffRole
}

/** Ignores case and blanks, in which names of one person may differ. */
const fold = (name: string): string => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()

const maxSuggestions = 5

/**
 * Finds a member of staff by id or name; `isFormerToo`: also one who left. Refuses any other text, and names whom it
 * may mean.
 */
export const findPerson = async (
  tx: Tx,
  tenant: string,
  given: string,
  { isFormerToo = false, role }: Sought = {},
): Promise<Found> => {
  const exact = role ? undefined : await findStaffName(tx, tenant, given)
  if (exact) return { kind: 'found', ...exact }
  const all = await listStaffNames(tx, tenant, isFormerToo, role)
  const one = all.find(({ id, name }) => id === given || name === given)
  if (one) return { kind: 'found', ...one }
  const names = [...new Set(all.map(({ name }) => name))]
  const same = names.filter(name => fold(name) === fold(given))
  const meant = same.length === 1 ? all.find(({ name }) => name === same[0]) : undefined
  if (meant) return { kind: 'found', ...meant }
  const similar = same.length > 1 ? same : findSimilar(names, given)
  const question = similar.length > 0 ? ` Did you mean ${similar.join(' or ')}?` : ''
  const which = role ? ` with the role ${role}` : ''
  const sentence = `${same.length > 1 ? 'Several members' : 'No member'} of staff${which} ${
    same.length > 1 ? 'have' : 'has'
  } the name or id ${given}.${question}`
  return { kind: 'refused', sentence }
}

const findSimilar = (names: readonly string[], given: string): string[] => {
  const wanted = toPairs(given)
  return names
    .map(name => ({ name, share: fold(name).includes(fold(given)) ? 1 : compare(wanted, toPairs(name)) }))
    .filter(({ share }) => share > 0.55)
    .sort((a, b) => b.share - a.share)
    .slice(0, maxSuggestions)
    .map(({ name }) => name)
}

const toPairs = (name: string): Set<string> => {
  const text = ` ${fold(name)} `
  return new Set(Array.from({ length: text.length - 1 }, (_, index) => text.slice(index, index + 2)))
}

/** Returns the share of the pairs of letters that both names have. */
const compare = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  (2 * [...one].filter(pair => other.has(pair)).length) / (one.size + other.size)

/** Tells whether `by` would act on their own cash in a company that wants a second person for it (`four_eyes`). */
export const isOwnCash = async (tx: Tx, tenant: string, holder: string, by: string): Promise<boolean> =>
  holder === by && (await hasFourEyes(tx, tenant))

/** Tells whether the company wants a second person for what costs it money. */
export const hasFourEyes = async (tx: Tx, tenant: string): Promise<boolean> =>
  (await tx.client.query('select four_eyes from tenants where tenant_id = $1', [tenant])).rows[0].four_eyes
