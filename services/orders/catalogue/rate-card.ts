/** Prices in hundredths of the tenant's currency unit. */
export interface Rate {
  readonly firstKg: number
  readonly eachExtraKg: number
}

export interface Zone {
  readonly id: number
  readonly name: string
}

/** A merchant's prices: cities belong to zones, and a pair of zones has a rate. */
export class RateCard {
  readonly #zoneOfCity = new Map<number, string>()
  readonly #zones = new Map<string, Zone>()
  readonly #elsewhere: string | undefined
  readonly #rates = new Map<string, Map<string, Rate>>()

  /** `elsewhere` is the zone of every city without one of its own. */
  constructor(elsewhere?: string) {
    this.#elsewhere = elsewhere
  }

  addZone(zone: Zone): void {
    this.#zones.set(zone.name, zone)
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

  /** As merchants read it. */
  listedZoneOf(cityId: number): Zone | null {
    return this.#zones.get(this.zoneOf(cityId) ?? '') ?? null
  }

  /** undefined when the card lacks the combination (docs/contract.md#errors). */
  find(originCityId: number, destinationCityId: number): Rate | undefined {
    const from = this.zoneOf(originCityId)
    const to = this.zoneOf(destinationCityId)
    return from === undefined || to === undefined ? undefined : this.#rates.get(from)?.get(to)
  }
}

/** The charge in hundredths: the first kilogram, and each further one begun. */
export const charge = (rate: Rate, weightKg: number): number =>
  rate.firstKg + Math.max(0, Math.ceil(weightKg) - 1) * rate.eachExtraKg
