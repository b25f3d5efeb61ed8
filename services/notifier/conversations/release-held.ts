import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { spellingsOf } from './person.ts'
import type { Person } from './queries.ts'

/** Queues what was held for these people, each message once; returns how many. Locks in the messages' order. */
export const releaseHeldFor = async (tx: Tx, people: readonly Person[]): Promise<number> => {
  if (people.length === 0) return 0
  const spelt = people.flatMap(person => spellingsOf(person.recipient).map(recipient => ({ ...person, recipient })))
  const { rows } = await sql`
    with held as (
      select m.tenant_id, m.message_id from messages m
      join unnest(${spelt.map(person => person.tenant)}::text[], ${spelt.map(person => person.phoneNumberId)}::text[],
        ${spelt.map(person => person.recipient)}::text[]) as given (tenant_id, phone_number_id, recipient)
        using (tenant_id, phone_number_id, recipient)
      where m.status = 'held'
      order by m.tenant_id, m.message_id
      for update of m
    ), released as (
      update messages m set status = 'queued', status_at = now(), due_at = greatest(now(), m.send_at)
      from held where m.tenant_id = held.tenant_id and m.message_id = held.message_id
      returning m.tenant_id, m.message_id
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, 'queued', 'the customer wrote: the conversation is open' from released
    returning 1`.execute(tx)
  return rows.length
}

/** Queues what was held for a person, each message once; returns how many. */
export const releaseHeld = (tx: Tx, tenant: string, phoneNumberId: string, recipient: string): Promise<number> =>
  releaseHeldFor(tx, [{ tenant, phoneNumberId, recipient }])
