import { distance as edits } from 'fastest-levenshtein'
import { addTo, type City, type State } from './city.ts'
import { maxSoundLength, measureDistance, readStart, splitWords, writeSound } from './spelling.ts'

/** Says what a name means: a city, a state, or a group of numbered districts (Colombo 01 to 15). */
export interface Named {
  readonly sound: string
  /** Holds the name in lower-case Latin letters and digits, without spaces and signs. */
  readonly plain: string
  readonly city?: City
  readonly state?: State
  readonly among?: readonly City[]
}

export interface Near {
  readonly named: Named
  readonly distance: number
}

/** Spends steps of a request's budget; returns false and spends nothing when fewer are left. */
export type Spend = (steps: number) => boolean

const mostWords = 6
/** Limits the share of a sound that may differ in suggested names. */
const suggestedShare = 0.34

/** Indexes the names and aliases of a tenant's cities and states by sound, and the cities by postal code. */
export class PlaceIndex {
  readonly #bySound = new Map<string, Named[]>()
  readonly #byStart = new Map<string, Named[]>()
  readonly #byCode = new Map<string, City[]>()
  /** Counts the words of the longest name, up to `mostWords`. */
  maxWords = 1

  constructor({ states, cities }: { readonly states: readonly State[]; readonly cities: readonly City[] }) {
    const stems = new Map<string, City[]>()
    for (const city of cities) {
      for (const name of [city.name, ...(city.aliases ?? [])]) {
        const words = this.#add(name, { city })
        if (words.length > 1 && /^[0-9]/.test(words.at(-1) ?? '')) addTo(stems, words.slice(0, -1).join(' '), city)
      }
      if (city.postalCode !== null) addTo(this.#byCode, toCodeKey(city.postalCode), city)
    }
    const inState = Map.groupBy(cities, city => city.state.id)
    for (const state of states) this.#addState(state, inState.get(state.id) ?? [])
    for (const [stem, among] of stems) this.#add(stem, { among: [...new Set(among)] })
  }

  /** Gives a state the aliases of its city with the same name. */
  #addState(state: State, among: readonly City[]): void {
    const namesake = among.find(({ name }) => writeSound(name) === writeSound(state.name))
    for (const name of [state.name, ...(namesake?.aliases ?? [])]) this.#add(name, { state, among })
  }

  /**
   * Indexes a name, and returns its words. Sinhala and Tamil names match only by their exact sound: Latin names that
   * are almost the same are other towns.
   */
  #add(name: string, meaning: Partial<Named>): string[] {
    const words = splitWords(name).flat()
    this.maxWords = Math.min(mostWords, Math.max(this.maxWords, words.length))
    const plain = words.join('')
    const sound = writeSound(plain)
    const named = { ...meaning, plain, sound }
    if (sound !== '') addTo(this.#bySound, sound, named)
    if (sound.length <= maxSoundLength && !/[\u0b80-\u0dff]/.test(name)) addTo(this.#byStart, readStart(sound), named)
    return words
  }

  /** Finds the names that are written like this, or else those that sound like it. */
  findNamed(plain: string): readonly Named[] {
    if (plain.length > 2 * maxSoundLength) return []
    const alike = this.#bySound.get(writeSound(plain)) ?? []
    const same = alike.filter(named => named.plain === plain)
    return same.length > 0 ? same : alike
  }

  /** Finds names that sound similar, nearest first, short ones within one edit; none when the budget runs out. */
  findNear(plain: string, spend: Spend): Near[] {
    const sound = plain.length > 2 * maxSoundLength ? '' : writeSound(plain)
    if (sound.length < 3 || sound.length > maxSoundLength) return []
    const candidates = this.#byStart.get(readStart(sound)) ?? []
    const most = Math.min(3, suggestedShare * sound.length)
    if (!spend(candidates.length)) return []
    const found: Near[] = []
    for (const named of candidates) {
      const mostEdits = Math.max(1, Math.floor(Math.min(plain.length, named.plain.length) / 3))
      if (Math.abs(named.plain.length - plain.length) > mostEdits) continue
      if (!spend(named.sound.length * sound.length)) return []
      const wrong = edits(plain, named.plain)
      if (wrong > mostEdits && !isSwapped(plain, named.plain)) continue
      const distance = measureDistance(sound, named.sound) + 0.1 * wrong
      if (distance <= most) found.push({ named, distance })
    }
    return found.sort((a, b) => a.distance - b.distance)
  }

  /** Finds the cities with a postal code. Ignores leading zeros, since spreadsheets lose them. */
  findCoded(postalCode: string): readonly City[] {
    return this.#byCode.get(toCodeKey(postalCode)) ?? []
  }
}

/** Returns true if only two neighbouring letters are swapped. */
const isSwapped = (one: string, other: string): boolean => {
  const at = [...one].findIndex((letter, index) => letter !== other[index])
  return other === one.slice(0, at) + one.slice(at + 1, at + 2) + one.slice(at, at + 1) + one.slice(at + 2)
}

const toCodeKey = (code: string): string => code.replace(/\s/g, '').toLowerCase().replace(/^0+/, '')
