import type { Call } from './history.ts'

/** The auditor's whole input: plain data, so that a test can spoil it. */
export interface Evidence {
  readonly history: Call[]
  /** Stored rows that carry the name of an intent. */
  readonly effects: Effect[]
  readonly orders: StoredOrder[]
  /** The steps of all orders, oldest first. */
  readonly timeline: Step[]
  readonly edits: { waybill: string }[]
  /** The lines of delivered parcels. */
  readonly money: { waybill: string; cod: number }[]
  /** The findings of the check of the ledger, such as journals whose transfers differ from their lines. */
  readonly brokenLedger: string[]
  /** Changes as the follower of the feed read them. */
  readonly changes: Change[]
  /** Events that the merchant's endpoints accepted, in the order of their arrival. */
  readonly received: Received[]
  /** The secrets of the merchant's endpoints, by their names. */
  readonly endpoints: Record<string, string>
  readonly messages: StoredMessage[]
  /** Messages that the messaging API accepted, in the order of their arrival. */
  readonly wire: Arrival[]
  readonly presses: Press[]
  /** The addresses that people wrote. */
  readonly texts: { person: string; text: string }[]
  /** Actions made of presses and texts: in the notifier, in the order in which it stored them, and in orders. */
  readonly actions: { id: string; waybill: string; action: string; outcome: string | null }[]
  readonly acted: { id: string; waybill: string; action: string; outcome: string }[]
  /** The time when the opt-out was stored, in milliseconds since 1970. */
  readonly optOuts: { person: string; at: number }[]
  /** The people who wrote STOP, with the id of their message. */
  readonly stops: { person: string; inbound: string }[]
  /** Counts by name of work that still waits at the end. */
  readonly waiting: Record<string, number>
  /** Webhooks that the API gave up after the last attempt: their facts may be unknown. */
  readonly givenUp: GivenUp[]
  /** The ends of the services' processes. */
  readonly exits: Exit[]
  /** The time when all processes were ready again after the last fault, in milliseconds since 1970. */
  readonly readyAt: number
  /** Seconds between two messages to a person. */
  readonly pauseSeconds: number
}

export interface Change {
  readonly id: string
  readonly type: string
  /** Empty for a change of an invoice. */
  readonly waybill: string
  readonly status: string
}

export interface Effect {
  name: string
  part: string
}

export interface StoredOrder {
  waybill: string
  /** The name of its batch, and its index there. */
  name: string
  part: string
  phone: string
  cod: number
  address: string
  status: string
}

export interface Step {
  waybill: string
  status: string
  by: 'merchant' | 'staff' | 'customer'
}

export interface Received {
  endpoint: string
  id: string
  /** Milliseconds since 1970. */
  at: number
  waybill: string
  payload: string
  timestamp: string
  signature: string
}

export interface StoredMessage {
  id: string
  waybill: string | null
  person: string
  status: string
  /** The event that triggered the rule of the message. */
  event: string | null
  /** The text of a message that asks to confirm an address. */
  question: string | null
  /** Milliseconds since 1970. */
  createdAt: number
  /** The number of resends by staff, and a cancellation by them. */
  resends: number
  isCancelled: boolean
}

interface Arrival {
  message: string
  person: string
  /** Milliseconds since 1970, by the API's clock. */
  at: number
}

export interface Press {
  message: string
  index: number
  /** The API's id of the subject of its webhook, and the number of its copies. */
  inbound: string
  copies: number
}

export interface GivenUp {
  /** Milliseconds since 1970. */
  at: number
  /** The status of the last response; null: there was none. */
  status: number | null
  /** The message whose status it is, or the id of a person's message. */
  message: string | null
  inbound: string | null
}

export interface Exit {
  process: string
  lastedSeconds: number
  /** The time that SIGTERM took; 0 for another end. */
  stoppedSeconds: number
  /** The signal, if one ended it. */
  status: number | string | null
  /** The signal that was sent to it; null: none was. */
  by: 'SIGKILL' | 'SIGTERM' | 'SIGTERM while it started' | null
  /** The last line that it printed. */
  line: string
}

/** A check looks for one kind of violation; returns a sentence for each occurrence. */
export type Check = (evidence: Evidence) => string[]

/** Lists the names that were wanted more or less often than found, each with both counts. */
export const compareCounts = (wanted: readonly string[], found: readonly string[]): [string, number, number][] => {
  const [due, made] = [wanted, found].map(names => Map.groupBy(names, name => name))
  return [...new Set([...wanted, ...found])]
    .map((name): [string, number, number] => [name, due?.get(name)?.length ?? 0, made?.get(name)?.length ?? 0])
    .filter(([, times, count]) => times !== count)
}
