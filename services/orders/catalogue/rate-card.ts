/** Prices in hundredths of the tenant's currency unit. */
export interface Rate {
  readonly firstKg: number
  readonly eachExtraKg: number
}

export interface Zone {
  readonly id: number
  readonly name: string
}

/** What a card is made of; a zone is named by its name. */
export interface RateCardParts {
  readonly name: string
  readonly zones: readonly Zone[]
  /** The zone of every city without one of its own. */
  readonly elsewhere?: string | undefined
  readonly cities: readonly { readonly cityId: number; readonly zone: string }[]
  readonly rates: readonly (Rate & { readonly from: string; readonly to: string })[]
}

/**
 * A merchant's prices: cities belong to zones, and a pair of zones has a rate. Processes keep hundreds of thousands of them: in
 * arrays of numbers a rate takes a third of what it takes in maps and objects, and is found as fast.
 */
export class RateCard {
  readonly name: string
  readonly #zones: readonly Zone[]
  readonly #elsewhere: number
  readonly #cityIds: NumberIndex
  /** The place in `#zones` of each one's zone. */
  readonly #zoneOfCity: Uint32Array
  /** Pairs of zones (`#pairOf`), and the prices of each. */
  readonly #pairs: NumberIndex
  readonly #firstKg: Float64Array
  readonly #eachExtraKg: Float64Array

  constructor({ name, zones, elsewhere, cities, rates }: RateCardParts) {
    this.name = name
    this.#zones = zones
    const places = new Map(zones.map((zone, place) => [zone.name, place]))
    const placeOf = (zone: string | undefined): number => places.get(zone ?? '') ?? -1
    this.#elsewhere = placeOf(elsewhere)
    this.#cityIds = new NumberIndex(cities.map(({ cityId }) => cityId))
    this.#zoneOfCity = Uint32Array.from(cities, ({ zone }) => placeOf(zone))
    this.#pairs = new NumberIndex(rates.map(({ from, to }) => this.#pairOf(placeOf(from), placeOf(to))))
    this.#firstKg = Float64Array.from(rates, ({ firstKg }) => firstKg)
    this.#eachExtraKg = Float64Array.from(rates, ({ eachExtraKg }) => eachExtraKg)
  }

  /** In memory, as measured, rounded up. */
  get estimatedBytes(): number {
    const zones = this.#zones.reduce((bytes, { name }) => bytes + 120 + 2 * name.length, 0)
    const cities = this.#cityIds.bytes + this.#zoneOfCity.byteLength
    return 2_000 + zones + cities + this.#pairs.bytes + 2 * this.#firstKg.byteLength
  }

  /** undefined for a city that is in no zone. */
  zoneOf(cityId: number): Zone | undefined {
    return this.#zones[this.#placeOf(cityId)]
  }

  /** undefined when the card lacks the combination (docs/merchants/contract.md#errors). */
  find(originCityId: number, destinationCityId: number): Rate | undefined {
    const from = this.#placeOf(originCityId)
    const to = this.#placeOf(destinationCityId)
    const index = from < 0 || to < 0 ? -1 : this.#pairs.indexOf(this.#pairOf(from, to))
    if (index < 0) return undefined
    return { firstKg: this.#firstKg[index] as number, eachExtraKg: this.#eachExtraKg[index] as number }
  }

  #placeOf(cityId: number): number {
    const index = this.#cityIds.indexOf(cityId)
    return index < 0 ? this.#elsewhere : (this.#zoneOfCity[index] as number)
  }

  #pairOf(from: number, to: number): number {
    return from * this.#zones.length + to
  }
}

/** The indexes of whole numbers in their list: a hash table with open addressing. */
class NumberIndex {
  readonly #numbers: Float64Array
  /** One more than an index; 0 is free. At most two in three are taken. */
  readonly #slots: Uint32Array
  readonly #shift: number

  constructor(numbers: readonly number[]) {
    const bits = Math.ceil(Math.log2(1.5 * numbers.length + 2))
    this.#numbers = Float64Array.from(numbers)
    this.#slots = new Uint32Array(2 ** bits)
    this.#shift = 32 - bits
    for (const [index, number] of this.#numbers.entries()) this.#slots[this.#slotOf(number)] = index + 1
  }

  get bytes(): number {
    return this.#numbers.byteLength + this.#slots.byteLength
  }

  /** -1 for a number that is not in the list. */
  indexOf(number: number): number {
    return (this.#slots[this.#slotOf(number)] as number) - 1
  }

  /** Where the number is, or else belongs. Multiplying by 2^32 / φ spreads neighbours. */
  #slotOf(number: number): number {
    let slot = Math.imul(number, 0x9e3779b1) >>> this.#shift
    for (;;) {
      const entry = this.#slots[slot] as number
      if (entry === 0 || this.#numbers[entry - 1] === number) return slot
      slot = (slot + 1) % this.#slots.length
    }
  }
}

/** The charge in hundredths: the first kilogram, and each further one begun. */
export const charge = (rate: Rate, weightKg: number): number =>
  rate.firstKg + Math.max(0, Math.ceil(weightKg) - 1) * rate.eachExtraKg
