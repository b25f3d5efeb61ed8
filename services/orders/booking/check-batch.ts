import type { ErrorBody, Faults } from '@courier/shared/http/errors.ts'
import { maxSentences, required, selectedInvalid } from '@courier/shared/http/faults.ts'
import type { City, PlaceReference, Places, Suggestion } from '../directory/places.ts'
import { charge } from '../pricing/rate-card.ts'
import type { Catalogue } from './catalogue.ts'
import type { Batch, Order } from './read-batch.ts'

/** An order that may be made: its place is known and it has a price. */
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

export type Refusal = { kind: 'refused'; faults: Faults; suggestions: ErrorBody['suggestions'] }
export type Verdict = { kind: 'accepted'; batch: CheckedBatch } | Refusal

/**
 * Finds everything that is wrong with a batch except waybills that exist already (spec.md 7), or its cities and prices.
 * Pure: the answer is true for that version of the catalogue.
 */
export const checkBatch = (batch: Batch, catalogue: Catalogue, merchantId: string): Verdict => {
  const findings = new Findings(catalogue.places)
  if (catalogue.merchantOfBusiness.get(batch.businessId) !== merchantId)
    findings.add('general_data.merchant_business_id', selectedInvalid('merchant_business_id'))
  const origin = findings.place(batch.origin, 'general_data.origin')
  const destinations = batch.orders.map((order, index) =>
    findings.place(order.destination, `order_data.${index}.destination`),
  )
  checkWaybills(batch.orders, catalogue, findings)
  const orders = priceOrders(batch.orders, origin, destinations, catalogue, merchantId, findings)
  if (findings.count > 0 || !origin) return findings.refusal()
  return { kind: 'accepted', batch: { businessId: batch.businessId, origin, orders } }
}

const checkWaybills = (orders: readonly Order[], { waybills }: Catalogue, findings: Findings): void => {
  const seen = new Set<string>()
  for (const [index, { waybill }] of orders.entries()) {
    const path = `order_data.${index}.waybill_number`
    if (waybill === undefined) {
      if (waybills.mode === 'manual') findings.add(path, required(path))
    } else if (!waybills.format.matches(waybill)) {
      const hint = `Waybills look like ${waybills.format.description}.`
      findings.add('errors', `The waybill ${waybill} does not match the requested format. ${hint}`)
    } else if (seen.has(waybill)) {
      findings.add(path, 'The waybill number field has a duplicate value.')
    } else {
      seen.add(waybill)
    }
  }
}

const priceOrders = (
  orders: readonly Order[],
  origin: City | undefined,
  destinations: readonly (City | undefined)[],
  { rateCards, secondaryPhone }: Catalogue,
  merchantId: string,
  findings: Findings,
): PricedOrder[] => {
  const card = rateCards.get(merchantId)
  if (!card) {
    findings.add('merchant_rate_card', 'Please assign a rate card to the merchant.')
    return []
  }
  if (!origin) return []
  const missing = new Set<string>()
  const priced = orders.flatMap((order, index) => {
    const destination = destinations[index]
    const rate = destination && card.find(origin.id, destination.id)
    if (destination && !rate) missing.add(destination.name)
    const kept = secondaryPhone ? order : { ...order, customerSecondaryPhone: undefined }
    return rate ? [{ order: kept, destination, charge: charge(rate, order.weightKg) }] : []
  })
  for (const name of missing)
    findings.add(
      'rate_card.destination_city_id',
      `No rate card is assigned for the combination ${origin.name} to ${name}.`,
    )
  return priced
}

/** Nearest names are looked for at most this often in one batch: each costs a walk through all places. */
const maxNamesSuggested = 50

class Findings {
  readonly #faults: Faults = {}
  readonly #suggestions: Record<string, Suggestion[]> = {}
  readonly #remembered = new Map<string, Suggestion[]>()
  readonly #places: Places
  count = 0

  constructor(places: Places) {
    this.#places = places
  }

  add(path: string, sentence: string): void {
    if (++this.count > maxSentences) return
    const sentences = this.#faults[path]
    if (sentences) sentences.push(sentence)
    else this.#faults[path] = [sentence]
  }

  place(reference: PlaceReference, path: string): City | undefined {
    const found = this.#places.find(reference)
    if (found.kind === 'found') return found.city
    for (const field of found.fields) {
      this.add(`${path}_${field}`, selectedInvalid(`${path}_${field}`))
      if (field === 'city_name')
        this.#suggest(`${path}_${field}`, `${reference.stateName}/${reference.cityName}`, () =>
          this.#places.suggestCities(reference),
        )
      if (field === 'state_name')
        this.#suggest(`${path}_${field}`, `/${reference.stateName}`, () => this.#places.suggestStates(reference))
    }
    return undefined
  }

  #suggest(path: string, name: string, find: () => Suggestion[]): void {
    const remembered = this.#remembered.get(name)
    if (!remembered && this.#remembered.size >= maxNamesSuggested) return
    const nearest = remembered ?? find()
    this.#remembered.set(name, nearest)
    if (nearest.length > 0) this.#suggestions[path] = nearest
  }

  refusal(): Refusal {
    const suggestions = Object.keys(this.#suggestions).length > 0 ? this.#suggestions : undefined
    return { kind: 'refused', faults: this.#faults, suggestions }
  }
}
