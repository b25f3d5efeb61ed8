import type { CityIndex } from '../../core/places/cities.ts'
import type { City } from '../../core/places/city.ts'
import { findNames, type Match, readWord } from '../../core/places/find-names.ts'
import type { Named, PlaceIndex } from '../../core/places/place-index.ts'
import { splitWords } from '../../core/places/spelling.ts'

type Words = ReturnType<typeof readWord>[]

/** Longer texts may not be read to their end. */
const maxLength = 200
/** A question, a smiley or a digit of another script is not read as a word, so nobody knows what it means. */
const readable = /^(?:[\p{L}\p{M}0-9\s.,:/#'\u2019-]|\u200c|\u200d)*$/u
/** Each letter stands for a word: n number, l single letter, w other word, s street noun. */
const houseNumber = /^[nl]*$/
const houseAndStreet = /^n[nl]*w{1,3}s$/
const maxHouseDigits = 6

/**
 * Returns true for a house number and a street, followed by nothing but the order's own city, its state or its postal
 * code. Returns false for everything else, such as another place, a phone number or a remark: staff must read it.
 */
export const isClearAddress = (text: string, city: City, cities: CityIndex): boolean => {
  const normal = text.normalize('NFKD')
  if (normal.length > maxLength || !readable.test(normal)) return false
  const index = cities.names
  const parts = splitWords(text).map(words => words.map(readWord))
  const at = parts.findIndex(words => words.some(({ kind }) => kind === 'street'))
  const part = parts[at]
  if (!part) return false
  const before = parts.slice(0, at).flat()
  const end = part.findIndex(({ kind }) => kind === 'street') + 1
  const street = part.slice(0, end)
  const places = [part.slice(end), ...parts.slice(at + 1)]
  return (
    houseNumber.test(sketch(before)) &&
    houseAndStreet.test(sketch([...before, ...street])) &&
    countDigits([...before, ...street]) <= maxHouseDigits &&
    findNames(street, index).matches.every(match => meansOwn(match, city)) &&
    places.every(words => isOwnPlace(words, city, index))
  )
}

const sketch = (words: Words): string =>
  words
    .map(({ text, kind }) => {
      if (kind === 'number') return 'n'
      if (kind === 'street') return 's'
      // Many streets are named after a person, such as Sri Sumana Mawatha.
      if (kind !== 'name' && kind !== 'ofStreet' && text !== 'sri') return '?'
      return text.length === 1 ? 'l' : 'w'
    })
    .join('')

const countDigits = (words: Words): number => words.map(({ text }) => text.replace(/[^0-9]/g, '')).join('').length

const isOwnPlace = (words: Words, city: City, index: PlaceIndex): boolean => {
  const own = findNames(words, index).matches.filter(match => meansOwn(match, city))
  return words.every(
    ({ text, kind }, at) =>
      own.some(({ start, end }) => at >= start && at < end) ||
      (kind === 'number' && index.findCoded(text).includes(city)),
  )
}

/** A name of several places is the order's own only if it names its city, or no city but its state or district. */
const meansOwn = ({ names }: Match, city: City): boolean =>
  names.some(named => named.city === city) || names.every(named => !named.city && isAround(named, city))

const isAround = ({ state, among = [] }: Named, city: City): boolean =>
  state?.id === city.state.id || among.includes(city)
