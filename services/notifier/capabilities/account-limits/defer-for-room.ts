import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type pg from 'pg'
import type { ChannelRef } from '../../core/channels/secrets.ts'
import { isOpen } from '../../core/conversations/conversation.ts'
import { prepared, type Tx, toColumns } from '../../core/database/tables.ts'
import { laterExpirySql } from '../../core/messages/expiry.ts'
import { isPlain } from '../../core/messaging-api/message-template.ts'
import type { Admission } from '../../core/sending/admission.ts'
import type { ClaimedMessage } from '../../core/sending/message.ts'

/** Begins the reason that staff read while a message waits for room in the limit of its portfolio. */
export const waitsForRoom = "waits: the portfolio's messaging limit is reached"

/** Limits the messages of one number that a statement defers. */
const maxDeferred = 10_000

/**
 * Admits the messages that may be sent, and counts their people towards the limits of their portfolios. Defers the
 * others until there is room, with those that are due on numbers of the same portfolio: the first of the line leaves
 * first, utility before marketing. A deferral is not an attempt. Locks the portfolios after messages and numbers
 * (docs/contributors/decisions.md#order-of-locks).
 */
export const admitWithinRoom: Admission = async (tx, numbers) => {
  const limited = await findLimited(tx, numbers)
  if (limited.size === 0) return {}
  return {
    reserve: async sendable => {
      const counted = Map.groupBy(sendable.filter(isCounted), message => limited.get(toKey(message)))
      counted.delete(undefined)
      const late = new Set<ClaimedMessage>()
      for (const portfolio of ([...counted.keys()] as string[]).sort())
        for (const message of await takeRoom(tx, portfolio, counted.get(portfolio) ?? [])) late.add(message)
      return sendable.filter(message => !late.has(message))
    },
  }
}

const toKey = ({ tenant, phoneNumberId }: ChannelRef): string => `${tenant} ${phoneNumberId}`

/** Finds the portfolios of these numbers that have a known limit. */
const findLimited = async (tx: Tx, numbers: readonly ChannelRef[]): Promise<Map<string, string>> => {
  const [tenants, ids] = toColumns(numbers, 'tenant', 'phoneNumberId')
  const rows = await prepared<ChannelRef & { portfolio: string }>(tx, 'find_limited')`
    select tenant_id as tenant, phone_number_id as "phoneNumberId", portfolio_id as portfolio
    from unnest(${tenants}::text[], ${ids}::text[]) as number (tenant_id, phone_number_id)
      join channels using (tenant_id, phone_number_id) join portfolios using (portfolio_id)
    where max_people is not null`
  return new Map(rows.map(({ portfolio, ...number }) => [toKey(number), portfolio]))
}

/** The limit counts people whom messages reach outside an open window: templates alone. */
const isCounted = ({ template, conversation, claimedAt }: ClaimedMessage): boolean =>
  !isPlain(template) && !isOpen(conversation?.lastInboundAt ?? null, claimedAt)

interface Room {
  readonly room: number
  /** Lists the given people whom the portfolio has reached within the day: another message to them takes no room. */
  readonly known: string[]
  readonly hasLine: boolean
}

/** Counts the people of messages that may leave; returns the messages that may not. */
const takeRoom = async (
  tx: Tx,
  portfolio: string,
  messages: readonly ClaimedMessage[],
): Promise<readonly ClaimedMessage[]> => {
  const limit = await lockPortfolio(tx, portfolio)
  if (limit === undefined) return []
  const { room, known, hasLine } = await findRoom(tx, portfolio, limit, messages)
  const strangers = messages.filter(({ recipient }) => !known.includes(recipient))
  const isEnough = !hasLine && new Set(strangers.map(({ recipient }) => recipient)).size <= room
  const late = isEnough || strangers.length === 0 ? [] : await joinLine(tx, { portfolio, limit, room }, strangers)
  await countPeople(
    tx,
    portfolio,
    messages.filter(message => !late.includes(message)),
  )
  return late
}

const lockPortfolio = async (tx: Tx, portfolio: string): Promise<number | undefined> => {
  const rows = await prepared<{ limit: number }>(tx, 'lock_portfolio')`
    select max_people as limit from portfolios where portfolio_id = ${portfolio} and max_people is not null for update`
  return rows[0]?.limit
}

/**
 * Forgets the people who were reached a day ago, knows by their number those whom we knew by user id when they were
 * reached, then finds the room that is left. Needs the portfolio locked.
 */
