import type { City } from './city.ts'
import type { Named, Near, PlaceIndex, Spend } from './place-index.ts'
import { wordKinds } from './place-words.ts'
import { writeSound } from './spelling.ts'

type Kind = 'name' | 'number' | keyof typeof wordKinds

interface Word {
  readonly text: string
  readonly kind: Kind
}

export interface Match {
  readonly names: readonly Named[]
  readonly words: readonly Word[]
  readonly start: number
  readonly end: number
}

export type Part = ReturnType<typeof readPart>

const kinds = new Map(
  Object.entries(wordKinds).flatMap(([kind, words]) =>
    words.split(' ').map(word => [writeSound(word), kind as keyof typeof wordKinds] as const),
  ),
)

const longestWord = 40

export const readWord = (text: string): Word => {
  const kind = /^[0-9]/.test(text) ? 'number' : text.length > longestWord ? undefined : kinds.get(writeSound(text))
  return { text, kind: kind ?? 'name' }
}

export const isFiller = ({ kind }: Word): boolean => kind === 'number' || kind === 'filler' || kind === 'district'

const joinWords = (words: readonly Word[], start: number, end: number): string =>
  words
    .slice(start, end)
    .map(({ text }) => text)
    .join('')

/** Returns true if a street's name ends here, as in "Galle | Road" or "Galle | Main Street". */
const isStreet = (words: readonly Word[], end: number): boolean =>
  words[end]?.kind === 'street' || (words[end]?.kind === 'ofStreet' && words[end + 1]?.kind === 'street')

const isWhole = (words: readonly Word[], start: number, end: number): boolean =>
  words.slice(0, start).every(isFiller) && words.slice(end).every(isFiller)

/**
 * Keeps only the states before "district", if there are any: "Galle District" means no city, and "Colombo District"
 * means no numbered district.
 */
const matchAt = (words: readonly Word[], names: readonly Named[], start: number, end: number): Match => {
  const states = words[end]?.kind === 'district' ? names.filter(({ state }) => state) : []
  return { names: states.length > 0 ? states : names, words: words.slice(start, end), start, end }
}

export const listCities = ({ names }: Match): City[] => [...new Set(names.flatMap(({ city }) => city ?? []))]

/** Returns false for words such as "Fort", which many cities have. */
export const isTown = ({ words }: Match): boolean => words.some(({ kind }) => kind === 'name')

/** Returns true for a name that is often part of another: "Hali Ella" is not Ella. */
export const isShort = ({ names }: Match): boolean => names.some(({ plain }) => plain.length < 5)

/** Finds the places that a part names exactly or, if there are none, nearly. */
export const readPart = (words: readonly Word[], index: PlaceIndex, spend: Spend) => {
  const { matches: exact, streets } = findNames(words, index)
  const near = exact.length > 0 ? undefined : findNear(words, streets, index, spend)
  const matches = near?.isLikely ? [near] : exact
  const endOfStreet = words.findLastIndex(({ kind }) => kind === 'street')
  const isUnknown = ({ kind }: Word, at: number) =>
    kind === 'name' && at > endOfStreet && !matches.some(({ start, end }) => at >= start && at < end)
  // No name, street or number explains this word: it may name a town that is not served. -1: there is no such word.
  const lastUnknown = words.findLastIndex(isUnknown)
  const named = matches.filter(match => listCities(match).length > 0)
  const isClosing = (match: Match) => lastUnknown < 0 || (!near && match.end > lastUnknown && !isShort(match))
  return {
    /** Lists the cities, from the left. */
    named,
    /** Lists the states and numbered districts. */
    broad: matches.filter(match => !named.includes(match)).flatMap(({ names }) => names),
    /** Lists the cities at the end of the part. */
    towns: named
      .filter(match => isTown(match) && isClosing(match))
      .slice(-1)
      .flatMap(listCities),
    /** Lists the cities named only by a street or by a near spelling. */
    similar: [...(near?.near ?? []).flatMap(({ named }) => named.city ?? []), ...streets.flatMap(listCities)],
    lastUnknown,
  }
}

