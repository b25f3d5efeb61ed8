import type { Bed } from '../bed.ts'
import type { Recorder } from '../record.ts'

/** What a client does next, again and again; `n` counts. */
export type Act = (n: number) => Promise<unknown>
export type Chance = () => number

const people = 100
/** These opt out: the first half of them by staff, the other half by themselves. */
const leavers = 8
const personOf = (n: number): string => `9477${1_000_000 + n}`
export const anyone = (chance: Chance): string => personOf(Math.floor(chance() * people))
export const leaver = (half: 0 | 1, chance: Chance): string => personOf(Math.floor(((half + chance()) * leavers) / 2))
export const pick = <Item>(items: readonly Item[], chance: Chance): Item | undefined =>
  items[Math.floor(chance() * items.length)]

/** Who decides what becomes of an order: the others leave it alone. */
export const fates = ['staff', 'staff', 'staff', 'customer', 'customer', 'merchant'] as const

/** A waybill that was acknowledged, with the status that staff know of. */
export interface Known {
  readonly waybill: string
  readonly fate: (typeof fates)[number]
  status: string
}

export interface Client {
  readonly bed: Bed
  readonly recorder: Recorder
  readonly who: string
  readonly chance: Chance
  /** Of all merchants. */
  readonly known: Known[]
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-tenant': 'demo' })