const findRoom = async (tx: Tx, portfolio: string, limit: number, messages: readonly ClaimedMessage[]) => {
  const [tenants, recipients] = toColumns(messages, 'tenant', 'recipient')
  const rows = await prepared<Room>(tx, 'find_room')`
    with gone as (
      delete from portfolio_people where portfolio_id = ${portfolio} and reached_at <= now() - interval '24 hours'
      returning portfolio_id
    ), counted as (
      update portfolios set used = used - (select count(*)::integer from gone) where portfolio_id = ${portfolio}
      returning used
    ), paired as (
      update portfolio_people p set recipient = pair.recipient
      from (
        select distinct on (given.recipient) user_id, given.recipient
        from unnest(${tenants}::text[], ${recipients}::text[]) as given (tenant_id, recipient)
          join identities using (tenant_id, recipient) join portfolio_people u on u.recipient = user_id
        where u.portfolio_id = ${portfolio} and user_id <> given.recipient
          and not exists (select from portfolio_people n where n.portfolio_id = ${portfolio}
            and n.recipient = given.recipient)
      ) pair
      where p.portfolio_id = ${portfolio} and p.recipient = user_id and p.reached_at > now() - interval '24 hours'
      returning p.recipient
    )
    select greatest(0, ${limit}::integer - used) as room, array(
        select recipient from portfolio_people
        where portfolio_id = ${portfolio} and recipient = any(${recipients}::text[])
          and reached_at > now() - interval '24 hours'
        union all select recipient from paired
      ) as known,
      exists (select from portfolio_waiting where portfolio_id = ${portfolio}) as "hasLine"
    from counted`
  return rows[0] as Room
}

const countPeople = async (tx: Tx, portfolio: string, messages: readonly ClaimedMessage[]): Promise<void> => {
  if (messages.length === 0) return
  const [recipients] = toColumns(messages, 'recipient')
  await prepared(tx, 'count_people')`
    with reached as (
      insert into portfolio_people as p (portfolio_id, recipient)
      select distinct ${portfolio}, recipient from unnest(${recipients}::text[]) as given (recipient)
      on conflict (portfolio_id, recipient) do update set reached_at = now()
      returning old.recipient is null as is_new
    )
    update portfolios set used = used + (select count(*)::integer from reached where is_new)
    where portfolio_id = ${portfolio}`
}

interface Line {
  readonly portfolio: string
  readonly limit: number
  readonly room: number
}

/** Puts due messages into the line; returns those of `messages` that may not leave now. */
const joinLine = async (tx: Tx, line: Line, messages: readonly ClaimedMessage[]): Promise<ClaimedMessage[]> => {
  const { portfolio } = line
  const ids = messages.map(({ id }) => id)
  await prepared(tx, 'join_line')`
    insert into portfolio_waiting (portfolio_id, tenant_id, message_id, is_marketing, created_at)
    select ${portfolio}, m.tenant_id, m.message_id, coalesce(t.category = 'MARKETING', false), m.created_at
    from channels c cross join lateral (
      select m.* from messages m
      where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id
        and m.status = 'queued' and m.due_at <= now() and m.expires_at > now()
      order by m.due_at
      limit ${maxDeferred}::integer
    ) m
      left join templates t on t.tenant_id = c.tenant_id and t.waba_id = c.waba_id and t.name = m.template ->> 'name'
        and t.language = m.template -> 'language' ->> 'code'
      left join conversations v on v.tenant_id = m.tenant_id and v.phone_number_id = m.phone_number_id
        and v.recipient = m.recipient
      left join portfolio_people p on p.portfolio_id = c.portfolio_id and p.recipient = m.recipient
    where c.portfolio_id = ${portfolio} and c.state = 'active' and (m.message_id = any(${ids}::text[])
      or m.superseded_by is null and m.template ? 'name' and m.hours is null and t.held_at is null
        -- Numbers with 5 may be spelt in two ways, which only identifyPerson matches with their conversations.
        and m.recipient not like '5%'
        and t.budget_paused_at is null and p.recipient is null
        and coalesce(v.last_inbound_at <= now() - interval '24 hours', true))
    on conflict (portfolio_id, tenant_id, message_id) do nothing`
  const leaving = await planLine(tx, line, ids)
  return messages.filter(({ tenant, id }) => !leaving.has(`${tenant} ${id}`))
}

