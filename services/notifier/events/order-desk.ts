import { OrderFacts } from '@courier/shared/order-facts.ts'
import { type Static, Type } from '@sinclair/typebox'

const orNull = Type.Union([Type.String(), Type.Null()])

/** A place in the timeline of an order. */
export const TrackingEvent = Type.Object({
  status_key: Type.String(),
  status_name: Type.String(),
  /** ISO 8601. */
  at: Type.String(),
  staff_name: orNull,
  note: orNull,
})
export type TrackingEvent = Static<typeof TrackingEvent>

/** An order as orders tells it, its timeline newest first. */
export const KnownOrder = Type.Composite([OrderFacts, Type.Object({ timeline: Type.Array(TrackingEvent) })])
export type KnownOrder = Static<typeof KnownOrder>

export type FoundOrder = { kind: 'found'; order: KnownOrder } | { kind: 'unknown' } | { kind: 'unavailable' }

/** Where one order is asked for, at orders. Never rejects, and answers within seconds. */
export interface OrderDesk {
  find(tenant: string, waybill: string): Promise<FoundOrder>
}
