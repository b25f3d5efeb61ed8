import type { OrderEvent } from '@courier/shared/contract/order-events.ts'
import type { Snapshot } from '../tracking/order-snapshot.ts'

/** A row of the outbox: one change of one or more orders. */
export interface OutboxRow {
  readonly id: string
  readonly key: string
  readonly type: OrderEvent['type']
  readonly waybills: readonly string[]
  /** The new status of each waybill. */
  readonly statusKeys: readonly string[]
  readonly note: string | null
  readonly happenedAt: Date
  /** Of each waybill, or one of all. */
  readonly traceparents: readonly (string | null)[]
}

/** The change of one order. */
interface StatusUpdate {
  readonly row: OutboxRow
  readonly waybill: string
  readonly statusKey: string
  readonly traceparent: string | null | undefined
}

export interface Slice {
  readonly updates: readonly StatusUpdate[]
  /** The rows that are delivered completely with it. */
  readonly finishedRowIds: readonly string[]
}

/** Cuts the rows, in order, into slices of at most `size` events: small rows share a slice, large ones span several. */
export const slicesOf = (rows: readonly OutboxRow[], size: number): Slice[] => {
  const updates = rows.flatMap(row =>
    row.waybills.map((waybill, index) => ({
      row,
      waybill,
      statusKey: row.statusKeys[index] ?? '',
      traceparent: row.traceparents[row.traceparents.length === 1 ? 0 : index],
    })),
  )
  const slices: Slice[] = []
  let finishedRows = 0
  for (let start = 0; start === 0 || start < updates.length; start += size) {
    const next = updates[start + size]
    const end = next ? rows.indexOf(next.row) : rows.length
    const finishedRowIds = rows.slice(finishedRows, end).map(row => row.id)
    slices.push({ updates: updates.slice(start, start + size), finishedRowIds })
    finishedRows = end
  }
  return slices
}

/** The events as the notifier expects them; a missing order has none. */
export const eventsOf = (updates: readonly StatusUpdate[], snapshots: ReadonlyMap<string, Snapshot>): OrderEvent[] =>
  updates.flatMap(({ row, waybill, statusKey, traceparent }) => {
    const snapshot = snapshots.get(waybill)
    if (!snapshot) return []
    return {
      id: `${row.key}/${waybill}`,
      type: row.type,
      happened_at: row.happenedAt.toISOString(),
      order: snapshot({ statusKey, note: row.note }),
      ...(traceparent && { traceparent }),
    }
  })

/** Halves the events, in order, until each part is at most `maxBytes` of JSON, or a single event. */
export const partsOf = (events: readonly OrderEvent[], maxBytes: number): (readonly OrderEvent[])[] => {
  if (events.length <= 1 || Buffer.byteLength(JSON.stringify(events)) <= maxBytes) return [events]
  const middle = Math.ceil(events.length / 2)
  return [events.slice(0, middle), events.slice(middle)].flatMap(half => partsOf(half, maxBytes))
}
