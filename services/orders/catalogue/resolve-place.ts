import { nameKey } from '@courier/shared/name-key.ts'
import type { City, CityIndex, SuggestionBudget } from './cities.ts'
import { findNames, findNear, type Match, wordOf } from './find-names.ts'
import type { Named, PlaceIndex } from './place-index.ts'
import { wordsOf } from './spelling.ts'

/** A place as somebody wrote it: the name of a city, or an address. */
export interface WrittenPlace {
  readonly text: string
  readonly stateName?: string | undefined
  readonly postalCode?: string | undefined
}

export const confidences = ['exact', 'alias', 'likely', 'ambiguous', 'none'] as const
export type Confidence = (typeof confidences)[number]

export interface ResolvedPlace {
  readonly confidence: Confidence
  /** None where it is ambiguous. */
  readonly city: City | undefined
  /** The nearest first. */
  readonly alternatives: readonly City[]
}

const maxAlternatives = 5

/** What else is known of a place. */
interface Clues {
  /** Of the states; undefined where none is named. */
  readonly states: ReadonlySet<number> | undefined
  /** The cities of its postal code; undefined without a code. */
  readonly coded: readonly City[] | undefined
}

/** The city that is meant by a text, with how sure that is (docs/places.md#confidence). Pure. */
export const resolvePlace = (
  place: WrittenPlace,
  cities: CityIndex,
  index: PlaceIndex,
  budget: SuggestionBudget,
): ResolvedPlace => {
  const clues = cluesOf(place, index)
  const named = cities.named(place.text)
  if (named.length > 0) {
    const isName = named.some(({ name }) => nameKey(name) === nameKey(place.text))
    const isPlain =
      place.stateName === undefined || named.some(({ state }) => nameKey(state.name) === nameKey(place.stateName ?? ''))
    return settle(named, clues, isPlain ? (isName ? 'exact' : 'alias') : 'likely')
  }
  return read(wordsOf(place.text), clues, index, budget)
}

const cluesOf = ({ text, stateName, postalCode }: WrittenPlace, index: PlaceIndex): Clues => {
  const wordsOfState = wordsOf(stateName ?? '')
    .flat()
    .map(wordOf)
  const states = findNames(wordsOfState.slice(0, maxWordsOfPart), index).matches.flatMap(({ names }) => names)
  const coded = postalCode === undefined ? codedIn(text, index) : index.coded(postalCode)
  return { states: statesOf(states), coded }
}

const statesOf = (names: readonly Named[]): Set<number> | undefined => {
  const ids = names.flatMap(({ among = [] }) => among.map(({ state }) => state.id))
  return ids.length > 0 ? new Set(ids) : undefined
}

/** Only what is written as a code in full. */
const codedIn = (text: string, index: PlaceIndex): readonly City[] | undefined => {
  const codes = text.slice(0, 255).match(/[0-9]+/g) ?? []
  const cities = codes
    .filter(code => code.length > 3 && code.length < 11)
    .flatMap(code => index.coded(code).filter(({ postalCode }) => postalCode?.length === code.length))
  return cities.length > 0 ? [...new Set(cities)] : undefined
}

/** One of the candidates that fits the clues. */
const settle = (
  candidates: readonly City[],
  { states, coded }: Clues,
  confidence: Confidence,
  others: readonly City[] = [],
): ResolvedPlace => {
  const inStates = states ? candidates.filter(({ state }) => states.has(state.id)) : candidates
  if (inStates.length === 0) return ambiguous(candidates)
  const withCode = coded ? inStates.filter(city => coded.includes(city)) : inStates
  if (withCode.length === 0 && inStates.every(({ postalCode }) => postalCode !== null))
    return ambiguous([...inStates, ...(coded ?? [])])
  const [city, ...more] = withCode.length > 0 ? withCode : inStates
  if (!city || more.length > 0) return ambiguous([...(city ? [city] : []), ...more, ...others])
  const isNarrowed = candidates.length > 1 && inStates.length > 1
  return { confidence: isNarrowed ? 'likely' : confidence, city, alternatives: firstOf(others, city) }
}

