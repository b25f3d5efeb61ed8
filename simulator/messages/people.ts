import { createHash } from 'node:crypto'
import type { Behaviour } from '../basics/behaviour.ts'

/** See docs/contributors/messaging-api.md#people. */
export const isUserId = (text: string): boolean => /^[A-Z]{2}\.[A-Za-z0-9.]{1,132}$/.test(text)

const phones = new Map<string, string>()

/** Returns the user id of the person with a phone number: always the same one, which shows nothing of the number. */
export const toUserId = (phone: string): string => {
  if (isUserId(phone)) return phone
  const hash = createHash('sha256').update(phone).digest('hex').slice(0, 20)
  const userId = `LK.${BigInt(`0x${hash}`)}`
  phones.set(userId, phone)
  return userId
}

/** Returns the phone number of a user id that `toUserId` made; else the id. */
export const findPhone = (userId: string): string => phones.get(userId) ?? userId

/** Returns the fields that name a person; `number` and `id` are their names. */
export const writePerson = ({ people }: Behaviour, phone: string, number: string, id: string): object => {
  const userId = toUserId(phone)
  if (people === 'phones' && !isUserId(phone)) return { [number]: phone }
  if (people === 'both' && !isUserId(phone)) return { [number]: phone, [id]: userId }
  return people === 'user_ids_in_from' ? { [number]: userId } : { [id]: userId }
}

/** Builds the entry of a person in `contacts`; with user ids on, every person has a username. */
export const writeContact = (behaviour: Behaviour, phone: string, name = phone): object => ({
  profile: { name, ...(behaviour.people !== 'phones' && { username: `user${toUserId(phone).slice(-6)}` }) },
  ...writePerson(behaviour, phone, 'wa_id', 'user_id'),
})
