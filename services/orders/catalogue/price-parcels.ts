import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import type { Catalogue } from './catalogue.ts'
import { addTo, type City, type CityReference } from './cities.ts'
import { Findings, type Refusal } from './findings.ts'
import { charge, type Rate, type RateCard } from './rate-card.ts'

/** Parcels of one origin; undefined where the shape is wrong. */
export interface Parcels {
  readonly origin?: CityReference | undefined
  readonly destinations: readonly (CityReference | undefined)[]
}

/** The cities and rates that were found. */
export interface FoundPrices {
  readonly origin: City | undefined
  readonly destinations: readonly (City | undefined)[]
  readonly rates: readonly (Rate | undefined)[]
}

/** The prefixes of the cities' fields in the paths of errors. */
export interface ParcelPaths {
  readonly origin: string
  readonly destination: (index: number) => string
}

/**
 * Finds the cities of parcels and a merchant's rates for them; `findings` gets every error
 * (docs/merchants/contract.md#errors). Pure.
 */
export const findPrices = (
  { origin: from, destinations: to }: Parcels,
  { rateCards }: Catalogue,
  merchantId: string,
  findings: Findings,
  paths: ParcelPaths,
): FoundPrices => {
  const origin = from && findings.city(from, `${paths.origin}origin`)
  const destinations = to.map(
    (destination, index) => destination && findings.city(destination, `${paths.destination(index)}destination`),
  )
  const card = rateCards.get(merchantId)
  if (!card) findings.list.add('merchant_rate_card', 'Please assign a rate card to the merchant.')
  const rates = origin && card ? findRates(origin, destinations, card, findings, paths) : []
  return { origin, destinations, rates }
}

type PricedParcel =
  | { kind: 'priced'; origin: City; destination: City; rate: Rate /** Hundredths. */; charge: number }
  | Refusal

/**
 * Returns the cities and the charge of one parcel, as booking finds them, or every error; `path` precedes their fields
 * (`order.`).
 */
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
  { list, missingRates }: Findings,
  paths: ParcelPaths,
): (Rate | undefined)[] => {
  const missing = new Map<City, number[]>()
  const rates = destinations.map((destination, index) => {
    const rate = destination && card.find(origin.id, destination.id)
    if (destination && !rate) addTo(missing, destination, index)
    return rate
  })
  for (const [destination, indexes] of missing) {
    missingRates.push({ origin, destination, parcels: indexes.length })
    list.add(
      'rate_card.destination_city_id',
      `No rate card is assigned for the combination ${origin.name} to ${destination.name}. ` +
        `It is from ${origin.name} in ${origin.state.name} to ${destination.name} in ${destination.state.name}${wordPlaces(indexes, paths)}.`,
    )
  }
  return rates
}

const maxPlaces = 10

const wordPlaces = (indexes: readonly number[], { destination }: ParcelPaths): string => {
  const shown = indexes.slice(0, maxPlaces).map(index => destination(index).replace(/\.$/, ''))
  if (shown[0] === '') return ''
  const rest = indexes.length - shown.length
  return `, of ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
