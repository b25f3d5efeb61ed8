import type { Call } from './history.ts'

/** All that the auditor looks at: plain data, so that a test can spoil it. */
export interface Facts {
  readonly history: Call[]
  /** What is stored and carries the name of an intent. */
  readonly effects: Effect[]
  readonly orders: StoredOrder[]
  /** Of all orders, oldest first. */
  readonly timeline: Step[]
  readonly edits: { waybill: string }[]
  /** As the follower of the feed read them. */
  readonly changes: Change[]
  /** As the merchant's endpoint accepted them, in the order of their arrival. */
  readonly received: Received[]
  readonly webhookSecret: string
  readonly messages: StoredMessage[]
  /** What the messaging API accepted, in the order of its arrival. */
  readonly wire: Arrival[]
  readonly presses: Press[]
  /** What the notifier, and then orders, made of the presses. */
  readonly actions: { id: string; waybill: string; action: string; outcome: string | null }[]
  readonly acted: { id: string; waybill: string; action: string; outcome: string }[]
  /** When the opt-out was stored, in milliseconds since 1970. */
  readonly optOuts: { person: string; at: number }[]
  /** What people wrote, and whether it was to opt out. */
  readonly stops: { person: string }[]
  /** What still waits at the end, by its name. */
  readonly waiting: Record<string, number>
  /** By the API, after its last attempt: what they said may be unknown. */
  readonly webhooksGivenUp: number
  /** Seconds between two messages to a person. */
  readonly pauseSeconds: number
}

export interface Effect {
  name: string
  part: string
}

export interface StoredOrder {
  waybill: string
  /** Of its batch, and its place there. */
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

export interface Change {
  id: string
  type: string
  waybill: string
  status: string
}

export interface Received {
  id: string
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
  /** Of a message of a rule: the event. */
  event: string | null
  /** In milliseconds since 1970. */
  createdAt: number
  /** How often staff had it sent again, and whether they cancelled it. */
  resends: number
  isCancelled: boolean
}

export interface Arrival {
  message: string
  person: string
  /** In milliseconds since 1970, by the API's clock. */
  at: number
}

export interface Press {
  message: string
  index: number
}

/** Looks for one way in which the services could be wrong; returns a sentence for each place. */
export type Check = (facts: Facts) => string[]
