import { KnownEvents } from '@courier/shared/contract/order-events.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { Value } from '@sinclair/typebox/value'

/** A status that an order came to. */
export interface KnownEvent {
  readonly waybill: string
  readonly statusKey: string
  readonly happenedAt: Date
}

export type KnownByNotifier =
  | {
      readonly kind: 'known'
      readonly events: readonly KnownEvent[]
      /** The notifier lacks some earlier events: its database was restored then. null: it never was. */
      readonly inDoubtBefore: Date | null
    }
  /** The notifier does not know the tenant. */
  | { readonly kind: 'unknown_tenant' }
  | { readonly kind: 'unavailable'; readonly reason: string }

/** The tenant's events from `since` on that the notifier has processed. */
export const readKnownEvents = async (
  notifier: ServiceClient,
  tenant: string,
  since: Date,
): Promise<KnownByNotifier> => {
  const events: KnownEvent[] = []
  for (let after: string | null = ''; ; ) {
    const cursor: string = after ? `&after=${encodeURIComponent(after)}` : ''
    const response = await notifier.get(`/internal/events/${tenant}?since=${since.toISOString()}${cursor}`)
    if (response.kind === 'unreachable') return { kind: 'unavailable', reason: response.reason }
    const { status, body } = response
    if (status === 404) return { kind: 'unknown_tenant' }
    if (status !== 200 || !Value.Check(KnownEvents, body)) return { kind: 'unavailable', reason: `status ${status}` }
    for (const { waybill_number, status_key, happened_at } of body.data)
      events.push({ waybill: waybill_number, statusKey: status_key, happenedAt: new Date(happened_at) })
    after = body.next
    const { in_doubt_before } = body
    if (after === null)
      return { kind: 'known', events, inDoubtBefore: in_doubt_before === null ? null : new Date(in_doubt_before) }
  }
}
