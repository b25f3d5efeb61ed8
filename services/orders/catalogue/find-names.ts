import type { SuggestionBudget } from './cities.ts'
import type { Named, Near, PlaceIndex } from './place-index.ts'
import { soundOf } from './spelling.ts'

type Kind = 'name' | 'number' | 'street' | 'ofStreet' | 'district' | 'filler'

export interface Word {
  readonly text: string
  readonly kind: Kind
}

/** Where one part of an address names places. */
export interface Match {
  readonly names: readonly Named[]
  readonly start: number
  readonly end: number
  /** Nothing else is in the part but numbers and words such as "town". */
  readonly isWhole: boolean
  /** Nothing else follows in the part. */
  readonly isLast: boolean
}

const kinds = new Map<string, Kind>()
const addKind = (kind: Kind, words: string): void => {
  for (const word of words.split(' ')) kinds.set(soundOf(word), kind)
}
addKind(
  'street',
  'road rd street str st lane ln mawatha mw avenue ave av place pl terrace gardens crescent drive highway hwy expressway ' +
    'square cross para vidiya veediya patumaga viti teru patai olunkai calai',
)
addKind('ofStreet', 'main old new high lower upper station temple church')
addKind('district', 'district dist distrikkaya distrikkay mavattam')
addKind('filler', 'town city the near in at sri lanka lankava srilanka ceylon ilankai nagaraya nakaram post office')

const longestWord = 40

export const wordOf = (text: string): Word => {
  const kind = /^[0-9]/.test(text) ? 'number' : text.length > longestWord ? undefined : kinds.get(soundOf(text))
  return { text, kind: kind ?? 'name' }
}

const isFiller = ({ kind }: Word): boolean => kind === 'number' || kind === 'filler' || kind === 'district'

const plainOf = (words: readonly Word[], start: number, end: number): string =>
  words
    .slice(start, end)
    .map(({ text }) => text)
    .join('')

/** Whether a street's name ends here, as in "Galle | Road" or "Galle | Main Street". */
const isStreet = (words: readonly Word[], end: number): boolean =>
  words[end]?.kind === 'street' || (words[end]?.kind === 'ofStreet' && words[end + 1]?.kind === 'street')

const matchOf = (words: readonly Word[], names: readonly Named[], start: number, end: number): Match => {
  const isLast = words.slice(end).every(isFiller)
  // "Galle District" means no city.
  const meant = words[end]?.kind === 'district' ? names.filter(({ city }) => !city) : names
  return { names: meant, start, end, isLast, isWhole: isLast && words.slice(0, start).every(isFiller) }
}

/** The places that a part names in so many words, from the left, and those that only name a street. */
export const findNames = (words: readonly Word[], index: PlaceIndex): { matches: Match[]; streets: Match[] } => {
  const all: Match[] = []
  for (let start = 0; start < words.length; start++) {
    const found = longestAt(words, start, index)
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

/** Shorter names that only sound so are words of a language too. */
const minLength = 5

const longestAt = (words: readonly Word[], start: number, index: PlaceIndex): Match | undefined => {
  if (words[start]?.kind === 'number') return undefined
  for (let end = Math.min(words.length, start + index.maxWords); end > start; end--) {
    const plain = plainOf(words, start, end)
    const names = index.named(plain)
    if (names.length === 0) continue
    const match = matchOf(words, names, start, end)
    if (match.isWhole || plain.length >= minLength || names.some(named => named.plain === plain)) return match
  }
  return undefined
}

/** How much of a name may be wrong: without other words, where a city stands, and elsewhere. */
const shares = { alone: 0.19, last: 0.16, between: 0.12, suggested: 0.34 }
const mostDistance = 2.5
/** Names that are so little farther than the nearest may be meant as well. */
const almostAsNear = 0.15

export interface NearMatch extends Match {
  readonly near: readonly Near[]
  readonly isLikely: boolean
}

/** The words of a part, those of `streets` apart, that are nearest to a name; of the same the later. */
export const findNear = (
  words: readonly Word[],
  streets: readonly Match[],
  index: PlaceIndex,
  budget: SuggestionBudget,
): NearMatch | undefined => {
  let best: NearMatch | undefined
  let least = 1
  for (const [start, end] of windowsOf(words)) {
    if (streets.some(street => street.start < end && start < street.end)) continue
    const plain = plainOf(words, start, end)
    const near = index.near(plain, shares.suggested, budget)
    const [nearest] = near
    if (!nearest) continue
    const share = nearest.distance / Math.max(plain.length, nearest.named.sound.length)
    if (share >= least) continue
    least = share
    const names = near.filter(({ distance }) => distance < nearest.distance + almostAsNear).map(({ named }) => named)
    const match = matchOf(words, names, start, end)
    const most = match.isWhole ? shares.alone : match.isLast ? shares.last : shares.between
    best = { ...match, near, isLikely: nearest.distance <= mostDistance && share <= most }
  }
  return best
}

const maxWindows = 16

const windowsOf = (words: readonly Word[]): [start: number, end: number][] => {
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
