import { nameKey } from '@courier/shared/name-key.ts'
import type { CityIndex, CityReference, Suggestion } from './cities.ts'
import type { City } from './city.ts'
import {
  findNames,
  isFiller,
  isShort,
  isTown,
  listCities,
  type Match,
  type Part,
  readPart,
  readWord,
} from './find-names.ts'
import type { Named, PlaceIndex, Spend } from './place-index.ts'
import { districtNames } from './place-words.ts'
import { splitWords, writeSound } from './spelling.ts'

/** Describes a place as a person wrote it: the name of a city, or an address. */
export interface WrittenPlace {
  readonly text: string
  readonly stateName?: string | undefined
  readonly postalCode?: string | undefined
}

export const confidences = ['exact', 'alias', 'likely', 'ambiguous', 'none'] as const
export type Confidence = (typeof confidences)[number]

export interface ResolvedPlace {
  readonly confidence: Confidence
  /** undefined: no single city is meant. */
  readonly city: City | undefined
  /** Lists the candidates other than `city`, likeliest first. */
  readonly alternatives: readonly City[]
}

/**
 * Limits how much comparing names may cost a request, in steps: one for each name, and one for each pair of letters
 * compared.
 */
export class SuggestionBudget {
  readonly #limit: number
  spent = 0

  constructor(limit = 20_000_000) {
    this.#limit = limit
  }

