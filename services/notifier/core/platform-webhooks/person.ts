import { type Json, matchText, toRecord } from '../messaging-api/read-json.ts'
import { userIdForm } from '../messaging-api/user-id.ts'
import { readId, readText } from './json.ts'

/** Names a person as a webhook does: by phone number, by user id, or by both. */
export interface NamedPerson {
  readonly phone?: string | undefined
  readonly userId?: string | undefined
  readonly username?: string | undefined
}

export const readDigits = (value: unknown): string | undefined => /^\+?(\d{5,20})$/.exec(readId(value) ?? '')?.[1]

/**
 * Reads a person from fields for numbers and for user ids, and from their entry in `contacts`; undefined if nothing
 * names one. Some webhooks have a user id in the field of a number.
 */
export const readPerson = (
  numbers: readonly unknown[],
  ids: readonly unknown[],
  contacts: readonly Json[] = [],
): NamedPerson | undefined => {
  const given = [...numbers, ...ids].filter(id => id !== undefined)
  const { wa_id, user_id, parent_user_id, profile } = findContact(contacts, given)
  const phone = [...numbers, wa_id].map(readDigits).find(digits => digits !== undefined)
  const userId = [...numbers, ids[0], wa_id, user_id, ...ids, parent_user_id]
    .map(id => matchText(id, userIdForm))
    .find(id => id !== undefined)
  if (phone === undefined && userId === undefined) return undefined
  return { phone, userId, username: readText(toRecord(profile).username, 100) }
}

/** Finds the entry of the person with one of the ids; if nothing else names the person, a single entry does. */
const findContact = (contacts: readonly Json[], ids: readonly unknown[]): Json => {
  const isNamed = (id: unknown): boolean => id !== undefined && ids.includes(id)
  const entry = contacts.find(({ wa_id, user_id }) => isNamed(wa_id) || isNamed(user_id))
  return entry ?? (ids.length === 0 && contacts.length === 1 ? (contacts[0] as Json) : {})
}
