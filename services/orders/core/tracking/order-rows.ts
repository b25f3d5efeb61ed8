import type { Catalogue } from '../catalogue/catalogue.ts'
import type { OrderView } from './order-schema.ts'

type Named = 'merchant' | 'merchant_business_id' | 'merchant_business_name' | 'status' | 'currency'
type NamedCity = `${'origin' | 'destination'}_${'city' | 'state'}_name`

/**
 * Describes an order as it is stored, with ids in place of names. Times in this file are ISO 8601, UTC, with six
 * decimals.
 */
export interface OrderRow extends Readonly<Omit<OrderView, Named | NamedCity>> {
  /** Identifies the version of the catalogue in the same snapshot; that version names all ids here. */
  readonly version: string
  readonly merchant_id: string
  readonly business_id: number
  readonly status_key: string
}

export type Flag = `has_${string}`

/** Says for each facet whether the order has something, as in `has_money`. */
export type FacetFlags = Readonly<Record<Flag, boolean>>

/** Describes an order in a list, with the flags of the facets that lists show. */
export type ListedRow = OrderRow & FacetFlags

/** Says who moved or changed an order. */
export interface ByActor {
  readonly staff_name: string | null
  /** null: staff or, without a name, the merchant. For a merchant, staff_name names the person who acted. */
  readonly actor: 'customer' | 'merchant' | null
}

export interface EventRow extends ByActor {
  readonly status_key: string
  readonly happened_at: string
  readonly note: string | null
  readonly reason_code: string | null
  /** Is false for a move that staff took back, and for the return to the status before it. */
  readonly is_counted: boolean
}

/** Describes one order, with the flags of all facets. */
export type TrackedRow = ListedRow & {
  /** Lists the events, newest first; empty once they are archived. */
  readonly timeline: readonly EventRow[]
}

/** Pairs an order with a catalogue that has its names. */
export interface TrackedOrder {
  readonly row: TrackedRow
  readonly catalogue: Catalogue
}
