import { identifyPerson } from '@courier/shared/phone-number.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { type RawBuilder, sql } from 'kysely'
import { type ChannelRow, type Tx, toColumns } from '../database/tables.ts'
import type { Conversation, Owner, Person } from './conversation.ts'
import type { Move } from './identities.ts'
import { type Keyword, type Keywords, readKeywords } from './keywords.ts'
import { type OptOutScope, recordOptOuts } from './opt-outs.ts'
import { listSpelt } from './phone-number.ts'

/** Reports a message that a person wrote, or another sign of which messages the person wants. */
export interface Inbound extends Person {
  /** null means now, by Postgres' clock. */
  readonly at: Date | null
  readonly keyword?: Keyword | undefined
  /** Names the source of the keyword, unless it is the person's own message. */
  readonly by?: Actor
  /** Defaults to `all`. */
  readonly scope?: OptOutScope
  readonly reason?: string
  /** Names the message that this one replaces: an edit opens no conversation. */
  readonly edits?: string | undefined
  /** Says who answers the person since then; undefined means that nothing is said of it. */
  readonly owner?: Owner | undefined
}

type Recorded = Person & Conversation & { readonly now: Date }

const isNewerSql = sql`(c.owner_at is null or c.owner_at < excluded.owner_at
  or c.owner_at = excluded.owner_at and excluded.owner = 'other')`

const customer: Actor = { kind: 'customer', name: 'message' }

const state = sql`last_inbound_at as "lastInboundAt",
  case when opted_in_at is null or opted_out_at >= opted_in_at then opted_out_at end as "optedOutAt",
  case when marketing_in_at is null or marketing_out_at >= marketing_in_at then marketing_out_at end
    as "marketingOutAt", owner, owner_at as "ownerAt"`

/**
 * Opens conversations and stores opt-outs and owners, each by the message's own time: neither order nor repetition
 * matters. Between messages of one second, another responder wins: no message of ours takes its conversation. Returns
 * the state of each conversation, and the time by Postgres' clock. Locks rows in their keys' order.
 */
export const recordInbound = async (tx: Tx, messages: readonly Inbound[]): Promise<Recorded[]> => {
  if (messages.length === 0) return []
  const given = messages.map(
    ({ tenant, phoneNumberId, recipient, at, keyword, scope = 'all', by = customer, edits, owner }) => {
      const choice = keyword && `${keyword} ${scope}`
      return {
        tenant,
        phoneNumberId,
        recipient: identifyPerson(recipient),
        at,
        choice,
        owner,
        isMessage: by.kind === 'customer' && !edits,
      }
    },
  )
  const rows = await query<Recorded>(tx)`
    insert into conversations as c (tenant_id, phone_number_id, recipient, last_inbound_at, opted_out_at, opted_in_at,
      marketing_out_at, marketing_in_at, owner, owner_at)
    select tenant_id, phone_number_id, recipient, max(at) filter (where is_message),
      max(at) filter (where choice = 'stop all'), max(at) filter (where choice = 'start all'),
      max(at) filter (where choice = 'stop marketing'), max(at)
        filter (where choice = 'start marketing' or choice = 'start all' and is_message),
      (array_agg(owner order by at desc, owner = 'other' desc) filter (where owner is not null))[1],
      max(at) filter (where owner is not null)
    from (
      select tenant as tenant_id, "phoneNumberId" as phone_number_id, recipient, coalesce(at, now()) as at, choice,
        owner, "isMessage" as is_message
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (tenant text, "phoneNumberId" text,
        recipient text, at timestamptz, choice text, owner text, "isMessage" boolean)
    ) given
    group by 1, 2, 3
    order by tenant_id collate "C", phone_number_id collate "C", recipient collate "C"
    on conflict (tenant_id, phone_number_id, recipient) do update set
      last_inbound_at = greatest(c.last_inbound_at, excluded.last_inbound_at),
      opted_out_at = greatest(c.opted_out_at, excluded.opted_out_at),
      opted_in_at = greatest(c.opted_in_at, excluded.opted_in_at),
      marketing_out_at = greatest(c.marketing_out_at, excluded.marketing_out_at),
      marketing_in_at = greatest(c.marketing_in_at, excluded.marketing_in_at),
      owner = case when ${isNewerSql} then excluded.owner else c.owner end,
      owner_at = greatest(c.owner_at, excluded.owner_at)
    returning tenant_id as tenant, phone_number_id as "phoneNumberId", recipient, ${state},
      now() as now`
  const optOuts = messages.flatMap(({ keyword, by = customer, scope = 'all', reason = null, ...message }) =>
    keyword
      ? [{ ...message, recipient: identifyPerson(message.recipient), isOut: keyword === 'stop', by, scope, reason }]
      : [],
  )
  if (optOuts.length > 0) await recordOptOuts(tx, optOuts)
  return rows
}

