import { nameKey } from '@courier/shared/name-key.ts'
import { distance as edits } from 'fastest-levenshtein'
import { LRUCache } from 'lru-cache'
import type { Catalogue } from './catalogue.ts'
import type { City, CityIndex, State, SuggestionBudget } from './cities.ts'
import { maxSoundLength, skeletonsOf, soundDistance, soundOf, startOf, wordsOf } from './spelling.ts'

/** What a name stands for: a city, or a state or numbered districts (Colombo 01 to 15), of which no single city is meant. */
export interface Named {
  readonly sound: string
  /** As it is written, without blanks and signs. */
  readonly plain: string
  readonly city?: City
  readonly isAlias?: boolean
  readonly among?: readonly City[]
}

export interface Near {
  readonly named: Named
  readonly distance: number
}

/** At most so many names are compared with one. */
const maxCompared = 200

const citiesOfSlice = 200
const mostWords = 6

/** The names and aliases of a tenant's cities and states by their sound, and the cities by their postal codes. */
export class PlaceIndex {
  readonly #bySound = new Map<string, Named[]>()
  readonly #bySkeleton = new Map<string, Named[]>()
  readonly #byCode = new Map<string, City[]>()
  readonly #stems = new Map<string, City[]>()
  /** Of the longest name, but not more than addresses are read for. */
  maxWords = 1
  #names = 0

  /** `pause` is called between the slices of a long list. */
  static async of({ states, cities }: CityIndex, pause: () => Promise<void> = async () => {}): Promise<PlaceIndex> {
    const index = new PlaceIndex()
    for (const [n, city] of cities.entries()) {
      index.#addCity(city)
      if (n % citiesOfSlice === citiesOfSlice - 1) await pause()
    }
    const inState = Map.groupBy(cities, city => city.state.id)
    for (const state of states) index.#addState(state, inState.get(state.id) ?? [])
    for (const [stem, among] of index.#stems) index.#add(stem.split(' '), { among: [...new Set(among)] })
    index.#stems.clear()
    return index
  }

  #addCity(city: City): void {
    for (const [n, name] of [city.name, ...(city.aliases ?? [])].entries()) {
      const words = wordsOf(name).flat()
      this.maxWords = Math.min(mostWords, Math.max(this.maxWords, words.length))
      this.#add(words, { city, isAlias: n > 0 })
      if (words.length > 1 && /^[0-9]/.test(words.at(-1) ?? '')) push(this.#stems, words.slice(0, -1).join(' '), city)
    }
    if (city.postalCode !== null) push(this.#byCode, codeKey(city.postalCode), city)
  }

  /** A state has the aliases of the city of its name. */
  #addState({ name }: State, among: readonly City[]): void {
    const namesake = among.find(city => nameKey(city.name) === nameKey(name))
    for (const alias of [name, ...(namesake?.aliases ?? [])]) this.#add(wordsOf(alias).flat(), { among })
  }

  #add(words: readonly string[], of: Partial<Named>): void {
    const plain = words.join('')
    const sound = soundOf(plain)
    const named = { ...of, plain, sound }
    if (sound === '') return
    push(this.#bySound, sound, named)
    if (sound.length <= maxSoundLength)
      for (const skeleton of skeletonsOf(sound)) push(this.#bySkeleton, skeleton, named)
    this.#names++
  }

  /** In memory, as measured, rounded up. */
  get estimatedBytes(): number {
    return 2_000 + 250 * this.#names + 100 * this.#bySkeleton.size
  }

  /** Those that are written so, or else sound so. */
  named(plain: string): readonly Named[] {
    if (plain.length > 2 * maxSoundLength) return []
    const alike = this.#bySound.get(soundOf(plain)) ?? []
    const same = alike.filter(named => named.plain === plain)
    return same.length > 0 ? same : alike
  }

  /** Names that sound so but for this share of their letters, the nearest first; none when the budget runs out. */
  near(plain: string, share: number, budget: SuggestionBudget): Near[] {
    const sound = plain.length > 2 * maxSoundLength ? '' : soundOf(plain)
    if (sound.length < 4 || sound.length > maxSoundLength) return []
    const most = Math.min(3, share * sound.length)
    const compared = new Set<Named>()
    const found: Near[] = []
    for (const skeleton of skeletonsOf(sound))
      for (const named of this.#bySkeleton.get(skeleton) ?? []) {
        if (compared.size >= maxCompared) break
        if (compared.has(named) || Math.abs(named.sound.length - sound.length) > 2 * most) continue
        compared.add(named)
        if (!budget.spend(named.sound.length * sound.length)) return []
        // Few mistake the first letter.
        const ofStart = startOf(named.sound) === startOf(sound) ? 0 : 0.5
        const distance = soundDistance(sound, named.sound) + ofStart + 0.1 * edits(plain, named.plain)
        if (distance <= most) found.push({ named, distance })
      }
    return found.sort((a, b) => a.distance - b.distance)
  }

  /** Leading zeros do not count: spreadsheets lose them. */
  coded(postalCode: string): readonly City[] {
    return this.#byCode.get(codeKey(postalCode)) ?? []
  }
}

const codeKey = (code: string): string => code.replace(/\s/g, '').toLowerCase().replace(/^0+/, '')

const push = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

export type PlaceIndexOf = (catalogue: Catalogue) => Promise<PlaceIndex>

/** Those least recently used leave when all exceed `maxBytes`. */
export const createPlaceIndexes = (maxBytes: number, pause: () => Promise<void>): PlaceIndexOf => {
  const cache = new LRUCache<string, PlaceIndex>({
    maxSize: maxBytes,
    sizeCalculation: index => Math.min(maxBytes, index.estimatedBytes),
  })
  const making = new Map<string, Promise<PlaceIndex>>()
  const make = async (key: string, { cities }: Catalogue): Promise<PlaceIndex> => {
    const index = await PlaceIndex.of(cities, pause)
    cache.set(key, index)
    return index
  }
  return async catalogue => {
    const key = `${catalogue.tenant} ${catalogue.version}`
    const cached = cache.get(key)
    if (cached) return cached
    const started = making.get(key) ?? make(key, catalogue).finally(() => making.delete(key))
    making.set(key, started)
    return started
  }
}
