import type { ErrorBody } from '@courier/shared/http/errors.ts'
import { ErrorList, selectedInvalid } from '@courier/shared/http/field-errors.ts'
import type { Catalogue } from './catalogue.ts'
import { type City, type CityIndex, type CityReference, type Suggestion, SuggestionBudget } from './cities.ts'
import { charge, type Rate, type RateCard } from './rate-card.ts'

export type Refusal = { kind: 'refused'; errors: ErrorList; suggestions: ErrorBody['suggestions'] }

/** Parcels of one origin; undefined where the shape is wrong. */
export interface Parcels {
  readonly origin?: CityReference | undefined
  readonly destinations: readonly (CityReference | undefined)[]
}

/** Cities and rates as far as they were found. */
export interface FoundPrices {
  readonly origin: City | undefined
  readonly destinations: readonly (City | undefined)[]
  readonly rates: readonly (Rate | undefined)[]
}

/** Where the cities of a request are, for the paths of its errors: `general_data.` and `order_data.3.` in a batch. */
export interface ParcelPaths {
  readonly origin: string
  readonly destination: (index: number) => string
}

export const batchPaths: ParcelPaths = { origin: 'general_data.', destination: index => `order_data.${index}.` }

/** Finds the cities of parcels and a merchant's rates for them; `findings` gets every error (docs/contract.md#errors). Pure. */
export const findPrices = (
  { origin: from, destinations: to }: Parcels,
  { rateCards }: Catalogue,
  merchantId: string,
  findings: Findings,
  paths: ParcelPaths = batchPaths,
): FoundPrices => {
  const origin = from && findings.city(from, `${paths.origin}origin`)
  const destinations = to.map(
    (destination, index) => destination && findings.city(destination, `${paths.destination(index)}destination`),
  )
  const card = rateCards.get(merchantId)
  if (!card) findings.list.add('merchant_rate_card', 'Please assign a rate card to the merchant.')
  const rates = origin && card ? findRates(origin, destinations, card, findings.list, paths) : []
  return { origin, destinations, rates }
}

export type PricedParcel =
  | { kind: 'priced'; origin: City; destination: City; rate: Rate /** Hundredths. */; charge: number }
  | Refusal

/** The cities and the charge of one parcel, as booking finds them, or every error; `path` precedes their fields (`order.`). */
export const priceParcel = (
  catalogue: Catalogue,
  merchantId: string,
  { origin, destination, weightKg }: { origin: CityReference; destination: CityReference; weightKg: number },
  path = '',
): PricedParcel => {
  const findings = new Findings(catalogue.cities, new ErrorList())
  const paths = { origin: path, destination: () => path }
  const found = findPrices({ origin, destinations: [destination] }, catalogue, merchantId, findings, paths)
  const [to] = found.destinations
  const [rate] = found.rates
  if (!found.origin || !to || !rate) return findings.refusal()
  return { kind: 'priced', origin: found.origin, destination: to, rate, charge: charge(rate, weightKg) }
}

const findRates = (
  origin: City,
  destinations: readonly (City | undefined)[],
  card: RateCard,
  errors: ErrorList,
  paths: ParcelPaths,
): (Rate | undefined)[] => {
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
        `It is from ${origin.name} in ${origin.state.name} to ${destination.name} in ${destination.state.name}${placesOf(indexes, paths)}.`,
    )
  return rates
}

const addTo = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

const maxPlaces = 10

const placesOf = (indexes: readonly number[], { destination }: ParcelPaths): string => {
  const shown = indexes.slice(0, maxPlaces).map(index => destination(index).replace(/\.$/, ''))
  if (shown[0] === '') return ''
  const rest = indexes.length - shown.length
  return `, of ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** At most so many distinct names of a request get suggestions, and only while its budget lasts. */
const maxSuggestedNames = 50

/** The errors of a request's cities, with suggestions for those that were not found. */
export class Findings {
  readonly list: ErrorList
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
    return { kind: 'refused', errors: this.list, suggestions }
  }
}
