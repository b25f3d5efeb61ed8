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
  const typed = parsePhoneNumberFromString(digits, country as CountryCode | undefined)
  const abroad = digits.startsWith('00') ? parsePhoneNumberFromString(`+${digits.slice(2)}`) : undefined
  // Countries call abroad with other prefixes than 00, too, and people write 00 everywhere.
  const isAbroad = abroad?.isValid() && (!typed?.isValid() || abroad.country === country)
  const found = isAbroad ? abroad : typed
  if (!found?.isPossible()) return undefined
  // The parser may strip one 0 after the other of a number that nobody has.
  return parsePhoneNumberFromString(found.number)?.number === found.number ? found.number.slice(1) : undefined
}

/**
 * Reads a plus and the digits of a number of any country by their count; undefined: parse it, as where the prefix of a
 * call within the country stands behind its code.
 */
const readInternational = (digits: string): string | undefined => {
  if (!digits.startsWith('+')) return undefined
  for (const length of [1, 2, 3]) {
    const national = digits.slice(length + 1)
    const plan = plansByCode.get(digits.slice(1, length + 1))
    if (plan?.lengths.includes(national.length)) return plan.prefix.exec(national)?.[0] ? undefined : digits.slice(1)
  }
  return undefined
}

/**
 * Reads the digits of a number of `country`, with or without a plus and its code, by their count. The parser gives the
 * same result for a hundred times the cost.
 */
export const readUsual = (digits: string, country: string): string | undefined => {
  if (!/^[+]?[0-9]+$/.test(digits)) return undefined
  const spelling = findSpelling(country)
  const { code, prefixes, lengths, callAbroad } = spelling
  if (digits.startsWith('+')) return code && digits.startsWith(code, 1) ? readInternational(digits) : undefined
  if (callAbroad?.test(digits) || mayHoldCode(digits, spelling)) return undefined
  let found: string | undefined
  for (const prefix of prefixes) {
    const national = digits.length - prefix.length
    if (!lengths.includes(national) || digits[prefix.length] === '0' || !digits.startsWith(prefix)) continue
    if (found !== undefined) return undefined
    found = code + digits.slice(prefix.length)
  }
  return found
}

/** Returns true if the country code may stand before a shorter number. */
const mayHoldCode = (digits: string, { code, prefixes, lengths }: Spelling): boolean =>
  digits.startsWith(code) &&
  (digits[code.length] === '0' || (!prefixes.includes(code) && lengths.includes(digits.length - code.length)))

/** Lists the spellings of E.164 digits, besides those with a plus, that `readUsual` reads; none of another country. */
export const spellUsual = (number: string, country: string): string[] => {
  const { code, prefixes } = findSpelling(country)
  const spellings = prefixes.map(prefix => prefix + number.slice(code.length))
  return spellings.filter(spelling => readUsual(spelling, country) === number)
}

const findPlan = (country: CountryCode) => {
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  return metadata.numberingPlan as (NumberingPlan & { nationalPrefixForParsing(): string | undefined }) | undefined
}

const findLengths = (country: CountryCode): number[] => findPlan(country)?.possibleLengths() ?? []

/** Matches a 0, and what the parser may take off the national digits of these countries; an empty match is none. */
const makePrefix = (countries: readonly CountryCode[]): RegExp => {
  const rules = countries.map(each => findPlan(each)?.nationalPrefixForParsing() ?? '0')
  return new RegExp(`^(?:${[...new Set(['0', ...rules])].join('|')})`)
}

/** Holds, by country code, the counts of digits that the numbers of all its countries have, and their prefixes. */
const plansByCode = new Map(
  [...Map.groupBy(getCountries(), country => getCountryCallingCode(country) as string)].map(([code, countries]) => {
    const [first = [], ...others] = countries.map(findLengths)
    const lengths = first.filter(length => others.every(other => other.includes(length)))
    return [code, { lengths, prefix: makePrefix(countries) }]
  }),
)

const callsAbroad = new Map<string, RegExp>(
  getCountries().map(country => [country, new RegExp(`^(?!00)(?:${findPlan(country)?.IDDPrefix()})`)]),
)

interface Spelling {
  readonly code: string
  /** Lists what may stand before a national number. */
  readonly prefixes: readonly string[]
  readonly lengths: readonly number[]
  /** Matches the digits of a call abroad, but for 00. */
  readonly callAbroad?: RegExp | undefined
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
  if (!isSupportedCountry(country)) return { code: '', prefixes: [], lengths: [] }
  const plan = findPlan(country)
  const lengths = plan?.possibleLengths() ?? []
  const code = getCountryCallingCode(country)
  const isPrefix = (prefix: string): boolean =>
    lengths.every(
      length => parsePhoneNumberFromString(prefix + '7'.repeat(length), country)?.nationalNumber.length === length,
    )
  const local = plainRules.includes(plan?.nationalPrefixForParsing()) ? ['', '0', code, `00${code}`] : []
  return { code, prefixes: local.filter(isPrefix), lengths, callAbroad: callsAbroad.get(country) }
}
