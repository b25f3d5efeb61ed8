import { distance } from 'fastest-levenshtein'
import { nameKey } from './names.ts'

export interface State {
  readonly id: number
  readonly name: string
}

export interface City {
  readonly id: number
  readonly name: string
  readonly postalCode: string | null
  readonly state: State
}

/** A place as a merchant names it: by id, or by the names of city and state. */
export interface PlaceReference {
  readonly cityId?: string | undefined
  readonly cityName?: string | undefined
  readonly stateName?: string | undefined
}

export type WrongField = 'city_id' | 'city_name' | 'state_name'
export type FoundPlace = { kind: 'found'; city: City } | { kind: 'unknown'; fields: WrongField[] }

export interface Suggestion {
  id: number
  name: string
  state: string
}

/** The active states and cities of a tenant, indexed for lookups by id and by name. */
export class Places {
  readonly #byId = new Map<string, City>()
  readonly #byName = new Map<string, City[]>()
  readonly #states = new Map<string, State>()

  /** In the order they were given. */
  readonly states: readonly State[]
  readonly cities: readonly City[]

  constructor(states: Iterable<State>, cities: Iterable<City>) {
    this.states = [...states]
    this.cities = [...cities]
    for (const state of this.states) this.#states.set(nameKey(state.name), state)
    for (const city of this.cities) {
      this.#byId.set(String(city.id), city)
      const key = nameKey(city.name)
      const namesakes = this.#byName.get(key)
      if (namesakes) namesakes.push(city)
      else this.#byName.set(key, [city])
    }
  }

  /** An id wins over names. `unknown` says which of the fields given are at fault. */
  find({ cityId, cityName = '', stateName = '' }: PlaceReference): FoundPlace {
    if (cityId !== undefined) {
      const city = this.#byId.get(cityId)
      return city ? { kind: 'found', city } : { kind: 'unknown', fields: ['city_id'] }
    }
    const state = this.#states.get(nameKey(stateName))
    const namesakes = this.#byName.get(nameKey(cityName)) ?? []
    if (!state) return { kind: 'unknown', fields: namesakes.length ? ['state_name'] : ['state_name', 'city_name'] }
    const city = namesakes.find(candidate => candidate.state.id === state.id)
    return city ? { kind: 'found', city } : { kind: 'unknown', fields: ['city_name'] }
  }

  /** Up to three cities: of that very name elsewhere, else of the nearest names, those of the state named first. */
  suggestCities({ cityName = '', stateName = '' }: PlaceReference): Suggestion[] {
    const wanted = nameKey(stateName)
    const cities = nearest(nameKey(cityName), [...this.#byName.keys()]).flatMap(key => this.#byName.get(key) ?? [])
    const isElsewhere = (city: City) => Number(nameKey(city.state.name) !== wanted)
    return cities
      .sort((a, b) => isElsewhere(a) - isElsewhere(b))
      .slice(0, 3)
      .map(({ id, name, state }) => ({ id, name, state: state.name }))
  }

  suggestStates({ stateName = '' }: PlaceReference): Suggestion[] {
    return nearest(nameKey(stateName), [...this.#states.keys()])
      .flatMap(key => this.#states.get(key) ?? [])
      .map(({ id, name }) => ({ id, name, state: name }))
  }
}

/** Up to three of `keys` within a third of their length in edits, nearest first; a key equal to `wanted` stands alone. */
const nearest = (wanted: string, keys: string[]): string[] => {
  if (wanted === '' || keys.length === 0) return []
  if (keys.includes(wanted)) return [wanted]
  return keys
    .map(key => ({ key, edits: distance(wanted, key) }))
    .filter(({ key, edits }) => edits <= Math.max(2, Math.floor(key.length / 3)))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 3)
    .map(({ key }) => key)
}
