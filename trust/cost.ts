import { median, roundTo } from '../bench/statistics.ts'
import type { Attack } from './attacks.ts'
import type { Operation } from './document.ts'
import { rightBodies } from './inputs.ts'
import { countBytes, findPlaces, type Place } from './places.ts'
import type { TrustOptions, TrustPromise } from './promise.ts'
import type { Request } from './sender.ts'
import { manyCities, startTargets, type Target } from './targets.ts'

/** Limits the milliseconds by which an input may block the loop longer than harmless text of as many bytes. */
const maxMs = 50
/** Limits the growth of the cost with four times the bytes. A cost below `noiseMs` is noise. */
const maxGrowth = 10
/** The short form runs beside other tests, which add noise. */
const noiseMs = { full: 3, short: 20 }

interface Try {
  readonly attack: Attack
  readonly length: number
  readonly items: number
  readonly what: string
}

interface Counts {
  inputs: number
  places: number
  worstMs: number
}

/** Creates the search for costly inputs of a service, which tries attacks on one place at a time. */
const createSearch = (target: Target, { broken, short }: TrustOptions, counts: Counts) => {
  const { name: service, send, blockedMs } = target
  /** Sends the input, and resolves to the milliseconds that the response took. */
  const sendOne = async (input: Request, what: string): Promise<number> => {
    const { status, ms } = await send(input)
    counts.inputs++
    broken.require(status < 500, `${what}: ${status}`)
    return ms
  }
  const measure = async (input: Request, what: string): Promise<number> => {
    await blockedMs()
    await sendOne(input, what)
    return blockedMs()
  }
  /** Measures alternately how much longer a share of the attack blocks the loop than as many harmless bytes. */
  const measureExcess = async (place: Place, { attack, length, items, what }: Try, share = 1): Promise<number> => {
    const parts = Math.ceil(items * share)
    const input = place.fill(attack.text(items > 1 ? length : Math.ceil(length * share), place.own), parts)
    const [own, normal]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < 3; turn++) {
      own.push(await measure(input, what))
      normal.push(await measure(place.harmless(countBytes(input), parts), `${what}, harmless`))
    }
    return Math.min(...own) - median(normal)
  }
  /**
   * Requires that the loop is blocked at most `maxMs` longer than by harmless text, and roughly in proportion to the
   * bytes. Measures twice, since the machine may pause.
   */
  const judge = async (place: Place, one: Try): Promise<void> => {
    const first = await measureExcess(place, one)
    const more = first < maxMs / 2 ? first : Math.min(first, await measureExcess(place, one))
    counts.worstMs = Math.max(counts.worstMs, more)
    if (more > maxMs) return broken.add(`${one.what}: blocked ${roundTo(more)} ms longer than harmless text`)
    const noise = noiseMs[short ? 'short' : 'full']
    const measureGrowth = async (): Promise<number> => more / Math.max(noise, await measureExcess(place, one, 1 / 4))
    if (more < maxMs / 2 || (await measureGrowth()) < maxGrowth) return
    const again = await measureGrowth()
    broken.require(again < maxGrowth, `${one.what}: ${roundTo(again)} times the cost of a quarter of it`)
  }
  /**
   * Sends inputs one after another; if they block the loop too long, measures the four slowest. Returns true if all
   * pass.
   */
  const tryAll = async (place: Place, tries: readonly Try[]): Promise<boolean> => {
    const failures = broken.count
    const slow: { one: Try; ms: number }[] = []
    for (const one of tries) {
      const ms = await sendOne(place.fill(one.attack.text(one.length, place.own), one.items), one.what)
      slow.push({ one, ms })
      if (ms > 3_000) break
    }
    if ((await blockedMs()) > maxMs / 2)
      for (const { one } of slow.sort((a, b) => b.ms - a.ms).slice(0, 4))
        if (broken.count === failures) await judge(place, one)
    return broken.count === failures
  }
  /** Tries the attacks, or one in `share` of them, at growing sizes. Leaves a place at its first failure. */
  return async ({ id }: Operation, place: Place, sizes: readonly Size[], share: number): Promise<void> => {
    const turn = counts.places++
    for (const [length, items] of sizes) {
      const each = length * items > 262_144 ? Math.max(share, 4) : share
      const what = (name: string): string => `${service} ${id} ${place.name}: ${name} ${length} x ${items}`
      const chosen = place.attacks.filter((_attack, index) => (index + turn) % each === 0)
      const tries = chosen.map(attack => ({ attack, length, items, what: what(attack.name) }))
      if (!(await tryAll(place, tries))) return
    }
  }
}

type Size = [length: number, items: number]

/** Returns growing lengths of a text, then lists of long texts. */
const listSizes = (place: Place, limit: number, maxItems: number): Size[] => {
  const max = Math.floor(place.kind === 'head' ? Math.min(limit, 15_000) : limit)
  const grown = Array.from({ length: 8 }, (_, n) => 1024 * 4 ** n).filter(length => length < max)
  const longer = place.maxLength < max ? grown.filter(length => length > place.maxLength).slice(0, 2) : grown
  const lengths = new Set([Math.min(place.maxLength, max), ...longer, max])
  const listed = place.kind === 'list' ? [10, 50, maxItems] : []
  return [
    ...[...lengths].sort((a, b) => a - b).map((length): Size => [length, 1]),
    ...listed.map((items): Size => [Math.min(place.maxLength, 1024), items]),
  ]
}

const search = async (target: Target, options: TrustOptions, counts: Counts): Promise<void> => {
  const { short, report } = options
  const tryPlace = createSearch(target, options, counts)
  for (const operation of target.operations) {
    const rights = { headers: target.headersFor(operation), isRight: true }
    const stranger = { headers: { 'x-tenant': 'demo' }, isRight: false }
    const bodies = rightBodies(operation)
    for (const base of bodies.length > 0 ? bodies : [undefined])
      for (const client of [rights, stranger]) {
        await target.repair()
        const places = findPlaces(operation, client, base, target.names)
        const given = countBytes((places[0] as Place).harmless(0, 1))
        const limit = short || base === undefined ? 16_384 : operation.maxBodyBytes - given
        await target.blockedMs()
        // COST_ONLY chooses some places, such as `notifier POST /api/messages template`, or `notifier `.
        const isChosen = ({ name }: Place): boolean =>
          `${target.name} ${operation.id} ${name}`.includes(process.env.COST_ONLY ?? '')
        for (const place of places.filter(isChosen)) {
          const sizes = listSizes(place, limit, short ? 100 : 1_000)
          await tryPlace(operation, place, short ? sizes.slice(-1) : sizes, short ? 80 : 1)
        }
      }
    report(`${target.name} ${operation.id}: ${counts.inputs} inputs so far`)
  }
}

export const promise: TrustPromise = {
  promise: 'No client stalls the others: every input costs little',
  limit: `attacks in every text up to its limits: event loop blocked at most ${maxMs} ms longer than by harmless text, linear, no 5xx`,
  run: async options => {
    const counts = { inputs: 0, places: 0, worstMs: 0 }
    for (const target of Object.values(await startTargets(options, manyCities))) await search(target, options, counts)
    const { inputs, places, worstMs } = counts
    return { inputs, places, errors: options.broken.count, 'worst ms': roundTo(worstMs, 1) }
  },
}
