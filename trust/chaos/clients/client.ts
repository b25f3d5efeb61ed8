import type { Bed } from '../bed.ts'
import type { Evidence } from '../evidence.ts'
import type { Happened } from '../faults.ts'
import type { Call } from '../history.ts'
import { pick } from '../plan.ts'
import type { Recorder, Wanted } from '../record.ts'

/** Does what a client does next, again and again; `n` counts. */
export type Act = (n: number) => Promise<unknown>
export type Chance = () => number

/** Who takes part, and how busily. */
export interface Crew {
  readonly merchants?: number
  readonly clerks?: number
  readonly agents?: number
  readonly customers?: number
  /** Agents keep at least half as many messages queued. */
  readonly backlog?: number
  /** Messages go to so many people. */
  readonly people?: number
  /** The mean pause of a client between two acts, in milliseconds. */
  readonly pauseMs?: number
  /** Starts an act in each such time, in milliseconds, however long the one before takes. */
  readonly everyMs?: number
  /** Orders in a batch, at most, but for a twentieth of the batches. */
  readonly batch?: number
  /** Merchants book with a key, and do nothing else. */
  readonly onlyBooks?: boolean
}

/** People who opt out: the first half of them by staff, the other half by themselves. */
const leavers = 8
const personOf = (n: number): string => `9477${1_000_000 + n}`
export const leaver = (half: 0 | 1, chance: Chance): string => personOf(Math.floor(((half + chance()) * leavers) / 2))

/** Who decides what becomes of an order: the others leave it alone. */
const fates = ['staff', 'staff', 'staff', 'customer', 'customer', 'merchant'] as const

/** A waybill that was acknowledged, with the status that staff know of. */
export interface Known {
  readonly waybill: string
  readonly fate: (typeof fates)[number]
  status: string
}
export const toKnown = (chance: Chance, waybill: string, status: string): Known => {
  return { waybill, status, fate: pick(fates, chance) }
}

/** Things that clients share. */
export interface Common {
  readonly bed: Bed
  readonly recorder: Recorder
  readonly crew: Crew
  /** The orders of all merchants. */
  readonly known: Known[]
  readonly made: Pick<Evidence, 'presses' | 'texts' | 'stops'>
  readonly log: Happened[]
}

export interface Client extends Common {
  readonly who: string
  readonly chance: Chance
}

export const anyone = ({ crew: { people = 100 }, chance }: Client): string => personOf(Math.floor(chance() * people))

export const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-tenant': 'demo' })

type Wish = Partial<Pick<Wanted, 'parts' | 'asked' | 'body' | 'method' | 'key'>>

/** Requests of one client to one address. `insist` repeats what has a key, and at times what was done already. */
export const requester = ({ recorder, who, chance }: Client, address: string, headers: Wanted['headers']) => {
  const want = (what: string, name: string, path: string, { parts = [], asked, ...wish }: Wish): Wanted => {
    return { who, what, name, url: address + path, headers, parts, asked, ...wish }
  }
  return {
    call: (what: string, name: string, path: string, wish: Wish = {}): Promise<Call> =>
      recorder.call(want(what, name, path, wish)),
    insist: async (what: string, name: string, path: string, wish: Wish): Promise<Call> => {
      const made = await recorder.insist(want(what, name, path, wish))
      if (wish.key && chance() < 0.2) await recorder.insist(want(what, name, path, wish))
      return made
    },
  }
}