/** Finds the conversations of people who have just moved to another recipient. */
export const findMoved = async (tx: Tx, moved: readonly Move[]): Promise<Recorded[]> => {
  if (moved.length === 0) return []
  const [tenants, recipients] = toColumns(moved, 'tenant', 'to')
  return query<Recorded>(tx)`
    select c.tenant_id as tenant, c.phone_number_id as "phoneNumberId", c.recipient, ${state}, now() as now
    from (
      select distinct * from unnest(${tenants}::text[], ${recipients}::text[]) as given (tenant_id, recipient)
    ) moved
    join channels using (tenant_id) join conversations c using (tenant_id, phone_number_id, recipient)`
}

/** Finds the conversations of a number with these recipients; returns them by recipient, spelt as given. */
export const findConversation = async (tx: Tx, tenant: string, number: string, recipients: readonly string[]) => {
  const rows = await query<Conversation & { recipient: string }>(tx)`
    select recipient, ${state} from conversations
    where tenant_id = ${tenant} and phone_number_id = ${number}
      and recipient = any(${recipients.map(identifyPerson)}::text[])`
  return groupByRecipient(rows, recipients)
}

/**
 * Does the same as `findConversation`, and lets no inbound message be stored before the transaction ends: otherwise a
 * message could be held just after the customer's message that it waits for.
 */
export const lockConversations = async (tx: Tx, tenant: string, number: string, recipients: readonly string[]) => {
  const rows = await query<Conversation & { recipient: string }>(tx)`
    insert into conversations as c (tenant_id, phone_number_id, recipient)
    select distinct ${tenant}::text, ${number}::text, recipient collate "C" as recipient
    from unnest(${recipients.map(identifyPerson)}::text[]) as given (recipient)
    order by recipient
    on conflict (tenant_id, phone_number_id, recipient) do update set last_inbound_at = c.last_inbound_at
    returning recipient, ${state}`
  return groupByRecipient(rows, recipients)
}

const groupByRecipient = (rows: readonly (Conversation & { recipient: string })[], recipients: readonly string[]) => {
  const known = new Map(rows.map(({ recipient, ...conversation }) => [recipient, conversation]))
  const given = recipients.map(recipient => [recipient, known.get(identifyPerson(recipient))] as const)
  return new Map(given.flatMap(([recipient, conversation]) => (conversation ? [[recipient, conversation]] : [])))
}

export const findKeywords = async (tx: Tx, tenants: readonly string[]): Promise<Map<string, Keywords>> => {
  const rows = await query<{ tenant_id: string; stop_words: string[]; start_words: string[] }>(tx)`
    select tenant_id, stop_words, start_words from tenants where tenant_id = any(${tenants}::text[])`
  return new Map(rows.map(row => [row.tenant_id, readKeywords(row.stop_words, row.start_words)]))
}

const selectTenant = (tx: Tx, tenant: string) =>
  tx.selectFrom('tenants').selectAll().select(sql<Date>`now()`.as('now')).where('tenant_id', '=', tenant)