/**
 * Makes the first of the line due, as many as there is room for, and plans when each of the others leaves: as soon as
 * somebody whom the portfolio reached a day before makes room. Takes those of `ids` that leave now out of the line, and
 * returns them as `tenant id`. Changes a plan only by more than a minute, and skips messages that others have locked.
 */
const planLine = async (tx: Tx, { portfolio, limit, room }: Line, ids: readonly string[]): Promise<Set<string>> => {
  const [, rows] = await Promise.all([
    tx.rows({ name: 'plan_line', text: planLineSql, values: [portfolio, room, limit] }),
    tx.rows<{ key: string }>({ name: 'leave_now', text: leaveNowSql, values: [portfolio, room, ids] }),
  ])
  return new Set(rows.map(({ key }) => key))
}

/** Gives each message of the line its position: the portfolio $1 has room for those up to 0. */
const lineSql = `
  select m.tenant_id, m.message_id, w.due_at as planned,
    row_number() over (order by w.is_marketing, w.created_at, w.message_id) - $2::integer as position
  from portfolio_waiting w join messages m using (tenant_id, message_id)
    join channels c on c.tenant_id = m.tenant_id and c.phone_number_id = m.phone_number_id
  where w.portfolio_id = $1 and m.status = 'queued' and c.state = 'active'
    and (w.due_at is null or w.due_at = m.due_at or m.due_at <= now())`

const planLineSql = `
  with line as materialized (${lineSql}),
  people as materialized (
    select reached_at, row_number() over (order by reached_at) as place from portfolio_people where portfolio_id = $1
  ), plan as (
    select l.*, case when l.position <= 0 then now() else coalesce(p.reached_at, now())
      + l.position * interval '1 millisecond'
      + interval '24 hours' * (1 + (l.position - 1) / greatest($3::integer, 1)) end as due_at
    from line l left join people p on p.place = 1 + (l.position - 1) % greatest($3::integer, 1)
  ), later as materialized (
    select plan.* from messages m join plan using (tenant_id, message_id)
    where m.status = 'queued' and case when position <= 0 then m.due_at > now()
      else planned is null or m.due_at <= now() or abs(extract(epoch from planned - plan.due_at)) > 60 end
    for update of m skip locked
  ), moved as (
    update messages m set due_at = later.due_at, send_at = later.due_at, expires_at = ${laterExpirySql}
    from later where m.tenant_id = later.tenant_id and m.message_id = later.message_id
  ), planned as (
    update portfolio_waiting w set due_at = later.due_at
    from later where w.portfolio_id = $1 and w.tenant_id = later.tenant_id and w.message_id = later.message_id
  )
  insert into message_events (tenant_id, message_id, status, detail)
  select l.tenant_id, l.message_id, 'queued', '${waitsForRoom.replaceAll("'", "''")}; leaves about '
    || to_char(l.due_at at time zone coalesce(t.time_zone, 'UTC'), 'YYYY-MM-DD HH24:MI')
  from later l join tenants t using (tenant_id)
  where l.planned is null and l.position > 0`

const leaveNowSql = `
  with line as materialized (${lineSql}), leaving as (
    delete from portfolio_waiting w using line l
    where w.portfolio_id = $1 and w.tenant_id = l.tenant_id and w.message_id = l.message_id
      and l.position <= 0 and l.message_id = any($3::text[])
    returning w.tenant_id, w.message_id
  )
  select tenant_id || ' ' || message_id as key from leaving`

/** Forgets what left the line by another way, and the people who were reached a day ago; then plans the line again. */
export const openRoom = (pool: pg.Pool): Promise<void> =>
  inAllTenants(pool, async (tx: Tx) => {
    const portfolios = await prepared<{ id: string; limit: number }>(tx, 'lock_portfolios')`
    select portfolio_id as id, max_people as limit from portfolios
    where used > 0 or exists (select from portfolio_waiting w where w.portfolio_id = portfolios.portfolio_id)
    order by portfolio_id for update skip locked`
    for (const { id, limit } of portfolios) {
      const max = limit ?? 1_000_000
      const { room, hasLine } = await findRoom(tx, id, max, [])
      if (!hasLine) continue
      await prepared(tx, 'leave_line')`
      delete from portfolio_waiting w where w.portfolio_id = ${id} and not exists (
        select from messages m where m.tenant_id = w.tenant_id and m.message_id = w.message_id
          and m.status = 'queued' and coalesce(m.due_at = w.due_at, true))`
      await planLine(tx, { portfolio: id, limit: max, room }, [])
    }
  })
