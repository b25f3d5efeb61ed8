import type { CityIndex } from '../places/cities.ts'
import type { City } from '../places/city.ts'
import type { RateCard } from './rate-card.ts'
import type { ListedCity, ListedState } from './schema.ts'

/** Formats reference numbers such as `CT-0260`. */
export const formatRefNo = (prefix: 'CT' | 'ST', id: number): string => `${prefix}-${String(id).padStart(4, '0')}`

export type Lists = ReturnType<typeof createLists>

/**
 * Lists the cities and states of one version of a catalogue, by id, with their zones in a rate card. The whole lists
 * are long, and clients request them whenever they start.
 */
export const createLists = (
  { cities, states }: Pick<CityIndex, 'cities' | 'states'>,
  card: RateCard | undefined,
  countryCode: string,
) => {
  const country = { id: 1, name: countryNames.of(countryCode) ?? countryCode }
  const listedCities = cities.map(city => listCity(city, card, country))
  const citiesByState = Map.groupBy(listedCities, city => city.state_id)
  const listedStates = states.map(({ id, name }): Required<ListedState> => {
    const cities = citiesByState.get(id) ?? []
    return {
      id,
      ref_no: formatRefNo('ST', id),
      name,
      country_id: 1,
      has_child: cities.length > 0,
      is_active: true,
      cities,
    }
  })
  const lists = { cities: listedCities, states: listedStates }
  const json: { cities?: Buffer; states?: Buffer } = {}
  return {
    ...lists,
    /** Estimates the bytes in memory, from measurements. */
    bytes: 2_000 + 750 * cities.length,
    /** Returns `{"data": [...]}`, written once. */
    toJson: (name: keyof typeof lists): Buffer => {
      json[name] ??= Buffer.from(JSON.stringify({ data: lists[name] }))
      return json[name]
    },
  }
}

const countryNames = new Intl.DisplayNames('en', { type: 'region' })

const listCity = (
  { id, name, postalCode, state }: City,
  card: RateCard | undefined,
  country: ListedCity['country'],
): ListedCity => {
  const zone = card?.findZone(id) ?? null
  return {
    id,
    ref_no: formatRefNo('CT', id),
    name,
    postal_code: postalCode,
    state_id: state.id,
    state: { id: state.id, name: state.name },
    country,
    default_warehouse: null,
    zone_id: zone?.id ?? null,
    zone,
    is_active: true,
  }
}
