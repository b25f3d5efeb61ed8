import type { Call } from './history.ts'

/** Holds the auditor's whole input as plain data, so that a test can spoil it. */
export interface Evidence {
  readonly history: Call[]
  /** Lists the stored rows that carry the name of an intent. */
  readonly effects: { name: string; part: string }[]
  readonly orders: StoredOrder[]
  /** Lists the steps of all orders, oldest first. */
  readonly timeline: { waybill: string; status: string; by: 'merchant' | 'staff' | 'customer' }[]
  readonly edits: { waybill: string }[]
  /** Lists the money lines of delivered parcels. */
  readonly money: { waybill: string; cod: number }[]
  /** Lists the findings of the check of the ledger, such as journals whose transfers differ from their lines. */
  readonly brokenLedger: string[]
  /** Lists the changes as the follower of the feed read them. */
  readonly changes: Change[]
  /** Lists the events that the merchant's endpoints accepted, in the order of their arrival. */
  readonly received: Received[]
  /** Maps the names of the merchant's endpoints to their secrets. */
  readonly endpoints: Record<string, string>
  readonly messages: StoredMessage[]
  /** Lists the messages that the messaging API accepted, in the order of their arrival, by its clock. */
  readonly wire: { message: string; person: string; at: number; text?: string }[]
  /** Lists presses, each with the API's id of the person's message and the number of copies of its webhook. */
  readonly presses: { message: string; index: number; inbound: string; copies: number }[]
  /** Lists the addresses that people wrote. */
  readonly texts: { person: string; text: string }[]
  /** Lists the customers' actions as the notifier stored them, oldest first; `acted` lists them as orders did. */
  readonly actions: { id: string; waybill: string; action: string; outcome: string | null }[]
  readonly acted: { id: string; waybill: string; action: string; outcome: string }[]
  /**
   * Lists opt-outs with the time when each was stored, in milliseconds since 1970, and if it is known for a number:
   * only then can it stop messages to the number.
   */
  readonly optOuts: { person: string; at: number; isById?: boolean }[]
  /** Lists the user ids that the notifier knows. */
  readonly identities?: Identity[]
  /** Lists the people who wrote STOP, with the id of their message. */
  readonly stops: { person: string; inbound: string }[]
  /** Counts the work that still waits at the end, by name. */
  readonly waiting: Record<string, number>
  /** Lists the webhooks that the API gave up on after the last attempt: the services may not know their contents. */
  readonly givenUp: GivenUp[]
  /** Lists the ends of the services' processes. */
  readonly exits: Exit[]
  /** Is the time when all processes were ready again after the last fault, in milliseconds since 1970. */
  readonly readyAt: number
  /** Is the minimum number of seconds between two messages to a person. */
  readonly pauseSeconds: number
}

export interface Identity {
  /** Is the number that the user id really belongs to. */
  person: string
  /** Is the number by which the notifier knows the person; null: it knows none. */
  knownAs: string | null
  /** Counts the rows that still name a person by user id whose number is known. */
  left: number
  isOut: boolean
}

export interface Change {
  readonly id: string
  readonly type: string
  /** Is empty for a change to an invoice. */
  readonly waybill: string
  readonly status: string
}

export interface StoredOrder {
  waybill: string
  /** Names the batch of the order; the next field is the order's index in the batch. */
  name: string
  part: string
  phone: string
  cod: number
  address: string
  status: string
}

export interface Received {
  endpoint: string
  id: string
  /** Counts milliseconds since 1970. */
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
  /** Names the event that triggered the rule of the message. */
  event: string | null
  /** Names the message that carries this one's parcel to the person. */
  joinedTo?: string | null
  /** Holds the text of a message that asks to confirm an address. */
  question: string | null
  /** Counts milliseconds since 1970. */
  createdAt: number
  /** Counts the resends by staff; the next field records a cancellation by staff. */
  resends: number
  isCancelled: boolean
}

export interface GivenUp {
  /** Counts milliseconds since 1970. */
  at: number
  /** Holds the status of the last response; null: there was no response. */
  status: number | null
  /** Holds the id of the message that the status is about; the next field holds the id of a person's message. */
  message: string | null
  inbound: string | null
}

export interface Exit {
  process: string
  lastedSeconds: number
  /** Measures the time from SIGTERM to the end; 0 if the process ended for another reason. */
  stoppedSeconds: number
  /** Holds the exit status, or the signal that ended the process. */
  status: number | string | null
  /** Names the signal that was sent to the process; null: no signal was sent. */
  by: 'SIGKILL' | 'SIGTERM' | 'SIGTERM while it started' | null
  /** Holds the last line that the process printed. */
  line: string
}

/** Looks for one kind of violation, and returns a sentence for each occurrence. */
export type Check = (evidence: Evidence) => string[]

/** Lists the names that were wanted more or less often than found, each with both counts. */
export const compareCounts = (wanted: readonly string[], found: readonly string[]): [string, number, number][] => {
  const [due, made] = [wanted, found].map(names => Map.groupBy(names, name => name))
  return [...new Set([...wanted, ...found])]
    .map((name): [string, number, number] => [name, due?.get(name)?.length ?? 0, made?.get(name)?.length ?? 0])
    .filter(([, times, count]) => times !== count)
}
