import type { TrackingEvent } from '../events/order-desk.ts'
import type { EventFault } from '../events/queries.ts'
import type { MessageStatus } from '../messages/status.ts'

/** A status that a message came to. */
export interface MessageMoment {
  readonly message_id: string
  readonly template: string
  readonly status: MessageStatus
  readonly happened_at: Date
  readonly detail: string | null
}

/** An event that made no message, or not all that it should have. */
export interface FaultyEvent {
  readonly event_id: string
  readonly type: string
  readonly status_key: string
  readonly taken_at: Date
  readonly faults: readonly EventFault[] | null
}

export interface Told {
  /** Newest first. */
  readonly tracking: readonly TrackingEvent[]
  /** Oldest first, those of one message in the order in which they were told. */
  readonly messages: readonly MessageMoment[]
  readonly events: readonly FaultyEvent[]
}

/** One timeline of all, newest first. Pure. */
export const mergeTimelines = ({ tracking, messages, events }: Told) =>
  [...tracking.toReversed().map(ofTracking), ...events.flatMap(ofEvent), ...inOrder(messages)]
    .sort((a, b) => a.place - b.place)
    .toReversed()
    .map(({ entry }) => entry)

const ofTracking = ({ at, status_key, status_name, staff_name, note }: TrackingEvent) => {
  const time = new Date(at)
  const entry = { kind: 'tracking' as const, at: time.toISOString(), status_key, status_name, staff_name, note }
  return { place: time.getTime(), entry }
}

const ofEvent = ({ event_id, type, status_key, taken_at, faults }: FaultyEvent) =>
  (faults ?? []).map(({ template, detail }) => ({
    place: taken_at.getTime(),
    entry: { kind: 'event' as const, at: taken_at.toISOString(), event_id, type, status_key, template, detail },
  }))

/** Webhooks tell times in whole seconds: what they tell never stands before what came before it. */
const inOrder = (moments: readonly MessageMoment[]) => {
  const reached = new Map<string, number>()
  return moments.map(({ message_id, template, status, happened_at, detail }) => {
    const place = Math.max(happened_at.getTime(), reached.get(message_id) ?? 0)
    reached.set(message_id, place)
    const entry = { kind: 'message' as const, at: happened_at.toISOString(), message_id, template, status, detail }
    return { place, entry }
  })
}
