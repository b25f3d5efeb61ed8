import { readUsual } from '@courier/shared/phone-digits.ts'
import type { PhoneReading } from '@courier/shared/phone-number.ts'
import { parsePhoneNumberFromString } from 'libphonenumber-js'

/** Returns true if the text holds one number of that country, by the count of its digits. */
export const isNationalPhone = ({ number, holdsMore }: PhoneReading, country: string): boolean =>
  number !== undefined && !holdsMore && readUsual(`+${number}`, country) !== undefined

/**
 * Says why a message cannot reach a phone number of a recipient in `country`; undefined if it can. The check is costly.
 */
export const phoneProblem = ({ number, holdsMore }: PhoneReading, country: string): string | undefined => {
  if (holdsMore)
    return 'The customer phone field seems to hold two numbers, and a message reaches neither. Give the second as customer_secondary_phone.'
  if (number !== undefined && parsePhoneNumberFromString(`+${number}`)?.isValid()) return undefined
  return `The customer phone field is no phone number of ${country} or another country: no message can reach it.`
}
