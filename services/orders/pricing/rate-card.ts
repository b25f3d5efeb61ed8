/** Prices in hundredths of the tenant's currency unit. */
export interface Rate {
  readonly firstKg: number
  readonly eachExtraKg: number
}

/** A merchant's prices: cities belong to zones, a pair of zones has a rate. */
export class RateCard {
  readonly #zoneOfCity = new Map<number, string>()
  readonly #elsewhere: string | undefined
  readonly #rates = new Map<string, Map<string, Rate>>()

  /** `elsewhere` is the zone of every city that has none of its own. */
  constructor(elsewhere?: string) {
    this.#elsewhere = elsewhere
  }

  addCity(cityId: number, zone: string): void {
    this.#zoneOfCity.set(cityId, zone)
  }

  addRate(from: string, to: string, rate: Rate): void {
    const rates = this.#rates.get(from)
    if (rates) rates.set(to, rate)
    else this.#rates.set(from, new Map([[to, rate]]))
  }

  /** undefined for a city that is in no zone. */
  zoneOf(cityId: number): string | undefined {
    return this.#zoneOfCity.get(cityId) ?? this.#elsewhere
  }

  /** undefined when the card lacks the combination (spec.md 7). */
  find(originCityId: number, destinationCityId: number): Rate | undefined {
    const from = this.zoneOf(originCityId)
    const to = this.zoneOf(destinationCityId)
    return from === undefined || to === undefined ? undefined : this.#rates.get(from)?.get(to)
  }
}

/** The charge in hundredths: the first kilogram, and each one after it that is started. */
export const charge = (rate: Rate, weightKg: number): number =>
  rate.firstKg + Math.max(0, Math.ceil(weightKg) - 1) * rate.eachExtraKg
