/** Lists the characters that each wildcard of a mask matches, and names them; every other character matches itself. */
const wildcards: Readonly<Record<string, readonly [characters: string, meaning: string]>> = {
  '#': ['0123456789', 'a digit'],
  '@': ['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'a capital letter'],
  '*': ['0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'a digit or a capital letter'],
}

/** Represents a tenant's waybill mask, such as `DM########`. */
export class WaybillFormat {
  readonly mask: string
  /** Counts the distinct waybills that match, at most 2^53 - 1. */
  readonly capacity: number
  /** Lists the characters allowed at each position of the mask. */
  readonly #sets: readonly string[]

  constructor(mask: string) {
    this.mask = mask
    this.#sets = [...mask].map(character => wildcards[character]?.[0] ?? character)
    this.capacity = Math.min(
      this.#sets.reduce((product, set) => product * set.length, 1),
      Number.MAX_SAFE_INTEGER,
    )
  }

  matches(waybill: string): boolean {
    return waybill.length === this.#sets.length && this.#sets.every((set, index) => set.includes(waybill.charAt(index)))
  }

  /** Returns the waybill of a number from 0 to `capacity - 1`; higher numbers sort later. */
  waybill(number: number): string {
    let rest = number
    let text = ''
    for (let position = this.#sets.length - 1; position >= 0; position--) {
      const set = this.#sets[position] as string
      text = set.charAt(rest % set.length) + text
      rest = Math.floor(rest / set.length)
    }
    return text
  }

  /** Describes the mask in words, for an error: `DM##, where # is a digit`. */
  get description(): string {
    const used = Object.entries(wildcards).filter(([wildcard]) => this.mask.includes(wildcard))
    const meanings = used.map(([wildcard, [, meaning]]) => `${wildcard} is ${meaning}`)
    return used.length > 0 ? `${this.mask}, where ${meanings.join(' and ')}` : this.mask
  }
}
