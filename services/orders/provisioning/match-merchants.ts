import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { MerchantsFile } from './tenant-file.ts'

type Entry = MerchantsFile['merchants'][number]

/** A merchant as stored. */
interface StoredMerchant {
  readonly merchant_id: string
  readonly email: string
}

export const normalizeEmail = ({ email }: Pick<Entry, 'email'>): string => email.toLowerCase()

/**
 * Finds the stored row of each merchant of a file: with its `id`, else with the e-mail address that it `was` or has;
 * undefined: new.
 */
export const matchMerchants = <Row extends StoredMerchant>(
  entries: readonly Entry[],
  stored: readonly Row[],
): (Row | undefined)[] => {
  const ofAddress = new Map(stored.map(row => [row.email, row]))
  return entries.map(entry => {
    if (entry.id !== undefined) return stored.find(row => row.merchant_id === String(entry.id))
    return ofAddress.get(entry.was?.toLowerCase() ?? '') ?? ofAddress.get(normalizeEmail(entry))
  })
}

/** Adds errors for an unknown `id` or `was`, a merchant that appears twice, and an e-mail address of another merchant. */
export const findMatchErrors = (entries: readonly Entry[], stored: readonly StoredMerchant[]): FieldErrors => {
  const matches = matchMerchants(entries, stored)
  const errors: FieldErrors = {}
  for (const [m, entry] of entries.entries()) {
    const match = matches[m]
    const holder = stored.find(row => row.email === normalizeEmail(entry))
    const first = match ? matches.indexOf(match) : m
    if (!match && entry.id !== undefined)
      errors[`merchants.${m}.id`] = [`There is no merchant ${entry.id}: a new one has no id.`]
    else if (!match && entry.was !== undefined)
      errors[`merchants.${m}.was`] = [`There is no merchant ${entry.was}: a new one has no "was".`]
    else if (first < m) errors[`merchants.${m}`] = [`This is the merchant of merchants.${first}.`]
    else if (holder && holder !== match)
      errors[`merchants.${m}.email`] = [`Merchant ${holder.merchant_id} has the e-mail address ${holder.email}.`]
  }
  return errors
}
