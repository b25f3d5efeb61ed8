import type { ErrorBody } from '@courier/shared/errors/errors.ts'
import { type ErrorList, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { type CityIndex, type CityReference, requiredName, type Suggestion } from '../places/cities.ts'
import { addTo, type City } from '../places/city.ts'
import { SuggestionBudget, suggestCities, suggestStates, toSuggestion } from '../places/resolve-place.ts'
import type { Catalogue } from './catalogue.ts'
import type { RateCard } from './rate-card.ts'

/** Holds the cities of parcels from one origin. A city whose fields have the wrong shape is undefined. */
interface Parcels {
  readonly origin?: CityReference | undefined
  readonly destinations: readonly (CityReference | undefined)[]
}

/** Describes a combination of cities that a merchant's card lacks, and the number of parcels that need it. */
export interface MissingRate {
  readonly origin: City
  readonly destination: City
  readonly parcels: number
}

export interface Refusal {
  readonly kind: 'refused'
  readonly errors: ErrorList
  readonly suggestions: ErrorBody['suggestions']
  readonly missingRates: readonly MissingRate[]
}

/** Holds the prefixes of the cities' fields in the paths of errors. */
interface ParcelPaths {
  readonly origin: string
  readonly destination: (index: number) => string
}

const batchPaths: ParcelPaths = { origin: 'general_data.', destination: index => `order_data.${index}.` }

/**
 * Finds the cities of parcels and a merchant's rates for them; adds every error to `errors`
 * (docs/merchants/contract.md#errors). `refusal` applies if there is an error, even one that the caller adds later.
 */
export const findPrices = (
  { origin: from, destinations: to }: Parcels,
  { cities, rateCards }: Catalogue,
  merchantId: string,
  errors: ErrorList,
  paths = batchPaths,
) => {
  let search: ReturnType<typeof createSearch> | undefined
  const suggestions: NonNullable<ErrorBody['suggestions']> = {}
  const findCity = (reference: CityReference | undefined, index?: number): City | undefined => {
    if (!reference) return undefined
    const { city, wrong } = cities.find(reference)
    if (city) return city
    const path = index === undefined ? `${paths.origin}origin` : `${paths.destination(index)}destination`
    const lacksState = reference.cityId === undefined && reference.stateName === undefined
    for (const field of wrong) {
      const isLacking = lacksState && field === 'state_name'
      const alike = isLacking ? cities.findInAnyState(reference.cityName ?? '') : []
      const text = isLacking ? requireState(index === undefined ? 'origin' : 'destination', alike) : undefined
      errors.add(`${path}_${field}`, text ?? selectedInvalid(`${path}_${field}`))
      search ??= createSearch(cities)
      const nearest = isLacking ? alike.slice(0, maxAlike).map(toSuggestion) : search(reference, field === 'state_name')
      if (nearest.length > 0) suggestions[`${path}_${field}`] = nearest
    }
    return undefined
  }
  const origin = findCity(from)
  const destinations = to.map(findCity)
  const card = rateCards.get(merchantId)
  if (!card) errors.add('merchant_rate_card', 'Please assign a rate card to the merchant.')
  const found = origin && card && findRates(origin, destinations, card, errors, paths)
  const { rates = [], missingRates = [] } = found ?? {}
  const shown = Object.keys(suggestions).length > 0 ? suggestions : undefined
  const refusal: Refusal = { kind: 'refused', errors, suggestions: shown, missingRates }
  return { origin, destinations, rates, refusal }
}

const findRates = (
  origin: City,
  destinations: readonly (City | undefined)[],
  card: RateCard,
  errors: ErrorList,
  paths: ParcelPaths,
) => {
  const missing = new Map<City, number[]>()
  const rates = destinations.map((destination, index) => {
    const rate = destination && card.find(origin.id, destination.id)
    if (destination && !rate) addTo(missing, destination, index)
    return rate
  })
  for (const [destination, indexes] of missing)
    errors.add(
      'rate_card.destination_city_id',
      `No rate card is assigned for the combination ${origin.name} to ${destination.name}. ` +
        `It is from ${origin.name} in ${origin.state.name} to ${destination.name} in ${destination.state.name}${wordPaths(indexes, paths)}.`,
    )
  const missingRates = [...missing].map(([destination, { length: parcels }]) => ({ origin, destination, parcels }))
  return { rates, missingRates }
}

/** Limits the places of one name that an error lists. */
const maxAlike = 10

const requireState = (end: string, alike: readonly City[]): string => {
  const listed = alike.slice(0, maxAlike).map(({ name, state }) => `${name} in ${state.name}`)
  return [requiredName(end, 'state_name'), ...(listed.length > 0 ? [`It may be ${listed.join(', or ')}.`] : [])].join(
    ' ',
  )
}

const maxPaths = 10

const wordPaths = (indexes: readonly number[], { destination }: ParcelPaths): string => {
  const shown = indexes.slice(0, maxPaths).map(index => destination(index).replace(/\.$/, ''))
  if (shown[0] === '') return ''
  const rest = indexes.length - shown.length
  return `, for ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Limits the distinct names of a request that get suggestions. The budget may run out earlier. */
const maxSuggestedNames = 50

/** Creates a search for the cities and states that the wrong fields of a request may mean. */
const createSearch = (cities: CityIndex) => {
  const remembered = new Map<string, Suggestion[]>()
  const budget = new SuggestionBudget()
  return (reference: CityReference, isState: boolean): Suggestion[] => {
    const name = `${reference.stateName}/${isState ? '' : reference.cityName}`
    const known = remembered.get(name)
    if (known || remembered.size >= maxSuggestedNames) return known ?? []
    const nearest = (isState ? suggestStates : suggestCities)(reference, cities, budget)
    remembered.set(name, nearest)
    return nearest
  }
}
