import type { CatalogueRow } from './queries.ts'

/** Prices in hundredths of the tenant's currency unit. */
export interface Rate {
  readonly firstKg: number
  readonly eachExtraKg: number
}

interface Zone {
  readonly id: number
  readonly name: string
}

/** The parts of a card, with zones by name. */
interface RateCardParts {
  readonly name: string
  readonly zones: readonly Zone[]
  /** The zone of every city without one of its own. */
  readonly elsewhere?: string | undefined
  readonly cities: readonly { readonly cityId: number; readonly zone: string }[]
  readonly rates: readonly (Rate & { readonly from: string; readonly to: string })[]
}

/**
 * A merchant's prices: cities belong to zones, and a pair of zones has a rate. Processes keep hundreds of thousands of
 * them: prices in arrays of numbers take half of the memory of objects.
 */
export class RateCard {
  readonly name: string
  readonly #zones: readonly Zone[]
  readonly #elsewhere: number
  readonly #cityIds: ReadonlyMap<number, number>
  /** The index in `#zones` of each city's zone. */
  readonly #zoneOfCity: Uint32Array
  /** Pairs of zones (`#pairOf`), with the prices of each. */
  readonly #pairs: ReadonlyMap<number, number>
  readonly #firstKg: Float64Array
  readonly #eachExtraKg: Float64Array

  constructor({ name, zones, elsewhere, cities, rates }: RateCardParts) {
    this.name = name
    this.#zones = zones
    const places = new Map(zones.map((zone, place) => [zone.name, place]))
    const placeOf = (zone: string | undefined): number => places.get(zone ?? '') ?? -1
    this.#elsewhere = placeOf(elsewhere)
    this.#cityIds = indexNumbers(cities.map(({ cityId }) => cityId))
    this.#zoneOfCity = Uint32Array.from(cities, ({ zone }) => placeOf(zone))
    this.#pairs = indexNumbers(rates.map(({ from, to }) => this.#pairOf(placeOf(from), placeOf(to))))
    this.#firstKg = Float64Array.from(rates, ({ firstKg }) => firstKg)
    this.#eachExtraKg = Float64Array.from(rates, ({ eachExtraKg }) => eachExtraKg)
  }

  /** The bytes in memory, as measured, rounded up. */
  get estimatedBytes(): number {
    const zones = this.#zones.reduce((bytes, { name }) => bytes + 120 + 2 * name.length, 0)
    const entries = entryBytes * (this.#cityIds.size + this.#pairs.size)
    return 2_000 + zones + entries + this.#zoneOfCity.byteLength + 2 * this.#firstKg.byteLength
  }

  /** Returns undefined for a city without a zone. */
  zoneOf(cityId: number): Zone | undefined {
    return this.#zones[this.#placeOf(cityId)]
  }

  /** Returns undefined when the card lacks the combination (docs/merchants/contract.md#errors). */
  find(originCityId: number, destinationCityId: number): Rate | undefined {
    const from = this.#placeOf(originCityId)
    const to = this.#placeOf(destinationCityId)
    const index = from < 0 || to < 0 ? undefined : this.#pairs.get(this.#pairOf(from, to))
    if (index === undefined) return undefined
    return { firstKg: this.#firstKg[index] as number, eachExtraKg: this.#eachExtraKg[index] as number }
  }

  #placeOf(cityId: number): number {
    const index = this.#cityIds.get(cityId)
    return index === undefined ? this.#elsewhere : (this.#zoneOfCity[index] as number)
  }

  #pairOf(from: number, to: number): number {
    return from * this.#zones.length + to
  }
}

const indexNumbers = (numbers: readonly number[]): ReadonlyMap<number, number> =>
  new Map(numbers.map((number, index) => [number, index]))

/** The bytes of an entry of such a map. */
const entryBytes = 36

/** Returns the charge in hundredths: the first kilogram, and each further one begun. */
export const charge = (rate: Rate, weightKg: number): number =>
  rate.firstKg + Math.max(0, Math.ceil(weightKg) - 1) * rate.eachExtraKg

/** The rate cards of a tenant by name. */
export const readRateCards = (row: Pick<CatalogueRow, 'cards' | 'zones' | 'zone_cities' | 'rates'>) => {
  const ofCard = ([card]: readonly [card: string, ...unknown[]]): string => card
  const zones = Map.groupBy(row.zones, ofCard)
  const cities = Map.groupBy(row.zone_cities, ofCard)
  const rates = Map.groupBy(row.rates, ofCard)
  const readCard = (name: string): RateCard =>
    new RateCard({
      name,
      zones: (zones.get(name) ?? []).map(([, id, name]) => ({ id, name })),
      elsewhere: zones.get(name)?.find(([, , , isElsewhere]) => isElsewhere)?.[2],
      cities: (cities.get(name) ?? []).map(([, cityId, zone]) => ({ cityId, zone })),
      rates: (rates.get(name) ?? []).map(([, from, to, firstKg, eachExtraKg]) => ({
        from,
        to,
        firstKg: toHundredths(firstKg),
        eachExtraKg: toHundredths(eachExtraKg),
      })),
    })
  return new Map(row.cards.map(name => [name, readCard(name)]))
}

const toHundredths = (price: number): number => Math.round(price * 100)