  readonly spend: Spend = steps => {
    if (this.spent + steps > this.#limit) return false
    this.spent += steps
    return true
  }
}

const maxAlternatives = 20

type Clues = ReturnType<typeof findClues>

/** Finds the city that a text means, with a confidence (docs/merchants/places.md#confidence). Spends `budget`. */
export const resolvePlace = (place: WrittenPlace, cities: CityIndex, budget: SuggestionBudget): ResolvedPlace => {
  const index = cities.names
  const clues = findClues(place, index)
  const named = cities.findNamed(place.text)
  if (named.length > 0) {
    const isName = named.some(({ name }) => nameKey(name) === nameKey(place.text))
    const isPlain =
      place.stateName === undefined || named.some(({ state }) => nameKey(state.name) === nameKey(place.stateName ?? ''))
    return settle(named, clues, isPlain ? (isName ? 'exact' : 'alias') : 'likely')
  }
  return readAddress(splitWords(place.text), clues, index, budget.spend)
}

/**
 * Finds the clues to a place: the states that its state name means, and the cities of its postal code, or else of a
 * code in its text. `states` is undefined if none is named; `coded` is undefined without a code, and empty if no city
 * has the given code.
 */
const findClues = ({ text, stateName, postalCode }: WrittenPlace, index: PlaceIndex) => {
  const wordsOfState = splitWords(stateName ?? '')
    .flat()
    .map(readWord)
  const states = findNames(wordsOfState.slice(0, maxWordsOfPart), index).matches.flatMap(({ names }) => names)
  const coded = postalCode === undefined ? findCoded(text, index) : index.findCoded(postalCode)
  return { states: findStates(states), coded }
}

const findStates = (names: readonly Named[]): Set<number> | undefined => {
  const ids = names.flatMap(({ among = [] }) => among.map(({ state }) => state.id))
  return ids.length > 0 ? new Set(ids) : undefined
}

const findCoded = (text: string, index: PlaceIndex): readonly City[] | undefined => {
  const codes = text.slice(0, 255).match(/[0-9]+/g) ?? []
  const cities = codes
    .filter(code => code.length > 3 && code.length < 11)
    .flatMap(code => index.findCoded(code).filter(({ postalCode }) => postalCode?.length === code.length))
  return cities.length > 0 ? [...new Set(cities)] : undefined
}

const settle = (
  candidates: readonly City[],
  { states, coded }: Clues,
  confidence: Confidence,
  others: readonly City[] = [],
): ResolvedPlace => {
  const inStates = states ? candidates.filter(({ state }) => states.has(state.id)) : candidates
  if (inStates.length === 0) return toAmbiguous(candidates)
  const withCode = coded ? inStates.filter(city => coded.includes(city)) : inStates
  if (withCode.length === 0 && inStates.every(({ postalCode }) => postalCode !== null))
    return toAmbiguous([...inStates, ...(coded ?? [])])
  const [city, ...more] = withCode.length > 0 ? withCode : inStates
  if (!city || more.length > 0) return toAmbiguous([...(city ? [city] : []), ...more, ...others])
  const isNarrowed = candidates.length > 1 && inStates.length > 1
  return { confidence: isNarrowed ? 'likely' : confidence, city, alternatives: takeFirst(others, city) }
}

const takeFirst = (cities: readonly City[], except?: City): City[] =>
  [...new Set(cities)].filter(city => city !== except).slice(0, maxAlternatives)

const toAmbiguous = (cities: readonly City[]): ResolvedPlace => ({
  confidence: 'ambiguous',
  city: undefined,
  alternatives: takeFirst(cities),
})

/** Keeps only the end of very long texts. */
const maxParts = 12
const maxWordsOfPart = 24

/** Reads the parts of an address from the end: the last city counts or, if that is a capital, the city before it. */
const readAddress = (
  parts: readonly (readonly string[])[],
  clues: Clues,
  index: PlaceIndex,
  spend: Spend,
): ResolvedPlace => {
  const passed: Part[] = []
  const left = parts.slice(-maxParts).map(part => part.slice(-maxWordsOfPart).map(readWord))
  const next = (): Part | undefined => {
    const words = left.pop()
    if (!words) return undefined
    if (words.every(isFiller)) return next()
    const part = readPart(words, index, spend)
    passed.push(part)
    return part
  }
  let part = next()
  while (part && part.named.length === 0) part = next()
  const last = part?.named.at(-1)
  if (!part || !last) return readWithoutCity(passed, clues)
  const cities = listCities(last)
  const isOther = (city: City): boolean => !cities.includes(city)
  let others = part.named.filter(isTown).flatMap(listCities).filter(isOther)
  const firstSuspect = isCapital(last) || isShort(last) ? 0 : last.end
  let hasGap = part.lastUnknown >= firstSuspect
  for (let before = isCapital(last) ? next() : undefined; before && others.length === 0; before = next()) {
    others = before.towns.filter(isOther)
    hasGap ||= before.lastUnknown >= 0 && others.length === 0 && before === passed[passed.indexOf(part) + 1]
  }
  const inside = others.filter(({ state }) => cities.some(city => city.state.id === state.id))
  if (inside.length > 0 && isCapital(last)) return settle(inside, clues, 'likely', cities)
  if (others.length > 0 || hasGap) return toAmbiguous([...others, ...cities])
  return settleIn(
    passed.flatMap(({ broad }) => broad),
    cities,
    clues,
  )
}

/** Settles on a city in the states that the text also names. */
const settleIn = (broad: readonly Named[], cities: readonly City[], clues: Clues): ResolvedPlace => {
  const states = findStates(broad)
  const inside = states ? cities.filter(({ state }) => states.has(state.id)) : cities
  // People also write "Colombo" for suburbs in other states, but not "Colombo District".
  if (inside.length === 0 && broad.every(({ state }) => state)) return toAmbiguous(cities)
  return settle(inside.length > 0 ? inside : cities, clues, 'likely')
}

const readWithoutCity = (passed: readonly Part[], clues: Clues): ResolvedPlace => {
  const { coded = [] } = clues
  if (coded.length > 0) return settle(coded, { ...clues, coded: undefined }, 'likely')
  const among = passed.flatMap(({ broad }) => broad).flatMap(({ among = [] }) => among)
  return among.length > 0
    ? toAmbiguous(sortNamesakesFirst(among))
    : { ...toAmbiguous(passed.flatMap(({ similar }) => similar)), confidence: 'none' }
}

const sortNamesakesFirst = (cities: readonly City[]): City[] =>
  cities.toSorted((a, b) => Number(isNamesake(b)) - Number(isNamesake(a)))
const isNamesake = ({ name, state }: City): boolean => nameKey(name) === nameKey(state.name)

/** Returns true for a name such as Galle: people also write it for its district, so a town before it may be meant. */
const isCapital = ({ names }: Match): boolean => names.some(({ sound, among }) => among || districts.has(sound))
const districts = new Set(districtNames.split(' ').map(writeSound))

export const toSuggestion = ({ id, name, state }: City): Suggestion => ({ id, name, state: state.name })

const maxSuggestions = 3

/** Suggests up to three cities, those in the given state first. */
export const suggestCities = (
  { cityName = '', stateName = '' }: CityReference,
  cities: CityIndex,
  budget: SuggestionBudget,
): Suggestion[] => {
  const { city, alternatives } = resolvePlace({ text: cityName, stateName }, cities, budget)
  const rank = ({ state }: City) => Number(nameKey(state.name) !== nameKey(stateName))
  return [...(city ? [city] : []), ...alternatives]
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, maxSuggestions)
    .map(toSuggestion)
}

export const suggestStates = (
  { stateName = '' }: CityReference,
  cities: CityIndex,
  budget: SuggestionBudget,
): Suggestion[] => {
  const near = cities.names.findNear(splitWords(stateName).flat().join(''), budget.spend)
  const states = new Set(near.flatMap(({ named }) => named.state ?? []))
  return [...states].slice(0, maxSuggestions).map(({ id, name }) => ({ id, name, state: name }))
}
