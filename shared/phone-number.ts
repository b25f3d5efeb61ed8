import { parseDigits, readUsual, spellUsual } from './phone-digits.ts'

/** Describes the phone number that a text holds. */
export interface PhoneReading {
  /**
   * Is the same for every spelling of a number: people are compared and looked up by it. It is `+` and E.164 digits, or
   * the digits of what is no number, or any other text as it is.
   */
  readonly key: string
  /** Is E.164 digits without the plus. undefined: the text holds no phone number, or nobody can say which. */
  readonly number: string | undefined
  /** Is true if digits are left, such as a second number; `number` is the first then. An extension does not count. */
  readonly holdsMore: boolean
}

/**
 * Reads a phone number as people type it and sheets export it: with digits of any script, separators, invisible marks,
 * an extension, a word or a formula around it. `country` completes a number without a country code.
 */
export const readPhone = (text: string, country: string): PhoneReading => {
  const usual = readUsual(text, country) ?? (tidy.test(text) ? readUsual(text.replace(blanks, ''), country) : undefined)
  if (usual !== undefined) return { key: `+${identifyPerson(usual)}`, number: usual, holdsMore: false }
  const parts = splitParts(text)
  const read = readParts(parts, country)
  if (read.number !== undefined) return { key: `+${identifyPerson(read.number)}`, ...read }
  const [only, ...others] = parts.flat()
  return { key: only && others.length === 0 ? only.digits : text.replace(controls, '').trim(), ...read }
}

/** Lists the usual spellings of what has this key, the key first. No other key has one of them. */
export const spellKey = (key: string, country: string): string[] => [
  ...new Set([key, ...(key.startsWith('+') ? spellUsual(key.slice(1), country) : [])]),
]

/** Match the usual separators; texts with no others are read at a tenth of the cost. */
const tidy = /^[0-9 ()+-]{1,50}$/
const blanks = /[ ()-]+/g

/** Returns E.164 digits without the plus; undefined if the text does not hold exactly one phone number. */
export const normalisePhone = (text: string, country: string): string | undefined => {
  const { number, holdsMore } = readPhone(text, country)
  return holdsMore ? undefined : number
}

/** Returns the digits of a text as 0 to 9, whatever their script. */
export const readDigits = (text: string): string => toAscii(text).replace(/[^0-9]+/g, '')

/** Lists the numbers with two spellings (docs/contributors/messaging-api.md#recipient); `name` is our spelling. */
export const twins: { pattern: RegExp; name: string; other: RegExp; otherName: string }[] = [
  { pattern: /^521(\d{10})$/, name: '52$1', other: /^52(\d{10})$/, otherName: '521$1' },
  // No area code of Brazil contains a 0: 90 is the prefix of a collect call.
  {
    pattern: /^55([1-9][1-9])([6-9]\d{7})$/,
    name: '55$19$2',
    other: /^55([1-9][1-9])9([6-9]\d{7})$/,
    otherName: '55$1$2',
  },
]

/** Returns E.164 digits without the plus, the same for both spellings of a number that has two. */
export const identifyPerson = (digits: string): string => {
  if (!digits.startsWith('5')) return digits
  const twin = twins.find(({ pattern }) => pattern.test(digits))
  return twin ? digits.replace(twin.pattern, twin.name) : digits
}

/** Holds the digits of a piece of a text between separators of numbers, and its groups of digits between blanks. */
interface Piece {
  /** Begins with a plus if the piece does. */
  readonly digits: string
  readonly groups: readonly string[]
}

/** Bounds what is read: no field that holds a phone number is longer. */
const maxLength = 100
/** Is the least digits of a second number; an extension or a house number has fewer. */
const minDigits = 6

