import type { CourierEvent } from '@courier/shared/contract/order-events.ts'
import type { Snapshot } from '../tracking/order-snapshot.ts'

/** Describes an entry of the log: one change of one or more orders, or one about their merchant alone. */
export interface Entry {
  readonly id: string
  readonly key: string
  readonly type: string
  readonly waybills: readonly string[]
  /** Lists the new status of each waybill. */
  readonly statusKeys: readonly string[]
  readonly note: string | null
  readonly happenedAt: Date
  /** Holds one `traceparent` for each waybill, one for all, or none. */
  readonly traceparents: readonly (string | null)[]
  /** Holds the details of an entry about no order, and its merchant. */
  readonly subject?: object | null
}

/** Describes the change of one order. */
interface StatusUpdate {
  readonly entry: Entry
  readonly waybill: string
  readonly statusKey: string
  readonly traceparent: string | null | undefined
}

export interface Slice {
  readonly updates: readonly StatusUpdate[]
  /** Lists the entries that are delivered completely with this slice. */
  readonly finishedEntryIds: readonly string[]
}

/**
 * Cuts the entries, in order, into slices of at most `size` events: small entries share a slice, large ones span
 * several.
 */
export const toSlices = (entries: readonly Entry[], size: number): Slice[] => {
  const updates = entries.flatMap(entry =>
    entry.waybills.map((waybill, index) => ({
      entry,
      waybill,
      statusKey: entry.statusKeys[index] ?? '',
      traceparent: entry.traceparents[entry.traceparents.length === 1 ? 0 : index],
    })),
  )
  const slices: Slice[] = []
  let finished = 0
  for (let start = 0; start === 0 || start < updates.length; start += size) {
    const next = updates[start + size]
    const end = next ? entries.indexOf(next.entry) : entries.length
    const finishedEntryIds = entries.slice(finished, end).map(({ id }) => id)
    slices.push({ updates: updates.slice(start, start + size), finishedEntryIds })
    finished = end
  }
  return slices
}

/**
 * Builds the events as the notifier expects them; a missing order has no event. The type of an entry about no order
 * names its subject: an event `invoice.deposited` has an `invoice`.
 */
export const toEvents = (updates: readonly StatusUpdate[], snapshots: ReadonlyMap<string, Snapshot>): CourierEvent[] =>
  updates.flatMap(({ entry, waybill, statusKey, traceparent }) => {
    const { type, subject } = entry
    const event = { id: `${entry.key}/${waybill}`, happened_at: entry.happenedAt.toISOString() }
    if (subject) return { ...event, type, [type.split('.')[0] ?? '']: subject } as CourierEvent
    const snapshot = snapshots.get(waybill)
    if (!snapshot) return []
    return { ...event, type, order: snapshot({ statusKey, note: entry.note }), ...(traceparent && { traceparent }) }
  })

/** Halves the events, in order, until each part is at most `maxBytes` of JSON, or a single event. */
export const toParts = <Event>(events: readonly Event[], maxBytes: number): (readonly Event[])[] => {
  if (events.length <= 1 || Buffer.byteLength(JSON.stringify(events)) <= maxBytes) return [events]
  const middle = Math.ceil(events.length / 2)
  return [events.slice(0, middle), events.slice(middle)].flatMap(half => toParts(half, maxBytes))
}
