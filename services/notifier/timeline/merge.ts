import type { Cost } from '../costs/queries.ts'
import type { findActions } from '../customer-actions/queries.ts'
import type { MessageStatus } from '../database/tables.ts'
import type { findFailedEvents } from '../events/queries.ts'
import type { InboundRow } from '../inbox/queries.ts'
import { inOrder } from '../messages/view.ts'
import type { OrderEdit, TrackingEvent } from '../orders-client/orders-client.ts'

export interface StatusUpdate {
  readonly message_id: string
  readonly template: string | null
  readonly status: MessageStatus
  readonly happened_at: Date
  readonly detail: string | null
  readonly cost?: Cost | undefined
}

type Rows<Find extends (...given: never[]) => Promise<readonly unknown[]>> = Awaited<ReturnType<Find>>

export interface Histories {
  readonly tracking: readonly TrackingEvent[]
  readonly edits?: readonly OrderEdit[] | undefined
  /** Oldest first; statuses of one message in the order in which they were stored. */
  readonly messages: readonly StatusUpdate[]
  readonly events: Rows<typeof findFailedEvents>
  readonly actions?: Rows<typeof findActions>
  readonly inbound?: readonly InboundRow[]
}

/** Merges all into one timeline, newest first. Pure. */
export const mergeTimelines = ({ tracking, edits = [], messages, events, actions = [], inbound = [] }: Histories) =>
  [
    ...[...Map.groupBy(messages, update => update.message_id).values()]
      .flatMap(inOrder)
      .map(({ happened_at, cost = null, ...update }) => place(happened_at, { kind: 'message', ...update, cost }))
      .toReversed(),
    ...inbound.map(({ id, number: channel, recipient: phone, type, text, media_id, at }) =>
      place(at, { kind: 'inbound', id, channel, phone, type, text, media_id }),
    ),
    ...actions.map(({ happened_at, message_id, action, outcome, detail }) =>
      place(happened_at, { kind: 'action', actor: 'customer', message_id, action, outcome, detail }),
    ),
    ...events
      .flatMap(({ taken_at, faults, ...event }) =>
        (faults ?? []).map(({ template, detail }) => place(taken_at, { kind: 'event', ...event, template, detail })),
      )
      .toReversed(),
    ...edits.map(({ at, fields, staff_name, reason, by, previous = null }) =>
      place(new Date(at), { kind: 'edit', fields, staff_name, reason, previous, ...(by && { by }) }),
    ),
    ...tracking.map(({ at, status_key, status_name, staff_name, note, by }) =>
      place(new Date(at), { kind: 'tracking', status_key, status_name, staff_name, note, ...(by && { by }) }),
    ),
  ]
    .sort((a, b) => b.time - a.time)
    .map(({ entry }) => entry)

const place = <const Entry extends object>(at: Date, entry: Entry) => ({
  time: at.getTime(),
  entry: { ...entry, at: at.toISOString() },
})
