import { sql } from 'kysely'
import { spellingsOf } from '../conversations/person.ts'
import type { Person } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { MessageStatus } from '../messages/status.ts'
import { moment, type Report } from './settle.ts'

/** A message whose row this transaction has locked. */
export interface LockedMessage {
  readonly tenant: string
  readonly messageId: string
  readonly phoneNumberId: string
  readonly status: MessageStatus
  readonly providerMessageId: string | null
  /** What the API called earlier sends of it. */
  readonly formerIds: readonly string[]
  readonly templateName: string
  readonly language: string
}

/** Which message a report is about: the one of that id (what we sent along), else the one that the API calls so. */
export interface Reference {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly messageId: string | undefined
  readonly providerMessageId: string
}

/**
 * Locks the messages that are reported on and those held for people who wrote, all at once in their keys' order: calls
 * that work on the same messages wait for each other and never deadlock.
 */
export const lockMessages = async (
  tx: Tx,
  references: readonly Reference[],
  people: readonly Person[],
): Promise<LockedMessage[]> => {
  const spelt = people.flatMap(person => spellingsOf(person.recipient).map(recipient => ({ ...person, recipient })))
  const { rows } = await sql<LockedMessage>`
    with reported as (
      select * from unnest(${references.map(r => r.tenant)}::text[], ${references.map(r => r.phoneNumberId)}::text[],
        ${references.map(r => r.messageId ?? null)}::text[], ${references.map(r => r.providerMessageId)}::text[])
        as reported (tenant_id, phone_number_id, message_id, provider_message_id)
    ), wanted as (
      select m.tenant_id, m.message_id from messages m
      join reported r using (tenant_id, message_id) where m.phone_number_id = r.phone_number_id
      union
      select m.tenant_id, m.message_id from messages m
      join reported r using (tenant_id, provider_message_id) where m.phone_number_id = r.phone_number_id
      union
      select m.tenant_id, m.message_id from messages m
      join unnest(${spelt.map(p => p.tenant)}::text[], ${spelt.map(p => p.phoneNumberId)}::text[],
        ${spelt.map(p => p.recipient)}::text[]) as person (tenant_id, phone_number_id, recipient)
        using (tenant_id, phone_number_id, recipient)
      where m.status = 'held'
    )
    select m.tenant_id as tenant, m.message_id as "messageId", m.phone_number_id as "phoneNumberId", m.status,
      m.provider_message_id as "providerMessageId",
      m.former_ids as "formerIds", m.template ->> 'name' as "templateName",
      m.template -> 'language' ->> 'code' as language
    from messages m join wanted using (tenant_id, message_id)
    order by m.tenant_id, m.message_id
    for update of m`.execute(tx)
  return rows
}

export const keyOf = ({ tenant, messageId }: { tenant: string; messageId: string }): string => `${tenant} ${messageId}`

/** The moments that the timelines of these messages have already, by message. */
export const findMoments = async (
  tx: Tx,
  messages: readonly LockedMessage[],
): Promise<Map<string, ReadonlySet<string>>> => {
  const { rows } = await sql<{ tenant: string; messageId: string; status: string; at: Date }>`
    select tenant_id as tenant, message_id as "messageId", e.status, e.happened_at as at
    from unnest(${messages.map(m => m.tenant)}::text[], ${messages.map(m => m.messageId)}::text[])
      as given (tenant_id, message_id)
    join message_events e using (tenant_id, message_id)
    where e.status in ('sent', 'delivered', 'read', 'failed')`.execute(tx)
  const moments = new Map<string, Set<string>>()
  for (const row of rows)
    moments.set(keyOf(row), (moments.get(keyOf(row)) ?? new Set()).add(moment(row.status, row.at)))
  return moments
}

/** What the reports make of a message: `steps` in the order of its life, and the API's id for it. */
export interface Settlement {
  readonly message: LockedMessage
  readonly steps: readonly Report[]
  readonly providerMessageId: string
}

/** Writes settlements of locked messages with their timeline events, in one statement. */
export const writeSettlements = async (tx: Tx, settlements: readonly Settlement[]): Promise<void> => {
  const events = settlements.flatMap(({ message, steps }) => steps.map(step => ({ message, step })))
  const lasts = settlements.map(({ steps }) => steps.at(-1))
  await sql`
    with told as (
      insert into message_events (tenant_id, message_id, status, happened_at, detail)
      select * from unnest(${events.map(e => e.message.tenant)}::text[], ${events.map(e => e.message.messageId)}::text[],
        ${events.map(e => e.step.status)}::text[], ${events.map(e => e.step.at)}::timestamptz[],
        ${events.map(e => detailOf(e.step))}::text[])
    )
    update messages m set
      status = coalesce(s.status, m.status),
      status_at = case when s.status is null then m.status_at else now() end,
      provider_message_id = coalesce(m.provider_message_id, s.provider_message_id),
      error_code = case when s.status is null then m.error_code else s.error_code end,
      error_meaning = case when s.status is null then m.error_meaning else s.error_meaning end
    from unnest(${settlements.map(s => s.message.tenant)}::text[], ${settlements.map(s => s.message.messageId)}::text[],
      ${lasts.map(last => last?.status ?? null)}::text[], ${settlements.map(s => s.providerMessageId)}::text[],
      ${lasts.map(last => last?.errorCode ?? null)}::integer[], ${lasts.map(last => last?.errorMeaning ?? null)}::text[])
      as s (tenant_id, message_id, status, provider_message_id, error_code, error_meaning)
    where m.tenant_id = s.tenant_id and m.message_id = s.message_id`.execute(tx)
}

const detailOf = ({ status, errorCode, errorMeaning }: Report): string | null =>
  status === 'failed' ? [errorCode, errorMeaning].filter(part => part !== null).join(': ') : null
