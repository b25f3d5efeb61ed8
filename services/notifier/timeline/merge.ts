import type { ActionOutcome } from '@courier/shared/contract/customer-actions.ts'
import type { Cost } from '../costs/queries.ts'
import type { EventError, MessageStatus } from '../database/tables.ts'
import type { InboundRow } from '../inbox/queries.ts'
import { inOrder } from '../messages/view.ts'
import type { OrderEdit, TrackingEvent } from '../orders-client/orders-client.ts'

/** A status that a message reached. */
export interface StatusUpdate {
  readonly message_id: string
  /** null: it is a text. */
  readonly template: string | null
  readonly status: MessageStatus
  readonly happened_at: Date
  readonly detail: string | null
  /** What the message cost. */
  readonly cost?: Cost | undefined
}

/** What the customer asked for by a button. */
export interface CustomerAction {
  readonly message_id: string
  readonly action: string
  readonly outcome: ActionOutcome | 'unconfirmed' | 'expired' | null
  readonly detail: string | null
  readonly happened_at: Date
}

/** An event for which at least one message could not be created. */
export interface FailedEvent {
  readonly event_id: string
  readonly type: string
  readonly status_key: string
  readonly taken_at: Date
  readonly faults: readonly EventError[] | null
}

export interface Histories {
  /** Newest first. */
  readonly tracking: readonly TrackingEvent[]
  /** Newest first. */
  readonly edits?: readonly OrderEdit[] | undefined
  /** Oldest first, those of one message in the order in which they were stored. */
  readonly messages: readonly StatusUpdate[]
  readonly events: readonly FailedEvent[]
  /** Newest first. */
  readonly actions?: readonly CustomerAction[]
  /** Newest first. */
  readonly inbound?: readonly InboundRow[]
}

/** One timeline of all, newest first. Pure. */
export const mergeTimelines = ({ tracking, edits = [], messages, events, actions = [], inbound = [] }: Histories) =>
  [
    ...tracking.toReversed().map(ofTracking),
    ...edits.toReversed().map(ofEdit),
    ...events.flatMap(ofEvent),
    ...actions.toReversed().map(ofAction),
    ...inbound.toReversed().map(ofInbound),
    ...[...Map.groupBy(messages, update => update.message_id).values()].flatMap(inOrder).map(ofMessage),
  ]
    .sort((a, b) => a.place - b.place)
    .toReversed()
    .map(({ entry }) => entry)

const ofTracking = ({ at, status_key, status_name, staff_name, note, by }: TrackingEvent) => {
  const time = new Date(at)
  const entry = { kind: 'tracking' as const, at: time.toISOString(), status_key, status_name, staff_name, note }
  return { place: time.getTime(), entry: { ...entry, ...(by && { by }) } }
}

const ofEdit = ({ at, fields, staff_name, reason, by, previous = null }: OrderEdit) => {
  const time = new Date(at)
  const entry = { kind: 'edit' as const, at: time.toISOString(), fields, staff_name, reason, previous }
  return { place: time.getTime(), entry: { ...entry, ...(by && { by }) } }
}

const ofEvent = ({ event_id, type, status_key, taken_at, faults }: FailedEvent) =>
  (faults ?? []).map(({ template, detail }) => ({
    place: taken_at.getTime(),
    entry: { kind: 'event' as const, at: taken_at.toISOString(), event_id, type, status_key, template, detail },
  }))

const ofAction = ({ message_id, action, outcome, detail, happened_at }: CustomerAction) => {
  const entry = { kind: 'action' as const, at: happened_at.toISOString(), actor: 'customer' as const }
  return { place: happened_at.getTime(), entry: { ...entry, message_id, action, outcome, detail } }
}

const ofInbound = ({ id, number, recipient, type, text, media_id, at }: InboundRow) => ({
  place: at.getTime(),
  entry: {
    kind: 'inbound' as const,
    at: at.toISOString(),
    id,
    channel: number,
    phone: recipient,
    type,
    text,
    media_id,
  },
})

const ofMessage = ({ happened_at, cost, ...update }: StatusUpdate) => ({
  place: happened_at.getTime(),
  entry: { kind: 'message' as const, at: happened_at.toISOString(), ...update, cost: cost ?? null },
})
