import type { Call } from './history.ts'

/** All that the auditor looks at: plain data, so that a test can spoil it. */
export interface Evidence {
  readonly history: Call[]
  /** Stored things that carry the name of an intent. */
  readonly effects: Effect[]
  readonly orders: StoredOrder[]
  /** The steps of all orders, oldest first. */
  readonly timeline: Step[]
  readonly edits: { waybill: string }[]
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
  /** When the opt-out was stored, in milliseconds since 1970. */
  readonly optOuts: { person: string; at: number }[]
  /** Who wrote STOP, with the id of what they wrote. */
  readonly stops: { person: string; inbound: string }[]
  /** Counts by name: things that still wait at the end. */
  readonly waiting: Record<string, number>
  /** Webhooks that the API gave up after the last attempt: what they were about may be unknown. */
  readonly givenUp: GivenUp[]
  /** How processes of the services ended. */
  readonly exits: Exit[]
  /** When all processes were ready again after the last fault, in milliseconds since 1970. */
  readonly readyAt: number
  /** Seconds between two messages to a person. */
  readonly pauseSeconds: number
}

export interface Change {
  readonly id: string
  readonly type: string
  readonly waybill: string
  readonly status: string
}

export interface Effect {
  name: string
  part: string
}

export interface StoredOrder {
  waybill: string
  /** The name of its batch, and its place there. */
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
  /** The event, of a message of a rule. */
  event: string | null
  /** The text, of a message that asks whether that is the address. */
  question: string | null
  /** Milliseconds since 1970. */
  createdAt: number
  /** How often staff had it sent again, and whether they cancelled it. */
  resends: number
  isCancelled: boolean
}

export interface Arrival {
  message: string
  person: string
  /** Milliseconds since 1970, by the API's clock. */
  at: number
}

export interface Press {
  message: string
  index: number
  /** The API's id of what its webhook reports, and how often that comes. */
  inbound: string
  copies: number
}

export interface GivenUp {
  /** Milliseconds since 1970. */
  at: number
  /** The status of the last response; null: there was none. */
  status: number | null
  /** The message whose status it is, or the id of what a person sent. */
  message: string | null
  inbound: string | null
}

export interface Exit {
  process: string
  lastedSeconds: number
  /** How long SIGTERM took; 0 for another end. */
  stoppedSeconds: number
  /** The signal, if one ended it. */
  status: number | string | null
  /** The signal that asked for it; null: nothing did. */
  by: 'SIGKILL' | 'SIGTERM' | 'SIGTERM while it started' | null
  /** The line that it printed last. */
  line: string
}

/** Looks for one way in which the services could be wrong; returns a sentence for each place. */
export type Check = (evidence: Evidence) => string[]
