import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  Metadata,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'

/** Between two numbers in one field; each has six digits at least. */
const separator = /[/,;|&\n]|\s(?:or|and)\s/i
const minDigits = 6

const digitsOf = (text: string): string => text.replace(/\D/g, '')

const holdsSeveral = (phone: string): boolean =>
  phone.split(separator).filter(part => digitsOf(part).length >= minDigits).length > 1

/**
 * Whether it is spelt as numbers of that country usually are: the parser takes a hundred times as long for the same verdict.
 */
export const isUsualPhone = (phone: string, country: string): boolean => {
  const spelling = spellingOf(country)
  return spelling.test(phone) || spelling.test(phone.replace(/[ ().-]/g, ''))
}

/** What is wrong with a phone number of a recipient in `country`; undefined for one that a message can reach. Costly. */
export const phoneProblem = (phone: string, country: string): string | undefined => {
  if (holdsSeveral(phone))
    return 'The customer phone field seems to hold two numbers, and a message reaches neither. Give the second as customer_secondary_phone.'
  if (isValid(phone, country) || isValid(`+${digitsOf(phone)}`)) return undefined
  return `The customer phone field is no phone number of ${country} or another country: no message can reach it.`
}

const isValid = (phone: string, country?: string): boolean =>
  parsePhoneNumberFromString(phone, country as CountryCode | undefined)?.isValid() ?? false

const spellings = new Map<string, RegExp>()
/** Matches nothing. */
const none = /^(?!)/

const spellingOf = (country: string): RegExp => {
  const known = spellings.get(country)
  if (known) return known
  const spelling = isSupportedCountry(country) ? readSpelling(country) : none
  spellings.set(country, spelling)
  return spelling
}

/** A prefix, then as many digits as the country's numbers have. */
const readSpelling = (country: CountryCode): RegExp => {
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const lengths = metadata.numberingPlan?.possibleLengths() ?? []
  if (lengths.length === 0) return none
  const code = getCountryCallingCode(country)
  const isPrefix = (prefix: string): boolean =>
    lengths.every(
      length => parsePhoneNumberFromString(prefix + '7'.repeat(length), country)?.nationalNumber.length === length,
    )
  const prefixes = ['', '0', code, `\\+${code}`, `00${code}`].filter(prefix => isPrefix(prefix.replace('\\', '')))
  const numbers = lengths.map(length => `[1-9]\\d{${length - 1}}`)
  return new RegExp(`^(?:${prefixes.join('|')})(?:${numbers.join('|')})$`)
}
