import type { City, CityIndex, State } from './cities.ts'
import type { RateCard } from './rate-card.ts'
import type { ListedCity, ListedState } from './schema.ts'

/** Formats reference numbers such as `CT-0260`. */
export const refNo = (prefix: 'CT' | 'ST', id: number): string => `${prefix}-${String(id).padStart(4, '0')}`

/**
 * Holds the cities and states of one version of a catalogue, by id, with their zones in a rate card. The whole lists
 * are long, and clients request them whenever they start.
 */
export class Lists {
  readonly cities: readonly ListedCity[]
  /** Estimates the bytes in memory, from measurements. */
  readonly bytes: number
  readonly #states: readonly State[]
  #citiesJson?: Buffer
  #statesJson?: Buffer

  constructor({ cities, states }: Pick<CityIndex, 'cities' | 'states'>, card: RateCard | undefined) {
    this.cities = cities.map(city => listed(city, card))
    this.#states = states
    this.bytes = 2_000 + 650 * cities.length
  }

  states(withCities: boolean): ListedState[] {
    const citiesOf = Map.groupBy(this.cities, city => city.state_id)
    return this.#states.map(({ id, name }) => {
      const cities = citiesOf.get(id) ?? []
      const has_child = cities.length > 0
      const state = { id, ref_no: refNo('ST', id), name, country_id: 1, has_child, is_active: true }
      return withCities ? { ...state, cities } : state
    })
  }

  /** Returns `{"data": [...]}`. */
  get citiesJson(): Buffer {
    this.#citiesJson ??= Buffer.from(JSON.stringify({ data: this.cities }))
    return this.#citiesJson
  }

  /** Returns `{"data": [...]}`, with cities. */
  get statesJson(): Buffer {
    this.#statesJson ??= Buffer.from(JSON.stringify({ data: this.states(true) }))
    return this.#statesJson
  }
}

const listed = ({ id, name, postalCode, state }: City, card: RateCard | undefined): ListedCity => {
  const zone = card?.findZone(id) ?? null
  return {
    id,
    ref_no: refNo('CT', id),
    name,
    postal_code: postalCode,
    state_id: state.id,
    state: { id: state.id, name: state.name },
    zone_id: zone?.id ?? null,
    zone,
    is_active: true,
  }
}
