import { chanceOf } from '../../test/chance.ts'

/** What happens to a process. */
const toProcesses = ['kill', 'restart', 'pause', 'clock'] as const
/** What happens to the connections of a link, as in dev/tcp-proxy.ts: `silence` deadens those that are open. */
const toLinks = [
  'cut',
  'silence',
  'black_hole',
  'slow',
  'lost_response',
  'half_request',
  'half_response',
  'reset',
] as const
/** What the messaging API does to the next sends (simulator/README.md#scripts). */
const toApi = ['busy', 'too_many', 'undeliverable', 'token_refused', 'lost', 'cut_off', 'half', 'html'] as const

export const processNames = ['orders-1', 'orders-2', 'notifier-1', 'notifier-2'] as const
export const serverNames = ['Postgres-of-orders', 'Postgres-of-notifier'] as const
export const linkNames = [
  ...(['clients-orders', 'clients-notifier', 'webhooks-notifier', 'orders-notifier', 'notifier-orders'] as const),
  ...(['notifier-API', 'orders-Postgres', 'notifier-Postgres', 'orders-endpoint'] as const),
] as const

export type Target =
  | { readonly where: (typeof processNames)[number]; readonly kind: (typeof toProcesses)[number] }
  | { readonly where: (typeof linkNames)[number]; readonly kind: (typeof toLinks)[number] }
  | { readonly where: (typeof serverNames)[number]; readonly kind: 'killed' }
  | { readonly where: 'API'; readonly kind: (typeof toApi)[number] }

/** Times in milliseconds, `at` since the beginning. */
export type Fault = Target & { readonly at: number; readonly lasts: number }

/** As many faults may last at the same time. */
const lanes = 4

const pick = <Item>(items: readonly Item[], chance: () => number): Item =>
  items[Math.floor(chance() * items.length)] as Item

const pickTarget = (chance: () => number): Target => {
  const luck = chance()
  if (luck < 0.4) return { where: pick(processNames, chance), kind: pick(toProcesses, chance) }
  if (luck < 0.8) return { where: pick(linkNames, chance), kind: pick(toLinks, chance) }
  if (luck < 0.88) return { where: pick(serverNames, chance), kind: 'killed' }
  return { where: 'API', kind: pick(toApi, chance) }
}

/** In milliseconds. A process may sleep for longer than a claim (10 s), a lease (22 s) and a send (32 s) last. */
const lengthOf = ({ kind }: Target, most: number, chance: () => number): number => {
  if (kind === 'clock' || kind === 'silence') return 0
  return Math.round(chance() * (kind === 'pause' ? 5 * most : most))
}

/** The same for the same seed: faults of `milliseconds` in all, none of which is longer than `most`, pauses of processes apart. */
export const planFaults = (seed: number, milliseconds: number, most: number): Fault[] => {
  const chance = chanceOf(seed)
  const faults: Fault[] = []
  const isFree = ({ where, at, lasts }: Fault): boolean =>
    faults.every(other => other.where !== where || other.at + other.lasts < at - 500 || at + lasts < other.at - 500)
  for (let lane = 0; lane < lanes; lane++) {
    for (let at = chance() * most; at < milliseconds; at += chance() * most) {
      const target = pickTarget(chance)
      const lasts = Math.min(lengthOf(target, most, chance), milliseconds - at)
      const fault: Fault = { ...target, at: Math.round(at), lasts: Math.round(lasts) }
      if (!isFree(fault)) continue
      faults.push(fault)
      at += lasts
    }
  }
  return faults.toSorted((one, other) => one.at - other.at)
}
