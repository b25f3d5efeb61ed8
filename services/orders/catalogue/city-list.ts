import type { City, CityIndex } from './cities.ts'
import type { RateCard, Zone } from './rate-card.ts'

/** Reference numbers look like `CT-0260`. */
export const refNo = (prefix: 'CT' | 'ST', id: number): string => `${prefix}-${String(id).padStart(4, '0')}`

/** A city as merchants read it. */
export interface ListedCity {
  readonly id: number
  readonly ref_no: string
  readonly name: string
  readonly postal_code: string | null
  readonly state_id: number
  readonly state: { readonly id: number; readonly name: string }
  /** The city's zone in the merchant's rate card. */
  readonly zone_id: number | null
  readonly zone: Zone | null
  readonly is_active: boolean
}

/**
 * Caches, not state: an index and its cards belong to one version of a catalogue and never change, so a list is built
 * once for each and collected with it.
 */
const lists = new WeakMap<CityIndex | RateCard, readonly ListedCity[]>()
const wholeLists = new WeakMap<readonly ListedCity[], Buffer>()

/** The cities with their zones in `card`, by id. Both are of the same catalogue. */
export const listCities = (index: CityIndex, card: RateCard | undefined): readonly ListedCity[] => {
  const owner = card ?? index
  const known = lists.get(owner)
  if (known) return known
  const cities = index.cities.map(city => listed(city, card))
  lists.set(owner, cities)
  return cities
}

/** The whole list as JSON, `{"data": [...]}`. It is long, and clients request it whenever they start. */
export const wholeCityList = (cities: readonly ListedCity[]): Buffer => {
  const known = wholeLists.get(cities)
  if (known) return known
  const json = Buffer.from(JSON.stringify({ data: cities }))
  wholeLists.set(cities, json)
  return json
}

const listed = ({ id, name, postalCode, state }: City, card: RateCard | undefined): ListedCity => {
  const zone = card?.listedZoneOf(id) ?? null
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
