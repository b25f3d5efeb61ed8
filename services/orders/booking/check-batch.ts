import type { ErrorBody } from '@courier/shared/http/errors.ts'
import { ErrorList, required, selectedInvalid } from '@courier/shared/http/field-errors.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import {
  type City,
  type CityIndex,
  type CityReference,
  type Suggestion,
  SuggestionBudget,
} from '../catalogue/cities.ts'
import { charge, type Rate, type RateCard } from '../catalogue/rate-card.ts'
import type { Batch, Order, ReadableBatch } from './read-batch.ts'

/** An order that may be created: its destination is known and it has a price. */
export interface PricedOrder {
  readonly order: Order
  readonly destination: City
  /** Hundredths of the tenant's currency unit. */
  readonly charge: number
}

export interface CheckedBatch {
  readonly businessId: string
  readonly origin: City
  readonly orders: readonly PricedOrder[]
}

export type Refusal = { kind: 'refused'; errors: ErrorList; suggestions: ErrorBody['suggestions'] }
export type Verdict = { kind: 'accepted'; batch: CheckedBatch } | Refusal

/**
 * Finds every error of a batch except existing waybills (docs/contract.md#errors), or its cities and prices.
 * Pure: the verdict holds for that version of the catalogue.
 */
export const checkBatch = (batch: Batch, catalogue: Catalogue, merchantId: string): Verdict => {
  const findings = new Findings(catalogue.cities, new ErrorList())
  const { origin, destinations, rates } = examine(batch, catalogue, merchantId, findings)
  if (findings.list.count > 0 || !origin) return findings.refusal()
  const orders = batch.orders.map((order, index) => ({
    order: catalogue.secondaryPhone ? order : { ...order, customerSecondaryPhone: undefined },
    destination: destinations[index] as City,
    charge: charge(rates[index] as Rate, order.weightKg),
  }))
  return { kind: 'accepted', batch: { businessId: batch.businessId, origin, orders } }
}

/** Adds the errors of those parts of a batch whose shape is right to the `errors` of its shape. */
export const checkRest = (
  rest: ReadableBatch,
  errors: ErrorList,
  catalogue: Catalogue,
  merchantId: string,
): Refusal => {
  const findings = new Findings(catalogue.cities, errors)
  examine(rest, catalogue, merchantId, findings)
  return findings.refusal()
}

const examine = (batch: ReadableBatch, catalogue: Catalogue, merchantId: string, findings: Findings) => {
  const { businessId, orders } = batch
  if (businessId !== undefined && catalogue.merchantOfBusiness.get(businessId) !== merchantId)
    findings.list.add('general_data.merchant_business_id', selectedInvalid('merchant_business_id'))
  const origin = batch.origin && findings.city(batch.origin, 'general_data.origin')
  const destinations = orders.map(
    (order, index) => order && findings.city(order.destination, `order_data.${index}.destination`),
  )
  checkWaybills(orders, catalogue, findings.list)
  const card = catalogue.rateCards.get(merchantId)
  if (!card) findings.list.add('merchant_rate_card', 'Please assign a rate card to the merchant.')
  const rates = origin && card ? findRates(origin, destinations, card, findings.list) : []
  return { origin, destinations, rates }
}

const checkWaybills = (orders: readonly (Order | undefined)[], { waybills }: Catalogue, errors: ErrorList): void => {
  const seen = new Set<string>()
  for (const [index, order] of orders.entries()) {
    if (!order) continue
    const { waybill } = order
    const path = `order_data.${index}.waybill_number`
    if (waybill === undefined) {
      if (waybills.mode === 'manual') errors.add(path, required(path))
    } else if (!waybills.format.matches(waybill)) {
      const hint = `Waybills look like ${waybills.format.description}.`
      errors.add(
        'errors',
        `The waybill ${waybill} does not match the requested format. ${hint} It is in order_data.${index}.`,
      )
    } else if (seen.has(waybill)) {
      errors.add(path, 'The waybill number field has a duplicate value.')
    } else {
      seen.add(waybill)
    }
  }
}

const findRates = (
  origin: City,
  destinations: readonly (City | undefined)[],
  card: RateCard,
  errors: ErrorList,
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
        `It is from ${origin.name} in ${origin.state.name} to ${destination.name} in ${destination.state.name}, of ${placesOf(indexes)}.`,
    )
  return rates
}

const addTo = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

const maxPlaces = 10

const placesOf = (indexes: readonly number[]): string => {
  const shown = indexes.slice(0, maxPlaces).map(index => `order_data.${index}`)
  const rest = indexes.length - shown.length
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** At most so many distinct names of a batch get suggestions, and only while its budget lasts. */
const maxSuggestedNames = 50

class Findings {
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
