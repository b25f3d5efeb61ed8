import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { personOf } from './person.ts'
import type { Wish, Words } from './wish.ts'

/** What is known of a person in front of one of our numbers. */
export interface Conversation {
  readonly lastInboundAt: Date | null
  /** Set while the person wants no messages. */
  readonly optedOutAt: Date | null
}

/** A person in front of one of our numbers. */
export interface Person {
  readonly tenant: string
  readonly phoneNumberId: string
  /** E.164 digits without the plus, in any spelling. */
  readonly recipient: string
}

/** A message that a person wrote at that time. */
export interface Inbound extends Person {
  readonly at: Date
  readonly wish?: Wish | undefined
}

const state = sql`last_inbound_at as "lastInboundAt",
  case when opted_in_at is null or opted_out_at >= opted_in_at then opted_out_at end as "optedOutAt"`

/**
 * Opens conversations and takes wishes, each by the message's own time: neither the order nor repetition matters.
 * Returns where the people now stand. Rows are locked in their keys' order.
 */
export const recordInbound = async (tx: Tx, messages: readonly Inbound[]): Promise<(Person & Conversation)[]> => {
  if (messages.length === 0) return []
  const { rows } = await sql<Person & Conversation>`
    insert into conversations as c
      (tenant_id, phone_number_id, recipient, last_inbound_at, opted_out_at, opted_in_at)
    select tenant_id, phone_number_id, recipient, max(at), max(at) filter (where wish = 'stop'),
      max(at) filter (where wish = 'start')
    from unnest(${messages.map(message => message.tenant)}::text[],
      ${messages.map(message => message.phoneNumberId)}::text[],
      ${messages.map(message => personOf(message.recipient))}::text[],
      ${messages.map(message => message.at)}::timestamptz[], ${messages.map(message => message.wish ?? null)}::text[])
      as given (tenant_id, phone_number_id, recipient, at, wish)
    group by 1, 2, 3
    order by tenant_id collate "C", phone_number_id collate "C", recipient collate "C"
    on conflict (tenant_id, phone_number_id, recipient) do update set
      last_inbound_at = greatest(c.last_inbound_at, excluded.last_inbound_at),
      opted_out_at = greatest(c.opted_out_at, excluded.opted_out_at),
      opted_in_at = greatest(c.opted_in_at, excluded.opted_in_at)
    returning tenant_id as tenant, phone_number_id as "phoneNumberId", recipient, ${state}`.execute(tx)
  return rows
}

/** The conversations of a number with each of these recipients, by the recipient as it was given. */
export const conversationOf = async (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  recipients: readonly string[],
): Promise<Map<string, Conversation>> => {
  const { rows } = await sql<Conversation & { recipient: string }>`
    select recipient, ${state} from conversations
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}
      and recipient = any(${recipients.map(personOf)}::text[])`.execute(tx)
  return byRecipient(rows, recipients)
}

/**
 * As `conversationOf`, for a message that may be held until the conversation opens: no person can write before the
 * transaction ends, else the message could be held just after what it waits for.
 */
export const lockConversations = async (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  recipients: readonly string[],
): Promise<Map<string, Conversation>> => {
  const { rows } = await sql<Conversation & { recipient: string }>`
    insert into conversations as c (tenant_id, phone_number_id, recipient)
    select distinct ${tenant}::text, ${phoneNumberId}::text, recipient collate "C" as recipient
    from unnest(${recipients.map(personOf)}::text[]) as given (recipient)
    order by recipient
    on conflict (tenant_id, phone_number_id, recipient) do update set last_inbound_at = c.last_inbound_at
    returning recipient, ${state}`.execute(tx)
  return byRecipient(rows, recipients)
}

const byRecipient = (
  rows: readonly (Conversation & { recipient: string })[],
  recipients: readonly string[],
): Map<string, Conversation> => {
  const known = new Map(
    rows.map(({ recipient, lastInboundAt, optedOutAt }) => [recipient, { lastInboundAt, optedOutAt }]),
  )
  return new Map(
    recipients.flatMap(recipient => {
      const conversation = known.get(personOf(recipient))
      return conversation ? [[recipient, conversation] as const] : []
    }),
  )
}

/** Each tenant's words. */
export const findWords = async (tx: Tx, tenants: readonly string[]): Promise<Map<string, Words>> => {
  const rows = await tx
    .selectFrom('tenants')
    .select(['tenant_id', 'stop_words', 'start_words'])
    .where('tenant_id', '=', sql<string>`any(${tenants}::text[])`)
    .execute()
  return new Map(rows.map(row => [row.tenant_id, { stopWords: row.stop_words, startWords: row.start_words }]))
}

export const findCountry = async (tx: Tx, tenant: string): Promise<string> =>
  (await tx.selectFrom('tenants').select('country').where('tenant_id', '=', tenant).executeTakeFirstOrThrow()).country

/** The tenant's number of that id; without an id its default one, or its only one. */
export const findNumber = async (tx: Tx, tenant: string, wanted: string | undefined): Promise<string | undefined> => {
  const rows = await tx
    .selectFrom('channels')
    .select(['phone_number_id', 'is_default'])
    .where('tenant_id', '=', tenant)
    .execute()
  const chosen = wanted
    ? rows.find(row => row.phone_number_id === wanted)
    : (rows.find(row => row.is_default) ?? (rows.length === 1 ? rows[0] : undefined))
  return chosen?.phone_number_id
}
