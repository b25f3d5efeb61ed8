import { setTimeout as delay } from 'node:timers/promises'
import { median, percentile, rounded } from '../bench/figures.ts'
import type { Attack } from './attacks.ts'
import type { Operation } from './document.ts'
import { rightBodies } from './inputs.ts'
import { repeatedly } from './order-calls.ts'
import { type Place, placesOf, sizeOf } from './places.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'
import { type Request, startTargets, type Target } from './targets.ts'

/** What an input may hold the event loop longer than harmless text of as many bytes. */
const maxMs = 50
/** What four times the bytes may cost of what a quarter does; below so many milliseconds it is noise. */
const maxGrowth = 10
const noiseMs = 3
const maxRatio = 2
const attackers = 10
/** A p99 so little above the quiet one is the machine, on which the clients run too. */
const slackMs = 50

interface Try {
  readonly attack: Attack
  readonly length: number
  readonly items: number
  readonly what: string
}

/** Looks for inputs of a service that cost much. */
class Search {
  readonly broken: Broken
  /** Of up to 64 KB, those that took longest. */
  readonly costly: { input: Request; ms: number }[] = []
  readonly counts = { inputs: 0, places: 0 }
  worstMs = 0
  readonly #service: Target

  constructor(service: Target, broken: Broken) {
    this.#service = service
    this.broken = broken
  }

