import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { silentMinutes, silentSinceSql } from '../channels/silent.ts'
import type { Tx } from '../database/tables.ts'
import { idsFrom } from './insert.ts'

/** Counting stops here: a backlog of any size costs the same. */
export const maxCounted = 100_000
/** Ends the help of a gauge that `selectCount` measures. */
export const cappedHelp = `of all processes and tenants; ${maxCounted} means that or more.`
const capped = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description} ${maxCounted} means that or more.` })
const recentHours = 24

export const MessageSummary = Type.Object(
  {
    date: Type.String({
      description: "Today, in the tenant's time zone; in UTC for a tenant without one.",
      examples: ['2026-02-19'],
    }),
    time_zone: Type.String({ examples: ['Asia/Colombo'] }),
    queued: capped('Messages to be sent, now or later.'),
    held: capped('Messages that wait for the customer to write.'),
    unknown: capped(`Unknown messages, created in the last ${recentHours} hours.`),
    failed: capped(`Failed messages, created in the last ${recentHours} hours.`),
    unread_conversations: capped('Conversations with messages that nobody has read.'),
    paused_channels: Type.Integer({ minimum: 0 }),
    silent_channels: Type.Array(Type.String({ examples: ['106540352242922'] }), {
      description: `The channels whose accepted messages have had no status for ${silentMinutes} minutes.`,
    }),
    minutes: Type.Array(
      Type.Object({
        at: Type.String({ description: 'The start of the minute: ISO 8601, UTC.' }),
        sent: Type.Integer({ minimum: 1, description: 'Messages that the messaging API accepted.' }),
      }),
      { description: 'Today’s minutes in which messages were sent, oldest first.' },
    ),
  },
  { title: 'MessageSummary' },
)
export type MessageSummary = Static<typeof MessageSummary>

const keptMilliseconds = 5_000

/** Summarises the tenant's messages. A process keeps a summary for five seconds: requests in between cost nothing. */
export const createMessageSummary = (pool: pg.Pool, ttl = keptMilliseconds) => {
  const summaries = new LRUCache<string, MessageSummary>({
    max: 10_000,
    ttl,
    fetchMethod: (tenant, last) => inTenant(pool, tenant, (tx: Tx) => summarise(tx, tenant, last)),
  })
  return (tenant: string): Promise<MessageSummary> => summaries.forceFetch(tenant)
}

/** Counts the minutes in which an event may still be committed. */
const openMinutes = 2

/** Summarises the messages; counts again only the latest of the minutes in `last`. */
const summarise = async (tx: Tx, tenant: string, last: MessageSummary | undefined): Promise<MessageSummary> => {
  const since = last?.minutes.at(-1 - openMinutes)?.at ?? null
  const recent = idsFrom(new Date(Date.now() - recentHours * 3_600_000))
  const [{ rows: counts }, { rows: minutes }] = await Promise.all([
    tx.client.query({ name: 'count_messages', text: countsSql, values: [tenant, recent] }),
    tx.client.query({ name: 'count_sends', text: sendsSql, values: [tenant, since] }),
  ])
  const counted = minutes.map(({ at, sent }: { at: Date; sent: number }) => ({ at: at.toISOString(), sent }))
  const before =
    last && since !== null && counts[0].date === last.date ? last.minutes.filter(({ at }) => at < since) : []
  return { ...counts[0], minutes: [...before, ...counted] }
}

/** Returns SQL that counts rows, up to `maxCounted`. */
export const selectCount = (rows: string): string =>
  `(select count(*)::integer from (select from ${rows} limit ${maxCounted}) counted)`

const countMessages = (where: string): string => selectCount(`messages where tenant_id = $1 and ${where}`)

// Names each status literally: each has a partial index, which a parameter would not reach.
const countsSql = `
  select (now() at time zone zone.name)::date::text as date, zone.name as time_zone,
    ${countMessages(`status = 'queued'`)} as queued, ${countMessages(`status = 'held'`)} as held,
    ${countMessages(`status = 'unknown' and message_id >= $2 and joined_to is null`)} as unknown,
    ${countMessages(`status = 'failed' and message_id >= $2 and joined_to is null`)} as failed,
    (select count(distinct (phone_number_id, recipient))::integer from (
      select phone_number_id, recipient from inbound_messages where tenant_id = $1
        and read_at is null limit ${maxCounted}
    ) unread) as unread_conversations,
    (select count(*)::integer from channels where tenant_id = $1 and state = 'paused') as paused_channels,
    (select coalesce(array_agg(phone_number_id order by phone_number_id), '{}') from channels c
      where tenant_id = $1 and (${silentSinceSql}) is not null) as silent_channels
  from (select coalesce(time_zone, 'UTC') as name from tenants where tenant_id = $1) zone`

const sendsSql = `
  with zone as materialized (
    select coalesce(time_zone, 'UTC') as name from tenants where tenant_id = $1
  )
  select date_trunc('minute', happened_at) as at, count(*)::integer as sent from message_events
  where tenant_id = $1 and status = 'accepted'
    and happened_at >= (
      select greatest((now() at time zone name)::date::timestamp at time zone name, $2::timestamptz) from zone
    )
  group by 1 order by 1`
