import type { OrderEvent } from '@courier/shared/order-facts.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { Rule } from './rules.ts'

/** A message that an event should have made and could not. */
export interface EventFault {
  readonly template: string
  readonly detail: string
}

/** The tenant's rules in their order. */
export const findRules = async (tx: Tx, tenant: string): Promise<Rule[]> => {
  const rows = await tx.selectFrom('rules').selectAll().where('tenant_id', '=', tenant).orderBy('position').execute()
  return rows.map(row => ({
    event: row.event,
    template: row.template,
    language: row.language,
    header: row.header,
    body: row.body,
    phoneNumberId: row.phone_number_id,
    holdsUntilOpen: row.holds_until_open,
  }))
}

/**
 * Keeps the events whose ids are new; returns those ids. An id that another call is taking is waited for. Rows are
 * written in their keys' order: calls that bring the same events never deadlock.
 */
export const insertEvents = async (tx: Tx, tenant: string, events: readonly OrderEvent[]): Promise<Set<string>> => {
  const { rows } = await sql<{ event_id: string }>`
    insert into events (tenant_id, event_id, type, waybill_number, status_key, happened_at)
    select ${tenant}::text, event_id collate "C" as event_id, type, waybill_number, status_key, happened_at
    from unnest(${events.map(({ id }) => id)}::text[], ${events.map(({ type }) => type)}::text[],
      ${events.map(({ order }) => order.waybill_number)}::text[], ${events.map(({ order }) => order.status_key)}::text[],
      ${events.map(({ happened_at }) => new Date(happened_at))}::timestamptz[])
      as given (event_id, type, waybill_number, status_key, happened_at)
    order by event_id
    on conflict do nothing
    returning event_id`.execute(tx)
  return new Set(rows.map(row => row.event_id))
}

/** Keeps what went wrong with events of this transaction, by their ids. */
export const keepFaults = async (
  tx: Tx,
  tenant: string,
  faults: ReadonlyMap<string, readonly EventFault[]>,
): Promise<void> => {
  if (faults.size === 0) return
  const texts = [...faults.values()].map(list => JSON.stringify(list))
  await sql`
    update events e set faults = given.faults::jsonb
    from unnest(${[...faults.keys()]}::text[], ${texts}::text[]) as given (event_id, faults)
    where e.tenant_id = ${tenant} and e.event_id = given.event_id`.execute(tx)
}

/** The events of a waybill with something wrong, oldest first. */
export const findFaultyEvents = (tx: Tx, tenant: string, waybill: string) =>
  tx
    .selectFrom('events')
    .select(['event_id', 'type', 'status_key', 'taken_at', 'faults'])
    .where('tenant_id', '=', tenant)
    .where('waybill_number', '=', waybill)
    .where('faults', 'is not', null)
    .orderBy('taken_at')
    .orderBy('event_id')
    .limit(1000)
    .execute()
