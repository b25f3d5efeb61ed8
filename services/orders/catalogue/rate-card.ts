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

/** A merchant's prices: cities belong to zones, and a pair of zones has a rate. */
export class RateCard {
  readonly name: string
  readonly #elsewhere: Zone | undefined
  readonly #zoneOfCity: ReadonlyMap<number, Zone | undefined>
  readonly #rates = new Map<Zone | undefined, Map<Zone | undefined, Rate>>()
  /** The number of its cities and rates. */
  readonly size: number

  constructor({ name, zones, elsewhere, cities, rates }: RateCardParts) {
    const named = new Map(zones.map(zone => [zone.name, zone]))
    const priced = createPrices()
    this.name = name
    this.size = cities.length + rates.length
    this.#elsewhere = named.get(elsewhere ?? '')
    this.#zoneOfCity = new Map(cities.map(({ cityId, zone }) => [cityId, named.get(zone)]))
    for (const zone of zones) this.#rates.set(zone, new Map())
    for (const { from, to, ...rate } of rates) this.#rates.get(named.get(from))?.set(named.get(to), priced(rate))
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

/** Shares equal prices: a process keeps hundreds of thousands of rates, with few prices. */
const createPrices = () => {
  const known = new Map<string, Rate>()
  return ({ firstKg, eachExtraKg }: Rate): Rate => {
    const key = `${firstKg} ${eachExtraKg}`
    const rate = known.get(key) ?? { firstKg, eachExtraKg }
    known.set(key, rate)
    return rate
  }
}

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
