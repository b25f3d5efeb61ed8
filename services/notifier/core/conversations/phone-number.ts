import { identifyPerson, normalisePhone, twins } from '@courier/shared/phone-number.ts'
import {
  type CountryCallingCode,
  getCountries,
  getCountryCallingCode,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'
import { isUserId } from '../messaging-api/user-id.ts'
import type { Person } from './conversation.ts'

/** Returns a caching `normalisePhone` for many messages of a tenant: parsing is slow. */
export const rememberPhones = (country: string): ((text: string) => string | undefined) => {
  const known = new Map<string, string | undefined>()
  return text => {
    if (!known.has(text)) known.set(text, normalisePhone(text, country))
    return known.get(text)
  }
}

/** Returns the items with recipients in our spelling. */
export const identifyRecipients = <Item extends { readonly recipient: string }>(items: readonly Item[]): Item[] =>
  items.map(item => ({ ...item, recipient: identifyPerson(item.recipient) }))

export const listSpellings = (digits: string): string[] => {
  const person = identifyPerson(digits)
  const twin = twins.find(({ other }) => other.test(person))
  return twin ? [person, person.replace(twin.other, twin.otherName)] : [person]
}

/** Returns each person once for every spelling of the number. */
export const listSpelt = <P extends Person>(people: readonly P[]): P[] =>
  people.flatMap(person => listSpellings(person.recipient).map(recipient => ({ ...person, recipient })))

const countriesByCode = Map.groupBy(getCountries(), country => getCountryCallingCode(country))

/** Returns the country of E.164 digits without the plus, or of a user id; undefined if no single one has the digits. */
export const findPhoneCountry = (digits: string): string | undefined => {
  if (isUserId(digits)) return digits.slice(0, 2)
  for (const length of [1, 2, 3]) {
    const countries = countriesByCode.get(digits.slice(0, length) as CountryCallingCode)
    if (!countries) continue
    // Skips parsing where a code has one country: parsing is slow, and most codes have one.
    return countries.length === 1 ? countries[0] : parsePhoneNumberFromString(`+${digits}`)?.country
  }
  return undefined
}