/** Finds the tenant; undefined if the notifier does not know it. */
export const findTenant = (tx: Tx, tenant: string) => selectTenant(tx, tenant).executeTakeFirst()

export const findSettings = (tx: Tx, tenant: string) => selectTenant(tx, tenant).executeTakeFirstOrThrow()

export const findCountry = async (tx: Tx, tenant: string): Promise<string> => (await findSettings(tx, tenant)).country

export const findChannels = (tx: Tx, tenant: string): Promise<ChannelRow[]> =>
  query<ChannelRow>(tx)`select * from channels where tenant_id = ${tenant} order by phone_number_id`

/** Chooses the named channel; without a name the default one, or the only one. */
export const chooseChannel = (wanted: string | null | undefined, channels: readonly ChannelRow[]) =>
  wanted
    ? channels.find(({ phone_number_id }) => phone_number_id === wanted)
    : (channels.find(({ is_default }) => is_default) ?? (channels.length === 1 ? channels[0] : undefined))

/** Finds the tenant's number with that id, or all of its numbers. */
export const findNumbers = async (tx: Tx, tenant: string, wanted: string | undefined): Promise<string[]> => {
  const numbers = (await findChannels(tx, tenant)).map(({ phone_number_id }) => phone_number_id)
  return numbers.filter(id => wanted === undefined || id === wanted)
}

/** Finds the number that `chooseChannel` chooses. */
export const findNumber = async (tx: Tx, tenant: string, wanted: string | undefined): Promise<string | undefined> =>
  chooseChannel(wanted, await findChannels(tx, tenant))?.phone_number_id

/**
 * Queues the messages held for these people, for those who opted out only exempt ones, and while another responder
 * answers only templates and what takes over; returns how many.
 */
export const releaseHeld = async (tx: Tx, people: readonly (Person & Partial<Conversation>)[]): Promise<number> => {
  if (people.length === 0) return 0
  const spelt = listSpelt(people).map(person => {
    return { ...person, isOut: Boolean(person.optedOutAt), isOthers: person.owner === 'other' }
  })
  const [tenants, numbers, recipients, isOut, isOthers] = toColumns(
    spelt,
    'tenant',
    'phoneNumberId',
    'recipient',
    'isOut',
    'isOthers',
  )
  const given = sql`unnest(${tenants}::text[], ${numbers}::text[], ${recipients}::text[], ${isOut}::boolean[],
    ${isOthers}::boolean[]) as given (tenant_id, phone_number_id, recipient, is_out, is_others)
    using (tenant_id, phone_number_id, recipient)`
  const maySendSql = sql`(m.is_exempt or not given.is_out)
    and (not given.is_others or not m.template ? 'text' or m.template ? 'takesOver')`
  return release(tx, given, maySendSql, 'the conversation is open')
}

/**
 * Queues the messages held on free numbers that become paid. A text, which still needs an open conversation, is held
 * again before it is sent.
 */
export const releaseAllHeld = (tx: Tx, tenant: string, phoneNumberIds: readonly string[]): Promise<number> => {
  const freeSql = sql`m.tenant_id = ${tenant} and c.plan = 'free'
    and m.phone_number_id = any(${phoneNumberIds}::text[])`
  return release(tx, sql`channels c using (tenant_id, phone_number_id)`, freeSql, 'the channel is paid now')
}

/** Queues held messages that a join finds; returns how many. Locks them in their keys' order. */
const release = async (tx: Tx, join: RawBuilder<unknown>, where: RawBuilder<unknown>, detail: string) => {
  const rows = await query(tx)`
    with held as (
      select m.tenant_id, m.message_id from messages m join ${join}
      where m.status = 'held' and ${where}
      order by m.tenant_id, m.message_id
      for update of m
    ), released as (
      update messages m set status = 'queued', status_at = now(), due_at = greatest(now(), m.send_at)
      from held where m.tenant_id = held.tenant_id and m.message_id = held.message_id
      returning m.tenant_id, m.message_id
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, 'queued', ${detail} from released
    returning 1`
  return rows.length
}
