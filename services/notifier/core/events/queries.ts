import {
  type CourierEvent,
  isOrderEvent,
  type OrderSnapshot,
  orderEventTypes,
  readMerchantSubject,
  takenBackEvent,
} from '@courier/shared/contract/order-events.ts'
import type { SentMessages } from '@courier/shared/contract/sent-messages.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'
import { isTimeZone } from '../messages/hours.ts'

export interface EventError {
  readonly template: string | null
  readonly detail: string
}

export const readSubject = (event: CourierEvent): Partial<OrderSnapshot> & { merchant_name: string } =>
  isOrderEvent(event) ? event.order : readMerchantSubject(event)

/** Stores the time zone that orders sends with each event, if Node and Postgres know it. Returns the tenant's. */
export const learnTimeZone = async (tx: Tx, tenant: string, known: string | null, events: readonly CourierEvent[]) => {
  const last = events.at(-1)
  const stated = last && readSubject(last).time_zone
  if (stated === undefined || stated === known || !isTimeZone(stated)) return known ?? 'UTC'
  const rows = await query(tx)`
    update tenants set time_zone = ${stated}
    where tenant_id = ${tenant} and exists (select from pg_timezone_names where lower(name) = lower(${stated}))
    returning 1`
  return rows.length > 0 ? stated : (known ?? 'UTC')
}

export type Rule = Omit<Selectable<Tables['rules']>, 'tenant_id' | 'position'>

export const findRules = async (tx: Tx, tenant: string): Promise<Rule[]> => {
  const rules = await tx.selectFrom('rules').selectAll().where('tenant_id', '=', tenant).orderBy('position').execute()
  return rules.map(({ tenant_id, position, ...rule }) => rule)
}

/**
 * Stores new events of a known tenant in their keys' order, so that equal requests never deadlock; returns the ids of
 * the new ones.
 */
export const insertEvents = async (tx: Tx, tenant: string, events: readonly CourierEvent[]): Promise<Set<string>> => {
  const subjects = events.map(readSubject)
  const rows = await query<{ event_id: string }>(tx)`
    insert into events (tenant_id, event_id, type, waybill_number, status_key, happened_at)
    select ${tenant}::text, event_id collate "C" as event_id, type, waybill_number, status_key, happened_at
    from unnest(${events.map(({ id }) => id)}::text[], ${events.map(({ type }) => type)}::text[],
      ${subjects.map(({ waybill_number = '' }) => waybill_number)}::text[],
        ${subjects.map(({ status_key = '' }) => status_key)}::text[],
      ${events.map(({ happened_at }) => new Date(happened_at))}::timestamptz[])
      as given (event_id, type, waybill_number, status_key, happened_at)
    where exists (select from tenants where tenant_id = ${tenant})
    order by event_id
    on conflict do nothing
    returning event_id`
  return new Set(rows.map(row => row.event_id))
}

export const storeEventErrors = async (tx: Tx, tenant: string, errors: ReadonlyMap<string, readonly EventError[]>) => {
  if (errors.size === 0) return
  const texts = [...errors.values()].map(list => JSON.stringify(list))
  await sql`
    update events e set faults = given.faults::jsonb
    from unnest(${[...errors.keys()]}::text[], ${texts}::text[]) as given (event_id, faults)
    where e.tenant_id = ${tenant} and e.event_id = given.event_id`.execute(tx)
}

/**
 * Finds the status changes since `since`, with take-backs, in the order of their processing: those after the event
 * `after`, at most `limit`. A change is processed after it happens, give or take the difference between the two clocks.
 */
export const findKnownEvents = (tx: Tx, tenant: string, since: Date, after: string | undefined, limit: number) =>
  query<KnownEvent>(tx)`
    select event_id, waybill_number, status_key, happened_at from events
    where tenant_id = ${tenant} and type = any(${[...orderEventTypes, takenBackEvent]}) and happened_at >= ${since}
      and taken_at >= ${since}::timestamptz - interval '1 hour'
      and (${after ?? null}::text is null or (taken_at, event_id) > (
        select taken_at, event_id from events where tenant_id = ${tenant} and event_id = ${after ?? ''}))
    order by taken_at, event_id limit ${limit}`

type KnownEvent = Record<'event_id' | 'waybill_number' | 'status_key', string> & { readonly happened_at: Date }

export const maxSentMessages = 100

/** Finds the statuses of the messages about a parcel, for its merchant. */
export const findSentMessages = async (tx: Tx, tenant: string, waybill: string): Promise<SentMessages['data']> => {
  const rows = await query<{ template: string | null; status: string; at: Date }>(tx)`
    select template ->> 'name' as template, status, coalesce((
      select max(happened_at) from message_events e
      where e.tenant_id = m.tenant_id and e.message_id = coalesce(m.joined_to, m.message_id)
        and e.status = m.status), created_at) as at
    from messages m where tenant_id = ${tenant} and waybill_number = ${waybill}
    order by message_id desc limit ${maxSentMessages}`
  return rows.map(({ at, ...message }) => ({ ...message, at: at.toISOString() }))
}
