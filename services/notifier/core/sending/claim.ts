import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { ChannelRef } from '../channels/secrets.ts'
import { findConversation } from '../conversations/queries.ts'
import { prepared, type Tx, toColumns } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { findMarketingTemplates, toTemplateKey } from '../templates/queries.ts'
import type { Admission } from './admission.ts'
import { admitHours, limitRecipientRate, waitForEarlier } from './defer.ts'
import { type MarkOptions, markSending } from './mark.ts'
import type { ClaimedMessage, DueMessage } from './message.ts'
import { type Blocked, findBlockReason } from './pre-send-check.ts'
import { countTokens, type TokenBucket } from './rate-limit.ts'

interface ClaimOptions extends MarkOptions {
  readonly room: number
  readonly admissions?: readonly Admission[] | undefined
  /** Runs before the commit with the messages that become `sending`, to queue again if the commit is in doubt. */
  readonly beforeCommit?: (messages: readonly ClaimedMessage[]) => void
}

interface Claimed {
  /** Are committed as `sending`. */
  readonly messages: readonly ClaimedMessage[]
  readonly blocked: readonly Blocked[]
  /** Is true if a number had due messages, even if its rate lets none of them be sent now. */
  readonly hasMore: boolean
  /** Comes from Postgres' clock. */
  readonly now: Date
}

interface Channel extends ChannelRef {
  readonly plan: 'free' | 'paid'
  readonly tokens: number
  /** Comes from Postgres' clock. */
  readonly now: Date
}

/**
 * Claims due messages for sending at once, round-robin over the numbers: a number with few messages does not wait
 * behind one with many. Commits `sending` for those that may be sent. Locks the rows of the numbers and messages
 * meanwhile, so that checks and rates hold across processes; another process claims other numbers.
 */
export const claimMessages = (pool: pg.Pool, options: ClaimOptions): Promise<Claimed> =>
  inAllTenants(pool, async (tx: Tx) => {
    const withDue = await lockChannels(tx)
    const hasMore = withDue.length > 0
    const channels = withDue.filter(({ tokens }) => tokens >= 1).slice(0, options.room)
    const now = channels[0]?.now
    if (!now) return { messages: [], blocked: [], hasMore, now: new Date(0) }
    const share = Math.max(1, Math.floor(options.room / channels.length))
    const counts = channels.map(({ tokens }) => Math.min(Math.floor(tokens), share))
    const admitting = [admitHours, ...(options.admissions ?? [])].map(begin => begin(tx, channels, now))
    const [due, admissions] = await Promise.all([lockDue(tx, channels, counts), Promise.all(admitting)])
    let allowed: readonly DueMessage[] = due
    for (const { defer } of admissions) if (defer) allowed = await defer(allowed)
    const first = await waitForEarlier(tx, allowed)
    const [ready, checkable] = await Promise.all([
      limitRecipientRate(tx, first, options.recipientPauseSeconds),
      addConversations(tx, channels, first),
    ])
    const { sendable, blocked } = check(ready, checkable, now)
    let leaving: readonly ClaimedMessage[] = sendable
    for (const { reserve } of admissions) if (reserve) leaving = await reserve(leaving)
    const [marked] = await Promise.all([
      markSending(tx, leaving, options),
      takeTokens(tx, channels, [...leaving, ...blocked.map(({ message }) => message)]),
    ])
    let messages: readonly ClaimedMessage[] = marked
    for (const { carry } of admissions) if (carry) messages = await carry(messages)
    options.beforeCommit?.(messages)
    return { messages, blocked, hasMore, now }
  })

const check = (ready: readonly DueMessage[], checkable: ReadonlyMap<DueMessage, ClaimedMessage>, now: Date) => {
  const sendable: ClaimedMessage[] = []
  const blocked: Blocked[] = []
  for (const due of ready) {
    const message = checkable.get(due)
    const reason = message && findBlockReason(message, now)
    if (message && reason) blocked.push({ message, reason })
    else if (message) sendable.push(message)
  }
  return { sendable, blocked }
}

/** Locks the active numbers that have due messages, the longest unserved first. */
const lockChannels = async (tx: Tx): Promise<Channel[]> => {
  const rows = await prepared<Omit<Channel, 'tokens'> & TokenBucket>(tx, 'lock_channels')`
    select c.tenant_id as tenant, c.phone_number_id as "phoneNumberId", c.plan, c.rate, c.budget as tokens,
      c.budget_at as at, c.slowed_rate as "slowedRate", c.slowed_at as "slowedAt", now() as now
    from channels c
    where c.state = 'active' and (c.not_before is null or c.not_before <= now())
      -- Avoids a join and an index on expires_at: both would walk a whole backlog to find its first message.
      and (
        select true from messages m
        where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id
          and m.status = 'queued' and m.due_at <= now() and m.expires_at - now() > interval '0'
        order by m.due_at
        limit 1
      )
    order by c.served_at
    limit 64
    -- An update lock would conflict: whoever queues messages holds a key-share lock on the number's row until commit.
    for no key update of c skip locked`
  return rows.map(({ tenant, phoneNumberId, plan, now, ...bucket }) => {
    return { tenant, phoneNumberId, plan, now, tokens: countTokens(bucket, now) }
  })
}

