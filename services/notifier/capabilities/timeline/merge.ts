import type { EventError } from '../../core/events/queries.ts'
import { inOrder, type StatusUpdate } from '../../core/messages/view.ts'
import type { OrderEdit, TrackingEvent } from '../../core/orders-client/orders-client.ts'
import type { Rendered } from '../../core/templates/render.ts'
import type { Cost } from '../costs/queries.ts'
import type { ActionView } from '../customer-actions/queries.ts'

export type FailedMessage = EventError & Record<'event_id' | 'type' | 'status_key', string> & { readonly at: Date }

export interface MessageUpdate extends StatusUpdate {
  readonly message_id: string
  readonly template: string | null
  readonly text?: string | null
  readonly rendered?: Rendered | null | undefined
  readonly cost?: Cost | undefined
}

export interface InboundUpdate {
  readonly id: string
  readonly channel: string
  readonly phone: string
  readonly type: string
  readonly text: string | null
  readonly media_id: string | null
  readonly at: Date
}

interface Histories {
  readonly tracking: readonly TrackingEvent[]
  readonly edits?: readonly OrderEdit[] | undefined
  /** Come oldest first; the statuses of one message come in the order in which they were stored. */
  readonly messages: readonly MessageUpdate[]
  /** Come oldest first. */
  readonly failed: readonly FailedMessage[]
  readonly actions?: readonly ActionView[]
  readonly inbound?: readonly InboundUpdate[]
}

export const mergeTimelines = ({ tracking, edits = [], messages, failed, actions = [], inbound = [] }: Histories) =>
  [
    ...[...Map.groupBy(messages, update => update.message_id).values()]
      .flatMap(inOrder)
      .map(({ text = null, rendered = null, cost = null, ...update }) =>
        toEntry('message', { ...update, text, rendered, cost }),
      )
      .toReversed(),
    ...inbound.map(message => toEntry('inbound', message)),
    ...actions.map(action => toEntry('action', { ...action, actor: 'customer' as const })),
    ...failed.map(message => toEntry('event', message)).toReversed(),
    ...edits.map(({ at, previous = null, ...edit }) => toEntry('edit', { at: new Date(at), previous, ...edit })),
    ...tracking.map(({ at, ...update }) => toEntry('tracking', { at: new Date(at), ...update })),
  ].sort((a, b) => b.at.getTime() - a.at.getTime())

const toEntry = <const Kind extends string, Entry extends { readonly at: Date }>(kind: Kind, entry: Entry) => ({
  ...entry,
  kind,
})
