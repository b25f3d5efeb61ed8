import { UsageError } from '@courier/shared/cli/command-line.ts'
import {
  editedEvent,
  KnownEvents,
  type OrderEventType,
  orderEventTypes,
  takenBackEvent,
} from '@courier/shared/contract/order-events.ts'
import { query } from '@courier/shared/postgres/database.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { Value } from '@sinclair/typebox/value'
import { sql } from 'kysely'
import type { Tx } from '../../core/database/tables.ts'
import { isAboutMerchantSql } from '../../core/relay/queries.ts'

export interface KnownEvent {
  readonly waybill_number: string
  readonly status_key: string
  readonly happened_at: Date
}

interface KnownByNotifier {
  readonly isTenantKnown: boolean
  readonly events: readonly KnownEvent[]
  /**
   * Holds the time when the notifier's database was restored: the notifier lacks some earlier events. null: it never
   * was.
   */
  readonly inDoubtBefore: Date | null
}

const unavailable = (reason: string) =>
  new UsageError(`cannot read the notifier's events: ${reason}. Start the notifier, and keep orders stopped`)

/**
 * Reads the tenant's events from `since` onwards that the notifier has processed. Throws UsageError if the notifier is
 * unavailable.
 */
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

/** The notifier forgets events after 30 days: it would process older events again. */
export const knownDays = 29

interface StoredEvent extends KnownEvent {
  readonly type: OrderEventType | typeof takenBackEvent
  readonly note: string | null
}

/**
 * Finds the events from `since` onwards, in their order. A take-back follows the move that it takes back, and neither
 * counts: every second event that does not count is a take-back.
 */
export const findEvents = (tx: Tx, tenant: string, since: Date) =>
  query<StoredEvent>(tx)`
    select e.waybill_number, e.status_key, e.happened_at, e.note,
      case when not e.is_counted and (
        select count(*) % 2 = 1 from order_events earlier where earlier.tenant_id = e.tenant_id
          and earlier.waybill_number = e.waybill_number and earlier.event_id < e.event_id and not earlier.is_counted
      ) then ${takenBackEvent} when exists (
        select from order_events earlier where earlier.tenant_id = e.tenant_id
          and earlier.waybill_number = e.waybill_number and earlier.event_id < e.event_id
      ) then 'order.status_changed' else 'order.created' end as type
    from order_events e where e.tenant_id = ${tenant} and e.happened_at >= ${since} order by e.event_id`

/** Finds the changes of status that the outbox holds, with take-backs. */
export const findWaitingEvents = (tx: Tx, tenant: string) =>
  query<KnownEvent>(tx)`
    select waybill_number, status_key, happened_at
    from log, unnest(waybill_numbers, status_keys) as event (waybill_number, status_key)
    where tenant_id = ${tenant} and not is_relayed and type = any(${[...orderEventTypes, takenBackEvent]})`

/** Puts events into the outbox again, in their order. */
export const requeue = (tx: Tx, tenant: string, events: readonly StoredEvent[]) =>
  sql`
    insert into log (tenant_id, type, waybill_numbers, status_keys, note, happened_at)
    select ${tenant}, type, array[waybill], array[status_key], note, happened_at
    from unnest(${events.map(({ type }) => type)}::text[], ${events.map(event => event.waybill_number)}::text[],
      ${events.map(event => event.status_key)}::text[], ${events.map(({ note }) => note)}::text[],
      ${events.map(event => event.happened_at)}::timestamptz[])
      with ordinality as given (type, waybill, status_key, note, happened_at, ordinal)
    order by ordinal returning tenant_id`.execute(tx)

/**
 * Puts edits and events about merchants with a phone number, from `since` onwards, into the outbox again. They keep
 * their ids, so the notifier ignores those that it knows.
 */
export const redeliver = (tx: Tx, tenant: string, since: Date) =>
  sql`
    update log set is_relayed = false
    where tenant_id = ${tenant} and happened_at >= ${since} and (type = ${editedEvent} or ${sql.raw(isAboutMerchantSql)}
      and merchant_id in (select merchant_id from merchants where tenant_id = ${tenant} and phone is not null))
    `.execute(tx)

/** Removes and returns the waiting events that are too old for the notifier to know whether they were delivered. */
export const dropTooOld = (tx: Tx, tenant: string) =>
  query<KnownEvent>(tx)`
    with dropped as (
      update log set is_relayed = true where tenant_id = ${tenant} and not is_relayed
        and happened_at < now() - make_interval(days => ${knownDays})
      returning waybill_numbers, status_keys, happened_at
    )
    select waybill_number, status_key, happened_at
    from dropped, unnest(waybill_numbers, status_keys) as event (waybill_number, status_key)`

/** Counts the orders of the tenant's busiest day (UTC) since 30 days before `time`. */
export const countBusiestDay = async (tx: Tx, tenant: string, time: Date): Promise<number> => {
  const [busiest] = await query<{ orders: string | null }>(tx)`
    select max(orders) as orders from (
      select count(*) as orders from orders
      where tenant_id = ${tenant} and created_at > ${time}::timestamptz - interval '30 days'
      group by date_trunc('day', created_at, 'UTC')
    ) days`
  return Number(busiest?.orders ?? 0)
}