const marks = /\p{Cf}|\ufe0f|\u20e3/gu
/** Matches what Postgres refuses in a text, and line ends. */
const controls = /[\p{Cc}\p{Cs}]/gu
const words = /[\p{L}\p{M}\p{Extended_Pictographic}#]+/u
const separators = /[/\\,;|&\t\n\r\u060c\u061b\u2044\u2215\u3001\uff0c\uff0f\uff1b\uff5c]|(?=\+)/
/** Matches a number that a sheet has rounded: its last digits are lost. */
const scientific = /^[^0-9]*[0-9](?:[.,][0-9]*)?e\+?[0-9]+[^0-9]*$/i
const wholeFloat = /^([^0-9]*[0-9]{6,})[.,]0[^0-9]*$/

/** Splits a text at words, and each part at separators of numbers. Leaves out what has no digit. */
const splitParts = (text: string): Piece[][] => {
  if (text.length > maxLength) return []
  const plain = toAscii(text)
  if (scientific.test(plain)) return []
  const pieces = plain.replace(wholeFloat, '$1').split(words)
  return pieces.map(part => part.split(separators).flatMap(toPiece)).filter(part => part.length > 0)
}

const toPiece = (text: string): Piece | [] => {
  const digits = text.replace(/[^0-9]+/g, '')
  if (digits === '') return []
  // A plus before a 0 means nothing: no country code begins with 0.
  const hasPlus = text.startsWith('+') && !digits.startsWith('0')
  const groups = text.split(/\s+/).flatMap(group => group.replace(/[^0-9]+/g, '') || [])
  return { digits: hasPlus ? `+${digits}` : digits, groups }
}

const toAscii = (text: string): string =>
  /^[\x20-\x7e]*$/.test(text)
    ? text
    : text
        .replace(marks, '')
        .replaceAll(/[\uff0b\ufe62]/g, '+')
        .replace(/\p{Nd}/gu, toDigit)

const digitValues = new Map<string, string>()

/** Unicode lists the ten digits of a script in a row; some rows follow each other. */
const toDigit = (digit: string): string => {
  const known = digitValues.get(digit)
  if (known !== undefined) return known
  const code = digit.codePointAt(0) as number
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--
  const value = String((code - first) % 10)
  digitValues.set(digit, value)
  return value
}

type Found = Omit<PhoneReading, 'key'>

const none: Found = { number: undefined, holdsMore: false }

/** Reads the first number. Digits after a word are no part of it: they are an extension, or another number. */
const readParts = (parts: readonly Piece[][], country: string): Found => {
  const isAlone = parts.length === 1 && parts[0]?.length === 1
  for (const [index, part] of parts.entries()) {
    const found = readPart(part, country, isAlone)
    if (found.number === undefined) continue
    const isOther = (other: readonly Piece[], place: number) => place !== index && other.some(isLong)
    return { ...found, holdsMore: found.holdsMore || parts.some(isOther) }
  }
  return none
}

const isLong = ({ digits }: Piece): boolean => digits.length >= minDigits

/** Reads pieces as one number, as in 077/1234567, unless one of them is a number by itself. */
const readPart = (pieces: readonly Piece[], country: string, isAlone: boolean): Found => {
  const [first] = pieces as [Piece, ...Piece[]]
  if (pieces.length === 1) return readPiece(first, country, isAlone)
  const whole = isLong(first) ? readPiece(first, country, false) : none
  if (whole.number === undefined && pieces.filter(isLong).length < 2) {
    const number = readUsual(pieces.map(({ digits }) => digits).join(''), country)
    if (number !== undefined) return { number, holdsMore: false }
  }
  const numbers = pieces.filter(isLong).map(piece => readPiece(piece, country, false).number)
  return { number: numbers.find(number => number !== undefined), holdsMore: true }
}

const readPiece = ({ digits, groups }: Piece, country: string, isAlone: boolean): Found => {
  const number =
    readUsual(digits, country) ??
    parseDigits(digits, country) ??
    (isAlone && !digits.startsWith('0') ? parseDigits(`+${digits}`) : undefined)
  return number === undefined ? readGroups(groups, country) : { number, holdsMore: false }
}

/** Reads the first of two numbers with only a blank between them. */
const readGroups = (groups: readonly string[], country: string): Found => {
  const starts = groups.map((_, index) => groups.slice(0, index + 1).join(''))
  for (const digits of [...starts, ...groups]) {
    const number = digits.length >= minDigits ? readUsual(digits, country) : undefined
    if (number !== undefined) return { number, holdsMore: true }
  }
  return none
}
