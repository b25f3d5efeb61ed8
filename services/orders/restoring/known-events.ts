import { UsageError } from '@courier/shared/cli/command-line.ts'
import { KnownEvents } from '@courier/shared/contract/order-events.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { Value } from '@sinclair/typebox/value'

/** A status that an order came to. */
export interface KnownEvent {
  readonly waybill_number: string
  readonly status_key: string
  readonly happened_at: Date
}

interface KnownByNotifier {
  readonly isTenantKnown: boolean
  readonly events: readonly KnownEvent[]
  /** The notifier lacks some earlier events: its database was restored then. null: it never was. */
  readonly inDoubtBefore: Date | null
}

const unavailable = (reason: string) =>
  new UsageError(`the notifier cannot be asked what it has: ${reason}. Start it; orders stays stopped`)

/** The tenant's events from `since` on that the notifier has processed. Throws UsageError if it cannot be asked. */
export const readKnownEvents = async (
  notifier: ServiceClient,
  tenant: string,
  since: Date,
): Promise<KnownByNotifier> => {
  const events: KnownEvent[] = []
  for (let after: string | null = ''; ; ) {
    const cursor: string = after ? `&after=${encodeURIComponent(after)}` : ''
    const response = await notifier.get(`/internal/events/${tenant}?since=${since.toISOString()}${cursor}`)
    if (response.kind === 'unreachable') throw unavailable(response.reason)
    const { status, body } = response
    if (status === 404) return { isTenantKnown: false, events: [], inDoubtBefore: null }
    if (status !== 200 || !Value.Check(KnownEvents, body)) throw unavailable(`status ${status}`)
    events.push(...body.data.map(event => ({ ...event, happened_at: new Date(event.happened_at) })))
    after = body.next
    const { in_doubt_before: before } = body
    if (after === null) return { isTenantKnown: true, events, inDoubtBefore: before === null ? null : new Date(before) }
  }
}
