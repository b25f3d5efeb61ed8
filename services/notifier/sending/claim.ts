import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { Conversation } from '../conversations/conversation.ts'
import { conversationOf } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { findMarketingTemplates, templateKey } from '../templates/queries.ts'
import { keepBudget } from './keep-budget.ts'
import { type DueMessage, keepHours, keepWaybillOrder, limitRecipientRate } from './postpone.ts'
import { availableTokens } from './timing.ts'

/** A message that this process may send, until its claim ends. */
export interface ClaimedMessage extends Omit<DueMessage, 'waybillNumber'> {
  readonly waybillNumber?: string | null
  readonly plan: 'free' | 'paid'
  readonly conversation: Conversation | undefined
  /** Looked up for people who opted out of marketing messages; else false. */
  readonly isMarketing: boolean
  /** By Postgres' clock. */
  readonly claimedAt: Date
}

export interface ClaimOptions {
  /** How many messages at most. */
  readonly room: number
  /** How long a claim lasts when the process dies. */
  readonly claimSeconds: number
  /** Seconds between two messages to one recipient; 0: no limit. */
  readonly pairSeconds: number
}

export interface Claimed {
  readonly messages: ClaimedMessage[]
  /** A number had due messages, even if its rate lets none of them be sent now. */
  readonly hasMore: boolean
  /** By Postgres' clock. */
  readonly now: Date
}

interface Channel {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly plan: 'free' | 'paid'
  /** Of its token bucket, a fraction too. */
  readonly tokens: number
  /** By Postgres' clock. */
  readonly now: Date
}

/**
 * Claims due messages, round-robin over the numbers that have any: a number with few does not wait behind one with many.
 * The rows of the numbers are locked meanwhile, so that rates hold across processes; another process takes other numbers.
 */
export const claimMessages = (pool: pg.Pool, options: ClaimOptions): Promise<Claimed> =>
  inAllTenants(pool, async (tx: Tx) => {
    const withDue = await lockChannels(tx)
    const hasMore = withDue.length > 0
    const channels = withDue.filter(({ tokens }) => tokens >= 1)
    const now = channels[0]?.now
    if (!now) return { messages: [], hasMore, now: new Date(0) }
    const share = Math.max(1, Math.floor(options.room / channels.length))
    const counts = channels.map(({ tokens }) => Math.min(Math.floor(tokens), share))
    const due = await claimDue(tx, channels, counts, options.claimSeconds)
    const affordable = await keepBudget(tx, due)
    const allowed = await keepHours(tx, affordable, now)
    const first = await keepWaybillOrder(tx, allowed)
    const ready = await limitRecipientRate(tx, first, options.pairSeconds)
    await takeTokens(tx, channels, ready)
    return { messages: await addConversations(tx, channels, ready), hasMore, now }
  })

/** The active, proven numbers that have due messages, the longest unserved first. */
const lockChannels = async (tx: Tx): Promise<Channel[]> => {
  const { rows } = await tx.client.query({
    name: 'lock_channels',
    text: `
      select c.tenant_id, c.phone_number_id, c.plan, c.rate, c.budget, c.budget_at, c.slowed_rate, c.slowed_at, now() as now
      from channels c
      where c.state = 'active' and c.proven_at is not null and (c.not_before is null or c.not_before <= now())
        -- Not a join, and not an index on expires_at: both would walk a whole backlog to find its first message.
        and (
          select true from messages m
          where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id
            and m.status = 'queued' and m.due_at <= now() and m.expires_at - now() > interval '0'
          order by m.due_at
          limit 1
        )
      order by c.served_at
      limit 64
      -- Not for update: whoever queues messages holds a key-share lock on the number's row until the commit.
      for no key update of c skip locked`,
  })
  return rows.map(row => ({
    tenant: row.tenant_id,
    phoneNumberId: row.phone_number_id,
    plan: row.plan,
    now: row.now,
    tokens: availableTokens(
      { rate: row.rate, tokens: row.budget, at: row.budget_at, slowedRate: row.slowed_rate, slowedAt: row.slowed_at },
      row.now,
    ),
  }))
}