/** Locks due messages: until the transaction ends no other process claims them. */
const lockDue = async (tx: Tx, channels: readonly Channel[], counts: readonly number[]): Promise<DueMessage[]> => {
  const [tenants, numbers] = toColumns(channels, 'tenant', 'phoneNumberId')
  const rows = await prepared<DueMessage>(tx, 'lock_due')`
    with allowed as (
      select * from unnest(${tenants}::text[], ${numbers}::text[], ${counts}::integer[])
        as allowed (tenant_id, phone_number_id, count)
    ), held as materialized (
      select t.tenant_id, c.phone_number_id, t.name, t.language
      from allowed join channels c using (tenant_id, phone_number_id)
        join templates t on t.tenant_id = c.tenant_id and t.waba_id = c.waba_id
      where t.held_at is not null
    )
    select candidate.*, exists (
        select from held h
        where h.tenant_id = candidate.tenant and h.phone_number_id = candidate."phoneNumberId"
          and h.name = candidate.template ->> 'name' and h.language = candidate.template -> 'language' ->> 'code'
      ) as "isTemplateHeld"
    from allowed cross join lateral (
      select m.tenant_id as tenant, m.message_id as id, m.phone_number_id as "phoneNumberId", m.recipient, m.template,
        m.attempts, m.fence, m.holds_until_open as "holdsUntilOpen", m.is_exempt as "isExempt", m.hours,
        m.superseded_by as "supersededBy", m.waybill_number as "waybillNumber", m.traceparent,
        m.joins
      from messages m
      where m.tenant_id = allowed.tenant_id and m.phone_number_id = allowed.phone_number_id
        and m.status = 'queued' and m.due_at <= now() and m.expires_at - now() > interval '0'
      order by m.due_at
      limit allowed.count
      for update skip locked
    ) candidate`
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Includes the tenant, since two tenants may claim a number. */
const toKey = ({ tenant, phoneNumberId }: ChannelRef): string => `${tenant} ${phoneNumberId}`

const addConversations = async (tx: Tx, channels: readonly Channel[], messages: readonly DueMessage[]) => {
  const ofNumber = Map.groupBy(messages, toKey)
  const known = channels.map(async ({ tenant, phoneNumberId, plan, now: claimedAt }) => {
    const due = ofNumber.get(toKey({ tenant, phoneNumberId })) ?? []
    if (due.length === 0) return []
    const recipients = due.map(({ recipient }) => recipient)
    const conversations = await findConversation(tx, tenant, phoneNumberId, recipients)
    const names = due.flatMap(({ recipient, template }) =>
      conversations.get(recipient)?.marketingOutAt && !isPlain(template) ? [template.name] : [],
    )
    const marketing = await findMarketingTemplates(tx, { tenant, phoneNumberId }, names)
    return due.map(message => {
      const isMarketing = !isPlain(message.template) && marketing.has(toTemplateKey(message.template))
      const conversation = conversations.get(message.recipient)
      return [message, { ...message, plan, conversation, isMarketing, claimedAt }] as const
    })
  })
  return new Map((await Promise.all(known)).flat())
}

/** Takes tokens from the numbers' buckets and puts the numbers at the end of the round. */
const takeTokens = async (tx: Tx, channels: readonly Channel[], ready: readonly ChannelRef[]): Promise<void> => {
  const sent = Map.groupBy(ready, toKey)
  const buckets = channels.map(({ tokens, ...channel }) => {
    return { ...channel, tokens: tokens - (sent.get(toKey(channel))?.length ?? 0) }
  })
  const [tenants, numbers, tokens] = toColumns(buckets, 'tenant', 'phoneNumberId', 'tokens')
  await prepared(tx, 'take_tokens')`
    update channels c set budget = bucket.tokens, budget_at = now(), served_at = clock_timestamp()
    from unnest(${tenants}::text[], ${numbers}::text[], ${tokens}::double precision[])
      as bucket (tenant_id, phone_number_id, tokens)
    where c.tenant_id = bucket.tenant_id and c.phone_number_id = bucket.phone_number_id`
}
