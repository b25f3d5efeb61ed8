// Converts names of places in Latin, Sinhala or Tamil letters to their sound
// (docs/merchants/places.md#how-it-matches).

import { shortForms as pairedShortForms } from './place-words.ts'

/** Reads pairs of a sound and its letters, `k:කඛக`. */
const readPairs = (pairs: string): [sound: string, letters: string][] =>
  pairs.split(' ').map(pair => pair.split(':') as [string, string])

const mapLetters = (pairs: string): Map<string, string> =>
  new Map(readPairs(pairs).flatMap(([sound, letters]) => [...letters].map(letter => [letter, sound] as const)))

const consonants = mapLetters(
  'k:කඛக g:ගඝ c:චඡச j:ජඣஜ t:ටඨතථடத d:ඩඪදධ p:පඵෆப b:බභ m:මம y:යய n:ඤඥණනஙஞணநன r:රரற l:ලළலளழ v:වவ ' +
    's:ශෂසஷஸ h:හஹ ng:ඞඟ nj:ඦ nd:ඬඳ mb:ඹ',
)
const vowels = mapLetters('a:අආஅஆ e:ඇඈඑඒஎஏ i:ඉඊஇஈ u:උඌஉஊ o:ඔඕஒஓ ai:ඓஐ au:ඖஔ n:ං h:ඃ')
/** These signs replace the `a` that a consonant has on its own. */
const signs = mapLetters(
  'a:\u0dcf\u0bbe e:\u0dd0\u0dd1\u0dd9\u0dda\u0bc6\u0bc7 i:\u0dd2\u0dd3\u0bbf\u0bc0 u:\u0dd4\u0dd6\u0bc1\u0bc2 ' +
    'o:\u0ddc\u0ddd\u0bca\u0bcb ai:\u0ddb\u0bc8 au:\u0dde\u0bcc ru:\u0dd8\u0df2 :\u0dca\u0bcd',
)

const romanize = (text: string): string => {
  if (!/[\u0b80-\u0dff]/.test(text)) return text
  const letters = [...text]
  return letters
    .map((letter, index) => {
      const consonant = consonants.get(letter)
      if (consonant === undefined) return vowels.get(letter) ?? signs.get(letter) ?? letter
      return signs.has(letters[index + 1] ?? '') ? consonant : `${consonant}a`
    })
    .join('')
}

/** Normalization can turn one character into eighteen. */
const maxCharacters = 512
const shortForms = new Map(readPairs(pairedShortForms))

/** Splits each part of an address into words, in lower-case Latin letters, and numbers, without leading zeros. */
export const splitWords = (text: string): string[][] =>
  romanize(
    text
      .normalize('NFKD')
      .slice(0, maxCharacters)
      .replace(/[\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
      .normalize('NFC')
      .toLowerCase(),
  )
    .replace(/(^|[^a-z])([a-z])\/(?=[a-z])/g, '$1$2 ')
    .split(/[,;:|/\\()[\]\n\r\t]/)
    .map(part =>
      (part.match(/\p{L}+|[0-9]+/gu) ?? []).map(word => shortForms.get(word) ?? word.replace(/^0+(?=.)/, '')),
    )
    .map(words => words.filter(word => word !== ''))
    .reduce<string[][]>(joinNumber, [])

/** Joins a number to the part before it: "Colombo, 07" is one part. */
const joinNumber = (parts: string[][], words: string[]): string[][] => {
  const last = parts.at(-1)
  const isNumber = words.length === 1 && /^[0-9]{1,2}$/.test(words[0] ?? '')
  if (last && isNumber) last.push(...words)
  else if (words.length > 0) parts.push(words)
  return parts
}

const sameSounds = new Map(
  readPairs('cch:c ch:c gh:g kh:k sh:s th:t dh:d bh:b zh:l ee:i oo:u c:k f:p q:k w:v x:s y:i z:s'),
)

/** Returns the same sound for common variants: th or t, w or v, y or i, doubled letters, a silent h. */
export const writeSound = (word: string): string =>
  word
    .replace(/cch|[cgkstdbz]h|ee|oo|[cfqwxyz]/g, letters => sameSounds.get(letters) ?? letters)
    .replace(/([a-z])\1+/g, '$1')
    .replace(/h(?![aeiou])/g, '')

const pairs = new Map(readPairs('g:k d:t b:p j:c s:c'))

/** Returns the first consonant of a sound, the same one for those easily confused; `a` for a vowel or h. */
export const readStart = (sound: string): string => {
  const letter = sound[0] ?? ''
  return isWeak(letter) ? 'a' : (pairs.get(letter) ?? letter)
}

const isWeak = (letter: string): boolean => 'aeiouh'.includes(letter)
const isNasal = (letter: string): boolean => letter === 'm' || letter === 'n'
const isDigit = (letter: string): boolean => letter >= '0' && letter <= '9'

/** Returns the cost of a missing letter: little for letters that are hardly heard. Numbers must match. */
const weighLoss = (letter: string): number => (isDigit(letter) ? 100 : isWeak(letter) ? 0.5 : 1.5)

const weighChange = (a: string, b: string): number => {
  if (a === b) return 0
  if (isDigit(a) || isDigit(b)) return 100
  if ((pairs.get(a) ?? a) === (pairs.get(b) ?? b)) return 0.25
  return (isWeak(a) && isWeak(b)) || (isNasal(a) && isNasal(b)) ? 0.5 : 1.5
}

const swapCost = 0.6
/** Longer sounds are not compared. */
export const maxSoundLength = 40

/** Returns the distance between two sounds: mostly 1.5 for a wrong or missing consonant, 0.5 for a vowel. */
export const measureDistance = (one: string, other: string): number => {
  let before: number[] = []
  let row = [0]
  for (let j = 0; j < other.length; j++) row.push(readCost(row, j) + weighLoss(other.charAt(j)))
  for (let i = 0; i < one.length; i++) {
    const letter = one.charAt(i)
    const loss = weighLoss(letter)
    const next = [readCost(row, 0) + loss]
    for (let j = 0; j < other.length; j++) {
      const wanted = other.charAt(j)
      const changed = readCost(row, j) + weighChange(letter, wanted)
      const lost = Math.min(readCost(row, j + 1) + loss, readCost(next, j) + weighLoss(wanted))
      const isSwapped =
        j > 0 && letter === other[j - 1] && wanted === one[i - 1] && !isDigit(letter) && !isDigit(wanted)
      next.push(Math.min(changed, lost, isSwapped ? readCost(before, j - 1) + swapCost : changed))
    }
    ;[before, row] = [row, next]
  }
  return readCost(row, other.length)
}

const readCost = (costs: readonly number[], index: number): number => costs[index] as number
