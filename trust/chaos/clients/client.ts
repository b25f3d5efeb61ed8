import { bearer } from '../../courier.ts'
import { type Bed, buildAddress } from '../bed.ts'
import type { Evidence } from '../evidence.ts'
import type { Happened } from '../faults.ts'
import type { Call } from '../history.ts'
import { pick } from '../plan.ts'
import type { Recorder, Wanted } from '../record.ts'

/** Performs a client's next act; `n` counts the client's acts. */
export type Act = (n: number) => Promise<unknown>
export type Chance = () => number

/** Describes the clients and their load. */
export interface Crew {
  readonly merchants?: number
  readonly clerks?: number
  readonly accountants?: number
  readonly agents?: number
  readonly customers?: number
  readonly riders?: number
  /** Agents keep at least half as many messages queued. */
  readonly backlog?: number
  /** Counts the people who get messages. */
  readonly people?: number
  /** Sets the mean pause of a client between two acts, in milliseconds. */
  readonly pauseMs?: number
  /** Sets the milliseconds from the start of one act to the next, even if the previous act still runs. */
  readonly everyMs?: number
  /** Limits the orders in a batch, except in a twentieth of the batches. */
  readonly batch?: number
  /** true: merchants only book, with a key. */
  readonly onlyBooks?: boolean
  /** Sets the share of settled requests with a key that are repeated; a fifth by default. */
  readonly repeats?: number
}

/** Counts the people who opt out: staff opt out the first half, and the others opt out themselves. */
const leavers = 8
const makePhone = (n: number): string => `9477${1_000_000 + n}`
export const pickLeaver = (half: 0 | 1, chance: Chance): string =>
  makePhone(Math.floor(((half + chance()) * leavers) / 2))

/** Weights the parties, one of which decides an order's fate: the others leave the order alone. */
const fates = ['staff', 'staff', 'staff', 'customer', 'customer', 'merchant'] as const

/** Describes an acknowledged waybill, with the status that staff know. */
export interface Known {
  readonly waybill: string
  readonly fate: (typeof fates)[number]
  status: string
}
export const toKnown = (chance: Chance, waybill: string, status: string): Known => {
  return { waybill, status, fate: pick(fates, chance) }
}

/** Holds the objects that clients share. */
export interface Common {
  readonly bed: Bed
  readonly recorder: Recorder
  readonly crew: Crew
  /** Lists the orders of all merchants. */
  readonly known: Known[]
  readonly made: Pick<Evidence, 'presses' | 'texts' | 'stops'>
  readonly log: Happened[]
}

export interface Client extends Common {
  readonly who: string
  readonly chance: Chance
}

export const pickAnyone = ({ crew: { people = 100 }, chance }: Client): string =>
  makePhone(Math.floor(chance() * people))

type RequestOptions = Partial<Pick<Wanted, 'parts' | 'asked' | 'body' | 'method' | 'key' | 'isKeyInBody'>>

/**
 * Sends one client's requests to paths below a path of a service. `insist` repeats a request until it is settled; with
 * a key, at times once more.
 */
export const createRequester = (
  { bed: { courier, links }, recorder, who, chance, crew: { repeats = 0.2 } }: Client,
  role: keyof Bed['courier']['tokens'],
  below: string,
) => {
  const address = buildAddress(links[role === 'notifierStaff' ? 'clients-notifier' : 'clients-orders']) + below
  const headers = bearer(courier.tokens[role])
  const want = (
    what: string,
    name: string,
    path: string,
    { parts = [], asked, ...options }: RequestOptions,
  ): Wanted => {
    return { who, what, name, url: address + path, headers, parts, asked, ...options }
  }
  return {
    call: (what: string, name: string, path: string, options: RequestOptions = {}): Promise<Call> =>
      recorder.call(want(what, name, path, options)),
    insist: async (what: string, name: string, path: string, options: RequestOptions): Promise<Call> => {
      const made = await recorder.insist(want(what, name, path, options))
      if (options.key && chance() < repeats) await recorder.insist(want(what, name, path, options))
      return made
    },
  }
}