  /** Sends it and resolves to how many milliseconds the response took. */
  async #send(input: Request, what: string): Promise<number> {
    const { status, ms } = await this.#service.send(input)
    this.counts.inputs++
    this.broken.require(status < 500, `${what}: ${status}`)
    return ms
  }

  async #hold(input: Request, what: string): Promise<number> {
    await this.#service.held()
    await this.#send(input, what)
    return this.#service.held()
  }

  /** How much longer a share of the attack holds the loop than as many harmless bytes, measured in turns. */
  async #excess(place: Place, { attack, length, items, what }: Try, share: number): Promise<number> {
    const parts = Math.ceil(items * share)
    const input = place.fill(attack.text(items > 1 ? length : Math.ceil(length * share), place.own), parts)
    if (!input) return 0
    const [own, normal]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < 3; turn++) {
      own.push(await this.#hold(input, what))
      normal.push(await this.#hold(place.harmless(sizeOf(input), parts), `${what}, harmless`))
    }
    return Math.min(...own) - median(normal)
  }

  /** The loop is to be held for as short as by harmless text, and longer with the bytes at most. */
  async #judge(place: Place, one: Try): Promise<void> {
    const more = await this.#excess(place, one, 1)
    this.worstMs = Math.max(this.worstMs, more)
    if (more > maxMs) return this.broken.add(`${one.what}: held ${rounded(more)} ms longer than harmless text`)
    if (more < maxMs / 2) return
    const growth = more / Math.max(noiseMs, await this.#excess(place, one, 1 / 4))
    this.broken.require(growth < maxGrowth, `${one.what}: ${rounded(growth)} times a quarter of it`)
  }

  /** Sends them one after another; if the loop was held too long, the slowest are looked into. Whether all was well. */
  async #tryAll(place: Place, tries: readonly Try[]): Promise<boolean> {
    const failures = this.broken.count
    const slow: { one: Try; ms: number }[] = []
    for (const one of tries) {
      const input = place.fill(one.attack.text(one.length, place.own), one.items)
      if (!input) continue
      const ms = await this.#send(input, one.what)
      slow.push({ one, ms })
      if (sizeOf(input) <= 65_536) this.costly.push({ input, ms })
      this.costly.sort((a, b) => b.ms - a.ms).splice(attackers)
      if (ms > 3_000) break
    }
    if ((await this.#service.held()) > maxMs / 2)
      for (const { one } of slow.sort((a, b) => b.ms - a.ms).slice(0, 4))
        if (this.broken.count === failures) await this.#judge(place, one)
    return this.broken.count === failures
  }

  /** Tries the attacks, one of so many of them, at growing sizes. A place that is found wanting is left. */
  async try({ id }: Operation, place: Place, sizes: readonly [length: number, items: number][], share: number) {
    const turn = this.counts.places++
    for (const [length, items] of sizes) {
      const each = length * items > 262_144 ? Math.max(share, 4) : share
      const what = (name: string): string => `${this.#service.name} ${id} ${place.name}: ${name} ${length} x ${items}`
      const chosen = place.attacks.filter((_attack, index) => (index + turn) % each === 0)
      const tries = chosen.map(attack => ({ attack, length, items, what: what(attack.name) }))
      if (!(await this.#tryAll(place, tries))) return
    }
  }
}

/** Growing lengths of a text, then lists of long ones. */
const sizesOf = (place: Place, limit: number, maxItems: number): [length: number, items: number][] => {
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

const search = async (service: Target, { short, report, broken }: TrustOptions): Promise<Search> => {
  const found = new Search(service, broken)
  for (const operation of service.operations) {
    const rights = { headers: service.headersFor(operation), isRight: true }
    const stranger = { headers: { 'x-tenant': 'demo' }, isRight: false }
    const bodies = rightBodies(operation)
    for (const base of bodies.length > 0 ? bodies : [undefined])
      for (const client of [rights, stranger]) {
        await service.repair()
        const places = placesOf(operation, client, base, service.names)
        const limit =
          short || base === undefined ? 16_384 : operation.maxBodyBytes - sizeOf((places[0] as Place).harmless(0, 1))
        await service.held()
        // COST_ONLY chooses some places, such as `POST /api/messages template`.
        for (const place of places.filter(({ name }) =>
          `${operation.id} ${name}`.includes(process.env.COST_ONLY ?? ''),
        )) {
          const sizes = sizesOf(place, limit, short ? 100 : 1_000)
          await found.try(operation, place, short ? sizes.slice(-1) : sizes, short ? 20 : 1)
        }
      }
    report(`${service.name} ${operation.id}: ${found.counts.inputs} inputs so far`)
  }
  return found
}

/** The p99 in milliseconds of another tenant's requests. */
const callFor = async ({ send, rivals }: Target, seconds: number): Promise<number> =>
  percentile(await repeatedly(seconds, async () => (await send(rivals)).ms), 0.99)

/** Ten clients, each with what cost most, twenty times a second at most, while another tenant goes on. */
const besideAttackers = async (service: Target, { costly }: Search, seconds: number) => {
  await callFor(service, seconds / 4)
  const quietMs = await callFor(service, seconds)
  let isOver = false
  const clients = costly.map(async ({ input }) => {
    while (!isOver) await Promise.all([service.send(input), delay(50)])
  })
  const besideMs = await callFor(service, seconds)
  isOver = true
  await Promise.all(clients)
  return { quietMs, besideMs }
}

export const promise: TrustPromise = {
  promise: 'No client stalls the others: every input costs little, whoever sends it',
  limit: `every text of every operation x classic attacks up to its limits: loop held at most ${maxMs} ms longer than by harmless text, linear, no 5xx; others' p99 beside 10 such clients below ${maxRatio} x or within ${slackMs} ms`,
  run: async options => {
    const { short, broken } = options
    const found: Search[] = []
    const p99: Record<string, string> = {}
    for (const service of Object.values(await startTargets(options))) {
      const searched = await search(service, options)
      found.push(searched)
      const { quietMs, besideMs } = await besideAttackers(service, searched, short ? 0.5 : 6)
      const told = `${rounded(quietMs, 1)} -> ${rounded(besideMs, 1)}`
      p99[`p99 ms of another tenant at ${service.name}`] = told
      const isCalm = besideMs < quietMs * maxRatio || besideMs - quietMs <= slackMs
      broken.require(short || isCalm, `${service.name}: p99 of others ${told} ms beside 10 clients`)
    }
    const total = (key: keyof Search['counts']): number => found.reduce((sum, { counts }) => sum + counts[key], 0)
    return {
      ...{ inputs: total('inputs'), places: total('places'), faults: broken.count },
      'worst ms': rounded(Math.max(...found.map(({ worstMs }) => worstMs)), 1),
      ...p99,
    }
  },
}