/** Finds the places that a part names exactly, from the left, and the places that only name a street. */
export const findNames = (words: readonly Word[], index: PlaceIndex): { matches: Match[]; streets: Match[] } => {
  const all: Match[] = []
  for (let start = 0; start < words.length; start++) {
    const found = findLongest(words, start, index)
    if (!found) continue
    all.push(found)
    start = found.end - 1
  }
  const isOfStreet = (match: Match): boolean => {
    if (match.names.some(({ plain }) => /[0-9]$/.test(plain))) return false
    const next = all.find(({ start }) => start === match.end)
    return isStreet(words, match.end) || (next !== undefined && isOfStreet(next))
  }
  const { matches = [], streets = [] } = Object.groupBy(all, match => (isOfStreet(match) ? 'streets' : 'matches'))
  return { matches, streets }
}

/** A shorter name must be spelt exactly or stand alone: common words may sound like it. */
const minLength = 5

const findLongest = (words: readonly Word[], start: number, index: PlaceIndex): Match | undefined => {
  if (words[start]?.kind === 'number') return undefined
  for (let end = Math.min(words.length, start + index.maxWords); end > start; end--) {
    const plain = joinWords(words, start, end)
    const names = index.findNamed(plain)
    if (plain.length >= minLength || isWhole(words, start, end) || names.some(named => named.plain === plain))
      if (names.length > 0) return matchAt(words, names, start, end)
  }
  return undefined
}

/**
 * Limits how far a name may be misspelt: by a vowel or a swap of letters; a long name, which few towns resemble, by a
 * consonant.
 */
const limitDistance = ({ sound }: Named): number => (sound.length < 10 ? 0.8 : 1.8)
/** Names that are only slightly farther than the nearest may be meant as well. */
const almostAsNear = 0.15

interface NearMatch extends Match {
  readonly near: readonly Near[]
  readonly isLikely: boolean
}

/** Finds the words of a part, except those of `streets`, that are nearest to a name; prefers the later of equals. */
const findNear = (
  words: readonly Word[],
  streets: readonly Match[],
  index: PlaceIndex,
  spend: Spend,
): NearMatch | undefined => {
  let best: NearMatch | undefined
  let least = 1
  for (const [start, end] of listWindows(words)) {
    if (streets.some(street => street.start < end && start < street.end)) continue
    const plain = joinWords(words, start, end)
    const near = index.findNear(plain, spend)
    const [nearest] = near
    if (!nearest) continue
    const share = nearest.distance / Math.max(plain.length, nearest.named.sound.length)
    if (share >= least) continue
    least = share
    const close = near.filter(({ distance }) => distance < nearest.distance + almostAsNear).map(({ named }) => named)
    const same = close.filter(({ sound }) => sound === nearest.named.sound)
    const names = same.some(({ city }) => city) ? close : same
    const isLikely = nearest.distance <= limitDistance(nearest.named)
    best = { ...matchAt(words, names, start, end), near, isLikely }
  }
  return best
}

const maxWindows = 16

const listWindows = (words: readonly Word[]): [start: number, end: number][] => {
  const windows: [number, number][] = []
  for (let end = words.length; end > 0; end--)
    for (let start = end - 1; start >= Math.max(0, end - 3) && windows.length < maxWindows; start--) {
      const [first, ...rest] = words.slice(start, end)
      const isName = first?.kind !== 'number' && rest.every(({ kind, text }) => kind !== 'number' || text.length < 3)
      const isPlace = words.slice(start, end).every(({ kind }) => kind !== 'street')
      if (isName && isPlace && !words.slice(start, end).every(isFiller) && !isStreet(words, end))
        windows.push([start, end])
    }
  return windows
}
