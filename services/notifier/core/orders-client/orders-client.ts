import { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { StaffTokenHolders, StaffTokens } from '@courier/shared/contract/staff-tokens.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

const textOrNull = orNull(Type.String())

export const TrackingEvent = Type.Object({
  status_key: Type.String(),
  status_name: Type.String(),
  at: Type.String(),
  staff_name: textOrNull,
  note: textOrNull,
  by: Type.Optional(Type.String()),
})
export type TrackingEvent = Static<typeof TrackingEvent>

export const Previous = orNull(Type.Record(Type.String(), orNull(Type.Union([Type.String(), Type.Number()]))))

export const OrderEdit = Type.Object({
  fields: Type.Array(Type.String()),
  at: Type.String(),
  staff_name: textOrNull,
  reason: textOrNull,
  by: Type.Optional(Type.String()),
  previous: Type.Optional(Previous),
})
export type OrderEdit = Static<typeof OrderEdit>

/** Describes an order as orders returns it, with its timeline newest first, and its edits if orders can edit. */
export const KnownOrder = Type.Composite([
  OrderSnapshot,
  Type.Object({
    customer_secondary_phone: Type.Optional(textOrNull),
    created_at: Type.Optional(Type.String()),
    timeline: Type.Array(TrackingEvent),
    edits: Type.Optional(Type.Array(OrderEdit)),
  }),
])
export type KnownOrder = Static<typeof KnownOrder>

export type FoundOrder = { kind: 'found'; order: KnownOrder } | { kind: 'unknown' } | { kind: 'unavailable' }

/** Creates the 503 for a request that needs an order while orders is unreachable. */
export const ordersUnavailable = () =>
  httpError('unavailable', 'The order cannot be looked up at the moment. Nothing was changed; repeat the request.', {
    retryAfterSeconds: 2,
  })

/** Names a token by its SHA-256 hash, in hexadecimal. */
export type WantedToken = StaffTokens['tokens'][number]
export type StaffTokenHolder = NonNullable<StaffTokenHolders['data'][number]>

/** `now` is the time of orders, by which `expires_at` counts. */
export type FoundStaff =
  | { kind: 'found'; now: number; holders: readonly (StaffTokenHolder | null)[] }
  | { kind: 'unavailable'; reason: string }

/** Calls the orders service. Never rejects, and resolves within seconds. */
export interface OrdersClient {
  find(tenant: string, waybill: string): Promise<FoundOrder>
  /** Sends a request of a capability, which checks the response; undefined: there is none, which is logged. */
  post(path: string, body: object): Promise<{ readonly status: number; readonly body: unknown } | undefined>
  /** Finds the holders of staff tokens, in the order of the tokens. */
  findStaff(tokens: readonly WantedToken[]): Promise<FoundStaff>
}

const atOnce = 8
const deadlineMilliseconds = 15_000

/** Finds the orders of these waybills, requesting each once; undefined if orders is unavailable or too slow. */
export const findOrders = async (orders: OrdersClient, tenant: string, waybills: readonly string[]) => {
  const end = performance.now() + deadlineMilliseconds
  const found = new Map<string, KnownOrder>()
  const left = [...new Set(waybills)]
  let isUnavailable = false
  const ask = async (): Promise<void> => {
    for (let waybill = left.pop(); waybill !== undefined && !isUnavailable; waybill = left.pop()) {
      const result = performance.now() < end ? await orders.find(tenant, waybill) : { kind: 'unavailable' as const }
      if (result.kind === 'found') found.set(waybill, result.order)
      else if (result.kind === 'unavailable') isUnavailable = true
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  return isUnavailable ? undefined : found
}
