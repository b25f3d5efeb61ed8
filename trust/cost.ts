import { median, rounded } from '../bench/figures.ts'
import type { Attack } from './attacks.ts'
import type { Operation } from './document.ts'
import { rightBodies } from './inputs.ts'
import { countBytes, findPlaces, type Place } from './places.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'
import type { Request } from './sender.ts'
import { startTargets, type Target } from './targets.ts'

/** Limits by how many milliseconds an input may block the loop longer than harmless text of as many bytes. */
const maxMs = 50
/** Limits the cost of four times the bytes; below this many milliseconds it is noise, more of it beside other tests. */
const maxGrowth = 10
const noiseMs = { full: 3, short: 20 }

interface Try {
  readonly attack: Attack
  readonly length: number
  readonly items: number
  readonly what: string
}

/** Searches for costly inputs of a service. */
class Search {
  readonly broken: Broken
  readonly counts = { inputs: 0, places: 0 }
  worstMs = 0
  readonly #target: Target
  readonly #noiseMs: number

  constructor(target: Target, broken: Broken, short: boolean) {
    this.#target = target
    this.#noiseMs = noiseMs[short ? 'short' : 'full']
    this.broken = broken
  }

  /** Sends the input, and resolves to the milliseconds that the response took. */
  async #send(input: Request, what: string): Promise<number> {
    const { status, ms } = await this.#target.send(input)
    this.counts.inputs++
    this.broken.require(status < 500, `${what}: ${status}`)
    return ms
  }

  async #blockedBy(input: Request, what: string): Promise<number> {
    await this.#target.blockedMs()
    await this.#send(input, what)
    return this.#target.blockedMs()
  }

  /** Measures in turns how much longer a share of the attack blocks the loop than as many harmless bytes. */
  async #excess(place: Place, { attack, length, items, what }: Try, share: number): Promise<number> {
    const parts = Math.ceil(items * share)
    const input = place.fill(attack.text(items > 1 ? length : Math.ceil(length * share), place.own), parts)
    const [own, normal]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < 3; turn++) {
      own.push(await this.#blockedBy(input, what))
      normal.push(await this.#blockedBy(place.harmless(countBytes(input), parts), `${what}, harmless`))
    }
    return Math.min(...own) - median(normal)
  }

  /**
   * Requires that the loop is blocked no longer than by harmless text, and at most in proportion to the bytes. Measures
   * twice, since a machine pauses too.
   */
  async #judge(place: Place, one: Try): Promise<void> {
    const first = await this.#excess(place, one, 1)
    const more = first < maxMs / 2 ? first : Math.min(first, await this.#excess(place, one, 1))
    this.worstMs = Math.max(this.worstMs, more)
    if (more > maxMs) return this.broken.add(`${one.what}: blocked ${rounded(more)} ms longer than harmless text`)
    const growth = async (): Promise<number> => more / Math.max(this.#noiseMs, await this.#excess(place, one, 1 / 4))
    if (more < maxMs / 2 || (await growth()) < maxGrowth) return
    const again = await growth()
    this.broken.require(again < maxGrowth, `${one.what}: ${rounded(again)} times a quarter of it`)
  }

  /**
   * Sends inputs one after another; if the loop was blocked too long, measures the slowest. Returns true if all pass.
   */
  async #tryAll(place: Place, tries: readonly Try[]): Promise<boolean> {
    const failures = this.broken.count
    const slow: { one: Try; ms: number }[] = []
    for (const one of tries) {
      const ms = await this.#send(place.fill(one.attack.text(one.length, place.own), one.items), one.what)
      slow.push({ one, ms })
      if (ms > 3_000) break
    }
    if ((await this.#target.blockedMs()) > maxMs / 2)
      for (const { one } of slow.sort((a, b) => b.ms - a.ms).slice(0, 4))
        if (this.broken.count === failures) await this.#judge(place, one)
    return this.broken.count === failures
  }

  /** Tries the attacks, or one of so many of them, at growing sizes. Leaves a place at its first failure. */
  async try({ id }: Operation, place: Place, sizes: readonly [length: number, items: number][], share: number) {
    const turn = this.counts.places++
    for (const [length, items] of sizes) {
      const each = length * items > 262_144 ? Math.max(share, 4) : share
      const what = (name: string): string => `${this.#target.name} ${id} ${place.name}: ${name} ${length} x ${items}`
      const chosen = place.attacks.filter((_attack, index) => (index + turn) % each === 0)
      const tries = chosen.map(attack => ({ attack, length, items, what: what(attack.name) }))
      if (!(await this.#tryAll(place, tries))) return
    }
  }
}

/** Returns growing lengths of a text, then lists of long ones. */
const listSizes = (place: Place, limit: number, maxItems: number): [length: number, items: number][] => {
  const max = Math.floor(place.kind === 'head' ? Math.min(limit, 15_000) : limit)
  const grown = Array.from({ length: 8 }, (_, n) => 1024 * 4 ** n).filter(length => length < max)
  const longer = place.maxLength < max ? grown.filter(length => length > place.maxLength).slice(0, 2) : grown
  const lengths = new Set([Math.min(place.maxLength, max), ...longer, max])
  const listed = place.kind === 'list' ? [10, 50, maxItems] : []
  return [
    ...[...lengths].sort((a, b) => a - b).map((length): [number, number] => [length, 1]),
    ...listed.map((items): [number, number] => [Math.min(place.maxLength, 1024), items]),
  ]
}

const search = async (target: Target, { short, report, broken }: TrustOptions): Promise<Search> => {
  const found = new Search(target, broken, short)
  for (const operation of target.operations) {
    const rights = { headers: target.headersFor(operation), isRight: true }
    const stranger = { headers: { 'x-tenant': 'demo' }, isRight: false }
    const bodies = rightBodies(operation)
    for (const base of bodies.length > 0 ? bodies : [undefined])
      for (const client of [rights, stranger]) {
        await target.repair()
        const places = findPlaces(operation, client, base, target.names)
        const limit =
          short || base === undefined
            ? 16_384
            : operation.maxBodyBytes - countBytes((places[0] as Place).harmless(0, 1))
        await target.blockedMs()
        // COST_ONLY chooses some places, such as `notifier POST /api/messages template`, or `notifier `.
        for (const place of places.filter(({ name }) =>
          `${target.name} ${operation.id} ${name}`.includes(process.env.COST_ONLY ?? ''),
        )) {
          const sizes = listSizes(place, limit, short ? 100 : 1_000)
          await found.try(operation, place, short ? sizes.slice(-1) : sizes, short ? 80 : 1)
        }
      }
    report(`${target.name} ${operation.id}: ${found.counts.inputs} inputs so far`)
  }
  return found
}

export const promise: TrustPromise = {
  promise: 'No client stalls the others: every input costs little',
  limit: `attacks in every text up to its limits: event loop blocked at most ${maxMs} ms longer than by harmless text, linear, no 5xx`,
  run: async options => {
    const found: Search[] = []
    for (const target of Object.values(await startTargets(options))) found.push(await search(target, options))
    const total = (key: keyof Search['counts']): number => found.reduce((sum, { counts }) => sum + counts[key], 0)
    return {
      inputs: total('inputs'),
      places: total('places'),
      errors: options.broken.count,
      'worst ms': rounded(Math.max(...found.map(({ worstMs }) => worstMs)), 1),
    }
  },
}