const claimDue = async (
  tx: Tx,
  channels: readonly Channel[],
  counts: readonly number[],
  claimSeconds: number,
): Promise<DueMessage[]> => {
  const { rows } = await tx.client.query({
    name: 'claim_due',
    text: `
      with allowed as (
        select * from unnest($1::text[], $2::text[], $3::integer[]) as allowed (tenant_id, phone_number_id, count)
      ), due as (
        select candidate.* from allowed cross join lateral (
          select m.ctid as row_id from messages m
          where m.tenant_id = allowed.tenant_id and m.phone_number_id = allowed.phone_number_id
            and m.status = 'queued' and m.due_at <= now() and m.expires_at - now() > interval '0'
          order by m.due_at
          limit allowed.count
          for update skip locked
        ) candidate
      )
      update messages m set due_at = now() + make_interval(secs => $4), fence = m.fence + 1,
        -- For the last release.
        is_paced = false
      from due
      where m.ctid = due.row_id
      returning m.tenant_id as tenant, m.message_id as id, m.phone_number_id as "phoneNumberId", m.recipient,
        m.template, m.attempts, m.fence,
        m.holds_until_open as "holdsUntilOpen", m.is_exempt as "isExempt", m.hours,
        m.superseded_by as "supersededBy", m.waybill_number as "waybillNumber", m.traceparent,
        (
          select case when t.held_at is null then 'budget' else 'refused' end from channels c join templates t on t.tenant_id = c.tenant_id and t.waba_id = c.waba_id
          where c.tenant_id = m.tenant_id and c.phone_number_id = m.phone_number_id
            and t.name = m.template ->> 'name' and t.language = m.template -> 'language' ->> 'code'
            and (t.held_at is not null or t.budget_paused_at is not null and m.waybill_number is null)
        ) as "templateHold"`,
    values: [channels.map(c => c.tenant), channels.map(c => c.phoneNumberId), counts, claimSeconds],
  })
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Whether their recipients may be written to, with one query for each number, or two. */
const addConversations = async (
  tx: Tx,
  channels: readonly Channel[],
  messages: readonly DueMessage[],
): Promise<ClaimedMessage[]> => {
  const ofNumber = Map.groupBy(messages, message => message.phoneNumberId)
  const known = channels.map(async ({ tenant, phoneNumberId, plan, now: claimedAt }) => {
    const due = ofNumber.get(phoneNumberId) ?? []
    if (due.length === 0) return []
    const recipients = due.map(({ recipient }) => recipient)
    const conversations = await conversationOf(tx, tenant, phoneNumberId, recipients)
    const names = due.flatMap(({ recipient, template }) =>
      conversations.get(recipient)?.marketingOutAt && !isPlain(template) ? [template.name] : [],
    )
    const marketing = await findMarketingTemplates(tx, tenant, phoneNumberId, names)
    return due.map(message => {
      const isMarketing = !isPlain(message.template) && marketing.has(templateKey(message.template))
      return { ...message, plan, conversation: conversations.get(message.recipient), isMarketing, claimedAt }
    })
  })
  return (await Promise.all(known)).flat()
}

/** Takes tokens from the numbers' buckets and puts the numbers at the end of the round. */
const takeTokens = async (tx: Tx, channels: readonly Channel[], ready: readonly DueMessage[]): Promise<void> => {
  const sent = Map.groupBy(ready, message => message.phoneNumberId)
  await tx.client.query({
    name: 'take_tokens',
    text: `
      update channels c set budget = bucket.tokens, budget_at = now(), served_at = clock_timestamp()
      from unnest($1::text[], $2::text[], $3::double precision[]) as bucket (tenant_id, phone_number_id, tokens)
      where c.tenant_id = bucket.tenant_id and c.phone_number_id = bucket.phone_number_id`,
    values: [
      channels.map(c => c.tenant),
      channels.map(c => c.phoneNumberId),
      channels.map(c => c.tokens - (sent.get(c.phoneNumberId)?.length ?? 0)),
    ],
  })
}
