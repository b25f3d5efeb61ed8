import type { Trouble } from '../../simulator/trouble/trouble.ts'
import { createChance } from '../../test/chance.ts'

/** Lists the faults of a process. */
const processFaults = ['kill', 'restart', 'pause', 'clock'] as const
/** Lists the faults of a link's connections, as in dev/tcp-proxy.ts: `silence` deadens the open connections. */
const troubles = ['black_hole', 'slow', 'lost_response', 'half_request', 'half_response', 'reset'] as const
const linkFaults = ['cut', 'silence', ...troubles] as const
/** Lists the faults of the next sends at the messaging API (simulator/README.md#scripts). */
export const apiTroubles = {
  busy: { kind: 'error', code: 131016 },
  too_many: { kind: 'error', code: 130429 },
  undeliverable: { kind: 'error', code: 131026 },
  token_refused: { kind: 'error', code: 190 },
  lost: { kind: 'lost', accepted: true },
  cut_off: { kind: 'lost', accepted: false },
  half: { kind: 'half', accepted: true },
  html: { kind: 'html', accepted: true },
} satisfies Record<string, Trouble>
const apiFaults = Object.keys(apiTroubles) as (keyof typeof apiTroubles)[]

export const processNames = ['orders-1', 'orders-2', 'notifier-1', 'notifier-2'] as const
export type ProcessName = (typeof processNames)[number]
export const serverNames = ['Postgres-of-orders', 'Postgres-of-notifier'] as const
export const linkNames = [
  'clients-orders',
  'clients-notifier',
  'webhooks-notifier',
  'orders-notifier',
  'notifier-orders',
  'notifier-API',
  'orders-Postgres',
  'notifier-Postgres',
  'orders-endpoint',
] as const

export type Target =
  | { readonly where: ProcessName; readonly kind: (typeof processFaults)[number] }
  | { readonly where: (typeof linkNames)[number]; readonly kind: (typeof linkFaults)[number] }
  | { readonly where: (typeof serverNames)[number]; readonly kind: 'killed' }
  | { readonly where: 'API'; readonly kind: (typeof apiFaults)[number] }
  /** The merchant's endpoints react as the profile says. */
  | { readonly where: 'endpoints'; readonly kind: 'unsteady' }

/** Times are in milliseconds. */
export type Fault = Target & {
  /** Counts from the end of the previous fault in the lane, or from the beginning. */
  readonly at: number
  readonly lasts: number
  /** true: the fault ends only when the process is ready again. */
  readonly isAwaited?: boolean
}

/** The faults of a lane occur one after another, in parallel with those of other lanes. */
export type Lane = Iterable<Fault>

/** Limits the concurrent random faults. */
const lanes = 4

export const pick = <Item>(items: readonly Item[], chance: () => number): Item =>
  items[Math.floor(chance() * items.length)] as Item

const pickTarget = (chance: () => number): Target => {
  const luck = chance()
  if (luck < 0.4) return { where: pick(processNames, chance), kind: pick(processFaults, chance) }
  if (luck < 0.8) return { where: pick(linkNames, chance), kind: pick(linkFaults, chance) }
  if (luck < 0.88) return { where: pick(serverNames, chance), kind: 'killed' }
  return { where: 'API', kind: pick(apiFaults, chance) }
}

/**
 * Returns the length of a fault. A process may be paused for longer than a claim (10 s), a lease (22 s) or a send
 * (32 s) lasts.
 */
const drawLength = ({ kind }: Target, most: number, chance: () => number): number => {
  if (kind === 'clock' || kind === 'silence') return 0
  return Math.round(chance() * (kind === 'pause' ? 5 * most : most))
}

/**
 * Plans faults within `milliseconds`, none longer than `most` except pauses of processes. The same seed gives the same
 * plan.
 */
export const planFaults = (seed: number, milliseconds: number, most: number): Fault[] => {
  const chance = createChance(seed)
  const faults: Fault[] = []
  const isFree = ({ where, at, lasts }: Fault): boolean =>
    faults.every(other => other.where !== where || other.at + other.lasts < at - 500 || at + lasts < other.at - 500)
  for (let lane = 0; lane < lanes; lane++) {
    for (let at = chance() * most; at < milliseconds; at += chance() * most) {
      const target = pickTarget(chance)
      const lasts = Math.min(drawLength(target, most, chance), milliseconds - at)
      const fault: Fault = { ...target, at: Math.round(at), lasts: Math.round(lasts) }
      if (!isFree(fault)) continue
      faults.push(fault)
      at += lasts
    }
  }
  return faults.toSorted((one, other) => one.at - other.at)
}

/** Plans kills of the processes in turn, up to `most` milliseconds apart. Some die again before they are ready. */
export const planKills = (chance: () => number, count: number, most: number, of: readonly ProcessName[]): Fault[] =>
  Array.from({ length: count }, (_, n) => {
    const target = { where: of[n % of.length] as ProcessName, kind: 'kill' } as const
    return { ...target, at: chance() * most, lasts: 0, isAwaited: chance() < 0.8 }
  })

/** Plans faults of the connections, one after another with a pause as long as each, until `isEnough` returns true. */
export function* planTroubles(
  chance: () => number,
  where: (typeof linkNames)[number],
  milliseconds: number,
  isEnough: () => boolean,
): Generator<Fault> {
  const kinds = ['lost_response', 'lost_response', 'half_response', 'half_request', 'reset'] as const
  while (!isEnough()) yield { where, kind: pick(kinds, chance), at: milliseconds, lasts: milliseconds }
}
