import type { CardRow } from './queries.ts'

/** Holds prices in ten-thousandths of the tenant's currency unit: no currency has a smaller one. */
export interface Rate {
  readonly firstKg: number
  readonly eachExtraKg: number
}

interface Zone {
  readonly id: number
  readonly name: string
}

/** Holds a merchant's prices: cities belong to zones, and a pair of zones has a rate. */
export class RateCard {
  readonly name: string
  readonly #elsewhere: Zone | undefined
  readonly #zoneOfCity: ReadonlyMap<number, Zone | undefined>
  readonly #rates = new Map<Zone | undefined, Map<Zone | undefined, Rate>>()
  /** Counts its cities and rates. */
  readonly size: number

  constructor({ name, zones, cities, rates }: CardRow) {
    const named = new Map(zones.map(([id, name]) => [name, { id, name }]))
    const [, elsewhere = ''] = zones.find(([, , isElsewhere]) => isElsewhere) ?? []
    const share = createPrices()
    this.name = name
    this.size = cities.length + rates.length
    this.#elsewhere = named.get(elsewhere)
    this.#zoneOfCity = new Map(cities.map(([cityId, zone]) => [cityId, named.get(zone)]))
    for (const zone of named.values()) this.#rates.set(zone, new Map())
    for (const [from, to, ...prices] of rates) this.#rates.get(named.get(from))?.set(named.get(to), share(...prices))
  }

  /** Returns undefined for a city without a zone. */
  findZone(cityId: number): Zone | undefined {
    return this.#zoneOfCity.get(cityId) ?? this.#elsewhere
  }

  /** Returns undefined when the card lacks the combination (docs/merchants/contract.md#errors). */
  find(originCityId: number, destinationCityId: number): Rate | undefined {
    return this.#rates.get(this.findZone(originCityId))?.get(this.findZone(destinationCityId))
  }
}

/** Shares equal prices: a process keeps hundreds of thousands of rates, with few distinct prices. */
const createPrices = () => {
  const known = new Map<string, Rate>()
  return (firstKg: number, eachExtraKg: number): Rate => {
    const key = `${firstKg} ${eachExtraKg}`
    const rate = known.get(key) ?? { firstKg: toUnits(firstKg), eachExtraKg: toUnits(eachExtraKg) }
    known.set(key, rate)
    return rate
  }
}

const toUnits = (price: number): number => Math.round(price * 10_000)

/** Converts ten-thousandths to units of the currency. */
export const toAmount = (units: number): number => units / 10_000

/** Returns the charge in ten-thousandths, for the first kilogram and each further kilogram begun. */
export const charge = (rate: Rate, weightKg: number): number =>
  rate.firstKg + Math.max(0, Math.ceil(weightKg) - 1) * rate.eachExtraKg
