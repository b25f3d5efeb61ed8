import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  Metadata,
  parseIncompletePhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'

/** Matches the separator of two numbers in one field; each has at least six digits. */
const separator = /[/,;|&\n]|\s(?:or|and)\s/i
const minDigits = 6

const holdsSeveral = (phone: string): boolean =>
  phone.split(separator).filter(part => toInternational(part).length > minDigits).length > 1

/** Returns + and the digits of a phone number, including Arabic and full-width digits. */
const toInternational = (phone: string): string => parseIncompletePhoneNumber(`+${phone}`)

/** Returns true if the number is spelt as numbers of that country usually are. */
export const isUsualPhone = (phone: string, country: string): boolean =>
  isPlain(phone, country) || isPlain(phone.replace(/[ ().-]/g, ''), country)

/**
 * Says why a message cannot reach a phone number of a recipient in `country`; undefined if it can. The check is costly.
 */
export const phoneProblem = (phone: string, country: string): string | undefined => {
  if (holdsSeveral(phone))
    return 'The customer phone field seems to hold two numbers, and a message reaches neither. Give the second as customer_secondary_phone.'
  if (isValid(phone, country) || isValid(toInternational(phone))) return undefined
  return `The customer phone field is no phone number of ${country} or another country: no message can reach it.`
}

const isValid = (phone: string, country?: string): boolean =>
  parsePhoneNumberFromString(phone, country as CountryCode | undefined)?.isValid() ?? false

/**
 * Recognizes the usual spellings of a country's numbers by their length: the parser takes a hundred times as long for
 * the same verdict.
 */
const isPlain = (phone: string, country: string): boolean => {
  const { prefixes, lengths } = findSpelling(country)
  return (
    /^\+?[0-9]+$/.test(phone) &&
    prefixes.some(
      prefix =>
        phone.startsWith(prefix) && phone[prefix.length] !== '0' && lengths.includes(phone.length - prefix.length),
    )
  )
}

const spellings = new Map<string, ReturnType<typeof readSpelling>>()

const findSpelling = (country: string) => {
  const known = spellings.get(country)
  if (known) return known
  const spelling = readSpelling(country)
  spellings.set(country, spelling)
  return spelling
}

const readSpelling = (country: string): { prefixes: string[]; lengths: number[] } => {
  if (!isSupportedCountry(country)) return { prefixes: [], lengths: [] }
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const lengths = metadata.numberingPlan?.possibleLengths() ?? []
  const code = getCountryCallingCode(country)
  const isPrefix = (prefix: string): boolean =>
    lengths.every(
      length => parsePhoneNumberFromString(prefix + '7'.repeat(length), country)?.nationalNumber.length === length,
    )
  return { prefixes: ['', '0', code, `+${code}`, `00${code}`].filter(isPrefix), lengths }
}
