import type { ErrorBody } from '@courier/shared/errors/errors.ts'
import { type ErrorList, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { nameKey } from '@courier/shared/name-key.ts'
import type { City, CityIndex, CityReference, Suggestion } from './cities.ts'
import { indexPlaces, SuggestionBudget } from './place-index.ts'
import { resolvePlace } from './resolve-place.ts'
import { splitWords } from './spelling.ts'

/** A combination of cities that a merchant's card lacks, and the number of parcels that want it. */
export interface MissingRate {
  readonly origin: City
  readonly destination: City
  readonly parcels: number
}

export type Refusal = {
  kind: 'refused'
  errors: ErrorList
  suggestions: ErrorBody['suggestions']
  missingRates: readonly MissingRate[]
}

/** The most distinct names of a request that get suggestions, while its budget lasts. */
const maxSuggestedNames = 50

/** The errors of a request's cities, with suggestions for those not found. */
export class Findings {
  readonly list: ErrorList
  readonly missingRates: MissingRate[] = []
  readonly #suggestions: Record<string, Suggestion[]> = {}
  readonly #remembered = new Map<string, Suggestion[]>()
  #budget: SuggestionBudget | undefined
  readonly #cities: CityIndex

  constructor(cities: CityIndex, list: ErrorList) {
    this.#cities = cities
    this.list = list
  }

  city(reference: CityReference, path: string): City | undefined {
    const found = this.#cities.find(reference)
    if (found.kind === 'found') return found.city
    const { cityName, stateName } = reference
    for (const field of found.fields) {
      this.list.add(`${path}_${field}`, selectedInvalid(`${path}_${field}`))
      if (field === 'state_name')
        this.#suggest(`${path}_${field}`, `/${stateName}`, budget => suggestStates(reference, this.#cities, budget))
      else if (cityName !== undefined)
        this.#suggest(`${path}_${field}`, `${stateName}/${cityName}`, budget =>
          suggestCities(reference, this.#cities, budget),
        )
    }
    return undefined
  }

  #suggest(path: string, name: string, find: (budget: SuggestionBudget) => Suggestion[]): void {
    const remembered = this.#remembered.get(name)
    if (!remembered && this.#remembered.size >= maxSuggestedNames) return
    this.#budget ??= new SuggestionBudget()
    const nearest = remembered ?? find(this.#budget)
    this.#remembered.set(name, nearest)
    if (nearest.length > 0) this.#suggestions[path] = nearest
  }

  refusal(): Refusal {
    const suggestions = Object.keys(this.#suggestions).length > 0 ? this.#suggestions : undefined
    return { kind: 'refused', errors: this.list, suggestions, missingRates: this.missingRates }
  }
}

const maxSuggestions = 3

/** Suggests up to three cities, those of the given state first. */
export const suggestCities = (
  { cityName = '', stateName = '' }: CityReference,
  cities: CityIndex,
  budget: SuggestionBudget,
): Suggestion[] => {
  const { city, alternatives } = resolvePlace({ text: cityName, stateName }, cities, budget)
  const isElsewhere = ({ state }: City) => Number(nameKey(state.name) !== nameKey(stateName))
  return [...(city ? [city] : []), ...alternatives]
    .sort((a, b) => isElsewhere(a) - isElsewhere(b))
    .slice(0, maxSuggestions)
    .map(({ id, name, state }) => ({ id, name, state: state.name }))
}

const suggestStates = (
  { stateName = '' }: CityReference,
  cities: CityIndex,
  budget: SuggestionBudget,
): Suggestion[] => {
  const near = indexPlaces(cities).near(splitWords(stateName).flat().join(''), budget)
  const states = new Set(near.flatMap(({ named }) => named.state ?? []))
  return [...states].slice(0, maxSuggestions).map(({ id, name }) => ({ id, name, state: name }))
}
