import { nameKey } from '@courier/shared/name-key.ts'
import { distance } from 'fastest-levenshtein'

export interface State {
  readonly id: number
  readonly name: string
}

export interface City {
  readonly id: number
  readonly name: string
  readonly postalCode: string | null
  readonly state: State
  readonly aliases?: readonly string[] | undefined
}

/** A city as a merchant refers to it: by id, or by its name or an alias and the name of its state. */
export interface CityReference {
  readonly cityId?: string | undefined
  readonly cityName?: string | undefined
  readonly stateName?: string | undefined
}

export type WrongField = 'city_id' | 'city_name' | 'state_name'
export type FoundCity = { kind: 'found'; city: City } | { kind: 'unknown'; fields: WrongField[] }

export interface Suggestion {
  id: number
  name: string
  state: string
}

/** The active states and cities of a tenant, indexed for lookups by id and by name. */
export class CityIndex {
  readonly #byId = new Map<string, City>()
  readonly #byName = new Map<string, City[]>()
  readonly #byAlias = new Map<string, City[]>()
  readonly #states = new Map<string, State>()

  /** In the order of the constructor's arguments. */
  readonly states: readonly State[]
  readonly cities: readonly City[]

  constructor(states: Iterable<State>, cities: Iterable<City>) {
    this.states = [...states]
    this.cities = [...cities]
    for (const state of this.states) this.#states.set(nameKey(state.name), state)
    for (const city of this.cities) {
      this.#byId.set(String(city.id), city)
      addTo(this.#byName, city.name, city)
      for (const alias of city.aliases ?? []) addTo(this.#byAlias, alias, city)
    }
  }

  /** In memory, as measured, rounded up. */
  get estimatedBytes(): number {
    const named = [...this.states, ...this.cities]
    const ofAliases = this.cities
      .flatMap(({ aliases = [] }) => aliases)
      .reduce((bytes, { length }) => bytes + 200 + 5 * length, 0)
    return named.reduce((bytes, { name }) => bytes + 320 + 3 * name.length, 1_000 + ofAliases)
  }

  /** The cities of a name, in all states, or else of an alias. */
  named(name: string): readonly City[] {
    const key = nameKey(name)
    return this.#byName.get(key) ?? this.#byAlias.get(key) ?? []
  }

  /** An id wins over names, a name over an alias. `unknown` lists the fields that are wrong. */
  find({ cityId, cityName = '', stateName = '' }: CityReference): FoundCity {
    if (cityId !== undefined) {
      const city = this.#byId.get(cityId)
      return city ? { kind: 'found', city } : { kind: 'unknown', fields: ['city_id'] }
    }
    const state = this.#states.get(nameKey(stateName))
    if (!state)
      return { kind: 'unknown', fields: this.named(cityName).length > 0 ? ['state_name'] : ['state_name', 'city_name'] }
    const key = nameKey(cityName)
    const isThere = (candidate: City) => candidate.state.id === state.id
    const city = this.#byName.get(key)?.find(isThere) ?? this.#byAlias.get(key)?.find(isThere)
    return city ? { kind: 'found', city } : { kind: 'unknown', fields: ['city_name'] }
  }

  /** Up to three cities: of the same name or alias in other states, else of the nearest names, those of the given state first. */
  suggestCities({ cityName = '', stateName = '' }: CityReference, budget: SuggestionBudget): Suggestion[] {
    const wanted = nameKey(stateName)
    const namesakes = [...this.named(cityName)]
    const cities =
      namesakes.length > 0
        ? namesakes
        : nearest(nameKey(cityName), this.#byName, budget).flatMap(key => this.#byName.get(key) ?? [])
    const isElsewhere = (city: City) => Number(nameKey(city.state.name) !== wanted)
    return cities
      .sort((a, b) => isElsewhere(a) - isElsewhere(b))
      .slice(0, 3)
      .map(({ id, name, state }) => ({ id, name, state: state.name }))
  }

  suggestStates({ stateName = '' }: CityReference, budget: SuggestionBudget): Suggestion[] {
    return nearest(nameKey(stateName), this.#states, budget)
      .flatMap(key => this.#states.get(key) ?? [])
      .map(({ id, name }) => ({ id, name, state: name }))
  }
}

const addTo = (names: Map<string, City[]>, name: string, city: City): void => {
  const key = nameKey(name)
  const namesakes = names.get(key)
  if (namesakes) namesakes.push(city)
  else names.set(key, [city])
}

/** What the suggestions of a batch may cost, in steps: one for each name, one for each pair of characters compared. */
export class SuggestionBudget {
  readonly #limit: number
  spent = 0

  constructor(limit = 20_000_000) {
    this.#limit = limit
  }

  /** False, with nothing spent, when fewer steps are left. */
  spend(steps: number): boolean {
    if (this.spent + steps > this.#limit) return false
    this.spent += steps
    return true
  }
}

const maxSuggestedLength = 64

/**
 * Up to three keys of `names` whose edit distance is within a third of their length, nearest first; only `wanted` itself
 * when it is one of them. None for a long `wanted`, or when the budget runs out.
 */
const nearest = (wanted: string, names: ReadonlyMap<string, unknown>, budget: SuggestionBudget): string[] => {
  if (wanted === '' || wanted.length > maxSuggestedLength) return []
  if (names.has(wanted)) return [wanted]
  const near: { key: string; edits: number }[] = []
  for (const key of names.keys()) {
    const maxEdits = Math.max(2, Math.floor(key.length / 3))
    const isComparable = Math.abs(key.length - wanted.length) <= maxEdits
    if (!budget.spend(isComparable ? 1 + key.length * wanted.length : 1)) return []
    if (!isComparable) continue
    const edits = distance(wanted, key)
    if (edits <= maxEdits) near.push({ key, edits })
  }
  return near
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 3)
    .map(({ key }) => key)
}