const firstOf = (cities: readonly City[], except?: City): City[] =>
  [...new Set(cities)].filter(city => city !== except).slice(0, maxAlternatives)

const ambiguous = (cities: readonly City[]): ResolvedPlace => ({
  confidence: 'ambiguous',
  city: undefined,
  alternatives: firstOf(cities),
})

const none = (cities: readonly City[]): ResolvedPlace => ({ ...ambiguous(cities), confidence: 'none' })

const citiesOf = ({ names }: Match): City[] => [...new Set(names.flatMap(({ city }) => city ?? []))]
/** Galle is a city and a state: another city before it may be meant. */
const isState = ({ names }: Match): boolean => names.some(({ among }) => among !== undefined)

interface Reading {
  /** From the end. */
  readonly specific: readonly Match[]
  readonly broad: readonly Named[]
  readonly weak: readonly City[]
}

const read = (
  parts: readonly (readonly string[])[],
  clues: Clues,
  index: PlaceIndex,
  budget: SuggestionBudget,
): ResolvedPlace => {
  const { specific, broad, weak } = readFromEnd(parts, index, budget)
  const [last, before] = specific
  const coded = clues.coded ?? []
  if (!last) {
    if (coded.length > 0) return settle(coded, { ...clues, coded: undefined }, 'likely')
    const among = broad.flatMap(({ among = [] }) => among)
    return among.length > 0 ? ambiguous(namesakesFirst(among)) : none(weak)
  }
  const cities = citiesOf(last)
  const others = before ? citiesOf(before).filter(city => !cities.includes(city)) : []
  const inside = others.filter(({ state }) => cities.some(city => city.state.id === state.id))
  if (inside.length > 0 && isState(last)) return settle(inside, clues, 'likely', cities)
  if (
    others.length > 0 &&
    inside.length === 0 &&
    before?.isWhole &&
    before.names.some(({ isAlias }) => isAlias === false)
  )
    return ambiguous([...others, ...cities])
  const states = statesOf(broad)
  const there = states ? cities.filter(({ state }) => states.has(state.id)) : []
  return settle(there.length > 0 ? there : cities, clues, 'likely', others)
}

const namesakesFirst = (cities: readonly City[]): City[] =>
  cities.toSorted((a, b) => Number(isNamesake(b)) - Number(isNamesake(a)))
const isNamesake = ({ name, state }: City): boolean => nameKey(name) === nameKey(state.name)

/** Of very long texts the end. */
const maxParts = 12
const maxWordsOfPart = 24

/** What the parts of an address name, the last first, until a city is found that is no state. A city beside another counts as alone. */
const readFromEnd = (parts: readonly (readonly string[])[], index: PlaceIndex, budget: SuggestionBudget): Reading => {
  const specific: Match[] = []
  const broad: Named[] = []
  const weak: City[] = []
  for (const part of parts.slice(-maxParts).toReversed()) {
    const words = part.slice(-maxWordsOfPart).map(wordOf)
    const { matches, streets } = findNames(words, index)
    const near = matches.length > 0 ? undefined : findNear(words, streets, index, budget)
    const isMeant = near?.isLikely && (specific.length === 0 || near.isWhole)
    if (near && !isMeant) weak.push(...citiesOf({ ...near, names: near.near.map(({ named }) => named) }))
    weak.push(...streets.flatMap(citiesOf))
    let next: Match | undefined
    for (const match of isMeant ? [near] : matches.toReversed()) {
      const isBeside = next !== undefined && match.end === next.start
      if (citiesOf(match).length === 0) broad.push(...match.names)
      else if (specific.length === 0 || match.isLast || isBeside) {
        specific.push({ ...match, isWhole: match.isWhole || isBeside })
        next = match
      }
    }
    if (specific.length > 1 || specific.some(found => !isState(found))) break
  }
  return { specific, broad, weak }
}
