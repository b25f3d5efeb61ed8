import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  isSupportedCountry,
  Metadata,
  type NumberingPlan,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'

/** Is the most digits of a number with the prefix of a call abroad. Longer texts hold no number, or several. */
const maxDigits = 20

/** Returns E.164 digits without the plus; undefined if the digits are no number of `country`, or without it of any. */
export const parseDigits = (digits: string, country?: string): string | undefined => {
  const international = readInternational(digits)
  if (international !== undefined) return international
  if (digits.length > maxDigits) return undefined
  const found = parsePhoneNumberFromString(digits, country as CountryCode | undefined)
  const abroad = digits.startsWith('00') ? parsePhoneNumberFromString(`+${digits.slice(2)}`) : undefined
  // Countries call abroad with other prefixes than 00, too, and people write 00 everywhere.
  if (abroad?.isValid() && (!found?.isValid() || abroad.country === country)) return abroad.number.slice(1)
  if (!found?.isPossible()) return undefined
  // The parser may strip one 0 after the other of a number that nobody has.
  return parsePhoneNumberFromString(found.number)?.number === found.number ? found.number.slice(1) : undefined
}

/** Reads a plus and the digits of a number of any country by their count; undefined: parse it. */
const readInternational = (digits: string): string | undefined => {
  if (!digits.startsWith('+')) return undefined
  for (const length of [1, 2, 3]) {
    const code = digits.slice(1, length + 1)
    if (digits[length + 1] !== '0' && lengthsByCode.get(code)?.includes(digits.length - length - 1))
      return digits.slice(1)
  }
  return undefined
}

/**
 * Reads the digits of a number of `country`, or with a plus of any country, by their count. The parser gives the same
 * result for a hundred times the cost.
 */
export const readUsual = (digits: string, country: string): string | undefined => {
  if (!/^[+]?[0-9]+$/.test(digits)) return undefined
  const { code, signed, prefixes, lengths } = findSpelling(country)
  // The country code may stand before a shorter number: the parser decides.
  if (!prefixes.includes(code) && digits.startsWith(code) && lengths.includes(digits.length - code.length))
    return undefined
  let found: string | undefined
  for (const prefix of digits.startsWith('+') ? signed : prefixes) {
    const national = digits.length - prefix.length
    if (!lengths.includes(national) || digits[prefix.length] === '0' || !digits.startsWith(prefix)) continue
    if (found !== undefined) return undefined
    found = code + digits.slice(prefix.length)
  }
  return found
}

/** Lists the spellings of E.164 digits that `readUsual` reads; none for a number of another country. */
export const spellUsual = (number: string, country: string): string[] => {
  const { code, signed, prefixes } = findSpelling(country)
  const spellings = [...signed, ...prefixes].map(prefix => prefix + number.slice(code.length))
  return spellings.filter(spelling => readUsual(spelling, country) === number)
}

const findPlan = (country: CountryCode) => {
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  return metadata.numberingPlan as (NumberingPlan & { nationalPrefixForParsing(): string | undefined }) | undefined
}

const findLengths = (country: CountryCode): number[] => findPlan(country)?.possibleLengths() ?? []

/** Holds the counts of digits that the numbers of all countries with a country code have behind it. */
const lengthsByCode = new Map(
  [...Map.groupBy(getCountries(), country => getCountryCallingCode(country) as string)].map(
    ([code, [first, ...others]]) => [
      code,
      findLengths(first as CountryCode).filter(length => others.every(other => findLengths(other).includes(length))),
    ],
  ),
)

interface Spelling {
  readonly code: string
  /** Lists what may stand before a national number, and the same for numbers with a plus. */
  readonly prefixes: readonly string[]
  readonly signed: readonly string[]
  readonly lengths: readonly number[]
}

const spellings = new Map<string, Spelling>()

const findSpelling = (country: string): Spelling => {
  const known = spellings.get(country)
  if (known) return known
  const spelling = readSpelling(country)
  spellings.set(country, spelling)
  return spelling
}

/** Lists the rules for a national prefix, as the parser writes them, that change nothing but that prefix. */
const plainRules: readonly (string | undefined)[] = [undefined, '0', '1', '0|180020']

const readSpelling = (country: string): Spelling => {
  if (!isSupportedCountry(country)) return { code: '', prefixes: [], signed: [], lengths: [] }
  const plan = findPlan(country)
  const lengths = plan?.possibleLengths() ?? []
  const code = getCountryCallingCode(country)
  const isPrefix = (prefix: string): boolean =>
    lengths.every(
      length => parsePhoneNumberFromString(prefix + '7'.repeat(length), country)?.nationalNumber.length === length,
    )
  const local = plainRules.includes(plan?.nationalPrefixForParsing()) ? ['', '0', code, `00${code}`] : []
  return { code, prefixes: local.filter(isPrefix), signed: [`+${code}`].filter(isPrefix), lengths }
}
