import { label } from '@courier/shared/errors/field-errors.ts'
import { nameKey } from '@courier/shared/name-key.ts'
import { addTo, type City, type State } from './city.ts'
import { PlaceIndex } from './place-index.ts'

/** Refers to a city as merchants do: by id, or by name or alias and the name of its state. */
export interface CityReference {
  readonly cityId?: string | undefined
  readonly cityName?: string | undefined
  readonly stateName?: string | undefined
}

export const requiredName = (end: string, name: 'city_name' | 'state_name'): string =>
  `The ${label(`${end}_${name}`)} field is required when ${end} city id is not present.`

type WrongField = 'city_id' | 'city_name' | 'state_name'

export interface Suggestion {
  id: number
  name: string
  state: string
}

/** Indexes the active states and cities of a tenant for look-ups by id and by name. */
export class CityIndex {
  readonly #byId = new Map<string, City>()
  readonly #byName = new Map<string, City[]>()
  readonly #byAlias = new Map<string, City[]>()
  readonly #states = new Map<string, State>()
  #names: PlaceIndex | undefined

  /** Keeps the order of the constructor's arguments. */
  readonly states: readonly State[]
  readonly cities: readonly City[]

  constructor(states: Iterable<State>, cities: Iterable<City>) {
    this.states = [...states]
    this.cities = [...cities]
    for (const state of this.states) this.#states.set(nameKey(state.name), state)
    for (const city of this.cities) {
      this.#byId.set(String(city.id), city)
      addTo(this.#byName, nameKey(city.name), city)
      for (const alias of city.aliases ?? []) addTo(this.#byAlias, nameKey(alias), city)
    }
  }

  /** Is created on first use. */
  get names(): PlaceIndex {
    this.#names ??= new PlaceIndex(this)
    return this.#names
  }

  /** Finds the cities with a name, in all states, or else with an alias. */
  findNamed(name: string): readonly City[] {
    const key = nameKey(name)
    return this.#byName.get(key) ?? this.#byAlias.get(key) ?? []
  }

  /** Finds the cities that have a name as theirs or as an alias: without a state, none of them is more likely. */
  findInAnyState(name: string): readonly City[] {
    const key = nameKey(name)
    return [...new Set([...(this.#byName.get(key) ?? []), ...(this.#byAlias.get(key) ?? [])])]
  }

  /**
   * Finds a city: an id wins over names, a name over an alias; a name without a state must have one city. If there is
   * none, `wrong` lists the wrong fields.
   */
  find({ cityId, cityName = '', stateName = '' }: CityReference): { city?: City | undefined; wrong: WrongField[] } {
    if (cityId !== undefined) return { city: this.#byId.get(cityId), wrong: ['city_id'] }
    if (stateName === '') {
      const [city, another] = this.findInAnyState(cityName)
      return { city: another ? undefined : city, wrong: city ? ['state_name'] : ['state_name', 'city_name'] }
    }
    const state = this.#states.get(nameKey(stateName))
    if (!state) return { wrong: this.findNamed(cityName).length > 0 ? ['state_name'] : ['state_name', 'city_name'] }
    const key = nameKey(cityName)
    const isInState = (candidate: City) => candidate.state.id === state.id
    const city = this.#byName.get(key)?.find(isInState) ?? this.#byAlias.get(key)?.find(isInState)
    return { city, wrong: ['city_name'] }
  }
}
