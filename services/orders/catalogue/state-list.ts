import type { CityIndex } from './cities.ts'
import { type ListedCity, listCities, refNo } from './city-list.ts'
import type { RateCard } from './rate-card.ts'

/** A state as merchants read it. */
export interface ListedState {
  readonly id: number
  readonly ref_no: string
  readonly name: string
  readonly country_id: number
  /** Whether it has cities. */
  readonly has_child: boolean
  readonly is_active: boolean
  readonly cities?: ListedCity[]
}

/** A tenant serves one country. */
export const countryId = 1

/** A cache, like the lists of cities. */
const wholeLists = new WeakMap<CityIndex | RateCard, Buffer>()

/** The states by id; with their cities, which have zones in `card`, on demand. Both are of the same catalogue. */
export const listStates = (index: CityIndex, card: RateCard | undefined, withCities: boolean): ListedState[] => {
  const citiesOf = Map.groupBy(listCities(index, card), city => city.state_id)
  return index.states.map(({ id, name }) => {
    const cities = citiesOf.get(id) ?? []
    const has_child = cities.length > 0
    const state = { id, ref_no: refNo('ST', id), name, country_id: countryId, has_child, is_active: true }
    return withCities ? { ...state, cities } : state
  })
}

/** The whole list with cities as JSON, `{"data": [...]}`. */
export const wholeStateList = (index: CityIndex, card: RateCard | undefined): Buffer => {
  const owner = card ?? index
  const known = wholeLists.get(owner)
  if (known) return known
  const json = Buffer.from(JSON.stringify({ data: listStates(index, card, true) }))
  wholeLists.set(owner, json)
  return json
}
