import type { ErrorBody } from '@courier/shared/http/errors.ts'
import { type ErrorList, selectedInvalid } from '@courier/shared/http/field-errors.ts'
import { type City, type CityIndex, type CityReference, type Suggestion, SuggestionBudget } from './cities.ts'

/** A combination of cities that a merchant's card lacks, and how many parcels want it. */
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

/** At most so many distinct names of a request get suggestions, and only while its budget lasts. */
const maxSuggestedNames = 50

/** The errors of a request's cities, with suggestions for those that were not found. */
export class Findings {
  readonly list: ErrorList
  readonly missingRates: MissingRate[] = []
  readonly #suggestions: Record<string, Suggestion[]> = {}
  readonly #remembered = new Map<string, Suggestion[]>()
  readonly #budget = new SuggestionBudget()
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
        this.#suggest(`${path}_${field}`, `/${stateName}`, () => this.#cities.suggestStates(reference, this.#budget))
      else if (cityName !== undefined)
        this.#suggest(`${path}_${field}`, `${stateName}/${cityName}`, () =>
          this.#cities.suggestCities(reference, this.#budget),
        )
    }
    return undefined
  }

  #suggest(path: string, name: string, find: () => Suggestion[]): void {
    const remembered = this.#remembered.get(name)
    if (!remembered && this.#remembered.size >= maxSuggestedNames) return
    const nearest = remembered ?? find()
    this.#remembered.set(name, nearest)
    if (nearest.length > 0) this.#suggestions[path] = nearest
  }

  refusal(): Refusal {
    const suggestions = Object.keys(this.#suggestions).length > 0 ? this.#suggestions : undefined
    return { kind: 'refused', errors: this.list, suggestions, missingRates: this.missingRates }
  }
}
