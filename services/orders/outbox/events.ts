import type { OrderEvent, OrderEventType } from '@courier/shared/order-facts.ts'
import type { Statuses } from '../tracking/statuses.ts'
import type { FoundOrder } from './facts.ts'

/** A row of the outbox: what happened to some orders at once. */
export interface OutboxRow {
  readonly id: string
  readonly key: string
  readonly type: OrderEventType
  readonly waybills: readonly string[]
  /** The status that each of them came to. */
  readonly statusKeys: readonly string[]
  readonly note: string | null
  readonly happenedAt: Date
}

/** What happened to one order. */
export interface Happening {
  readonly row: OutboxRow
  readonly waybill: string
  readonly statusKey: string
}

export interface Slice {
  readonly happenings: readonly Happening[]
  /** The rows that are told to their end with it. */
  readonly endedRowIds: readonly string[]
}

/** The rows in their order, cut into slices of at most `size` events: small rows share one, a large one has several. */
export const slicesOf = (rows: readonly OutboxRow[], size: number): Slice[] => {
  const happenings = rows.flatMap(row =>
    row.waybills.map((waybill, index) => ({ row, waybill, statusKey: row.statusKeys[index] ?? '' })),
  )
  const slices: Slice[] = []
  let endedRows = 0
  for (let start = 0; start === 0 || start < happenings.length; start += size) {
    const next = happenings[start + size]
    const end = next ? rows.indexOf(next.row) : rows.length
    const endedRowIds = rows.slice(endedRows, end).map(row => row.id)
    slices.push({ happenings: happenings.slice(start, start + size), endedRowIds })
    endedRows = end
  }
  return slices
}

/** The events as the notifier takes them; an order that is gone has none. */
export const eventsOf = (
  happenings: readonly Happening[],
  orders: ReadonlyMap<string, FoundOrder>,
  statuses: Statuses,
): OrderEvent[] =>
  happenings.flatMap(({ row, waybill, statusKey }) => {
    const order = orders.get(waybill)
    if (!order) return []
    const status_name = statuses.get(statusKey)?.name ?? statusKey
    return {
      id: `${row.key}/${waybill}`,
      type: row.type,
      happened_at: row.happenedAt.toISOString(),
      order: { ...order.facts, status_key: statusKey, status_name, note: row.note },
    }
  })

/** The events in their order, cut until each part is at most so many bytes of JSON or a single event. */
export const partsOf = (events: readonly OrderEvent[], maxBytes: number): (readonly OrderEvent[])[] => {
  if (events.length <= 1 || Buffer.byteLength(JSON.stringify(events)) <= maxBytes) return [events]
  const middle = Math.ceil(events.length / 2)
  return [events.slice(0, middle), events.slice(middle)].flatMap(half => partsOf(half, maxBytes))
}
