import { LRUCache } from 'lru-cache'
import type { Catalogue } from './catalogue.ts'
import type { City, State } from './cities.ts'
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

/**
 * The cities and states of one version of a catalogue with their zones in a rate card, by id. The whole lists are long, and
 * clients request them whenever they start.
 */
export class Lists {
  readonly cities: readonly ListedCity[]
  readonly #states: readonly State[]
  #citiesJson?: Buffer
  #statesJson?: Buffer

  constructor({ cities, states }: Catalogue['cities'], card: RateCard | undefined) {
    this.cities = cities.map(city => listed(city, card))
    this.#states = states
  }

  states(withCities: boolean): ListedState[] {
    const citiesOf = Map.groupBy(this.cities, city => city.state_id)
    return this.#states.map(({ id, name }) => {
      const cities = citiesOf.get(id) ?? []
      const has_child = cities.length > 0
      const state = { id, ref_no: refNo('ST', id), name, country_id: countryId, has_child, is_active: true }
      return withCities ? { ...state, cities } : state
    })
  }

  /** `{"data": [...]}`. */
  get citiesJson(): Buffer {
    this.#citiesJson ??= Buffer.from(JSON.stringify({ data: this.cities }))
    return this.#citiesJson
  }

  /** `{"data": [...]}`, with cities. */
  get statesJson(): Buffer {
    this.#statesJson ??= Buffer.from(JSON.stringify({ data: this.states(true) }))
    return this.#statesJson
  }
}

const listed = ({ id, name, postalCode, state }: City, card: RateCard | undefined): ListedCity => {
  const zone = card?.zoneOf(id) ?? null
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

export type ListsOf = (catalogue: Catalogue, merchantId: string) => Lists

/** Merchants with the same rate card share their lists. Those least recently used leave when all exceed `maxBytes`. */
export const createLists = (maxBytes: number): ListsOf => {
  const cache = new LRUCache<string, Lists>({
    maxSize: maxBytes,
    sizeCalculation: lists => Math.min(maxBytes, estimateBytes(lists)),
  })
  return ({ tenant, version, cities, rateCards }, merchantId) => {
    const card = rateCards.get(merchantId)
    const key = `${tenant} ${version} ${card?.name ?? ''}`
    const lists = cache.get(key) ?? new Lists(cities, card)
    if (!cache.has(key)) cache.set(key, lists)
    return lists
  }
}

/** As measured with both whole lists and the keys of every filter, rounded up. */
export const estimateBytes = ({ cities }: Lists): number =>
  cities.reduce((bytes, { name }) => bytes + 1_000 + 10 * name.length, 2_000)
