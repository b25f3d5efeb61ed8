import { prepared, type Tx, toColumns } from '../database/tables.ts'
import { deferUntil, rememberAllowed, waitsFor } from '../messages/hours.ts'
import type { Admission } from './admission.ts'
import type { DueMessage } from './message.ts'

/** Defers messages until their hours begin; superseded ones pass, since they are cancelled next. */
export const admitHours: Admission = (tx, _numbers, now) => ({ defer: due => deferForHours(tx, due, now) })

const deferForHours = async (tx: Tx, due: readonly DueMessage[], now: Date): Promise<DueMessage[]> => {
  const allowedFrom = rememberAllowed()
  const late = new Map<DueMessage, Deferral>()
  for (const message of due) {
    const { hours, supersededBy } = message
    const until = hours && !supersededBy && deferUntil(now, hours, allowedFrom)
    if (until) late.set(message, { until, detail: waitsFor(hours) })
  }
  await postpone(tx, late)
  return due.filter(message => !late.has(message))
}

/**
 * A message waits at most this long for earlier ones, counted from when its number could send it: a held template must
 * not block the messages of an order.
 */
const longestWaitMinutes = 15

/**
 * Keeps per-waybill FIFO: messages about one waybill to one recipient are sent in the order of their creation. Returns
 * those without an earlier one that is queued (not for a later time), sending, or unknown while its webhook may still
 * come; postpones the others, which is not an attempt.
 */
export const waitForEarlier = async (tx: Tx, due: readonly DueMessage[]): Promise<DueMessage[]> => {
  const ordered = due.filter(({ waybillNumber }) => waybillNumber !== null)
  if (ordered.length === 0) return [...due]
  const [tenants, ids] = toColumns(ordered, 'tenant', 'id')
  // A message waits for the next attempt of an earlier message whose send failed. Behind an unknown message, which may
  // take minutes, it is due again in five seconds, so that many such messages do not crowd out others; behind any other
  // message, in a second.
  const rows = await prepared<{ key: string }>(tx, 'keep_waybill_order')`
    with later as (
      select m.tenant_id, m.message_id, least(
        greatest(m.status_at, m.send_at, c.not_before) + make_interval(mins => ${longestWaitMinutes}::integer),
        max(case when e.status = 'queued' and e.attempts > 0 then greatest(e.due_at, now()) + interval '1 second'
          when e.status = 'unknown' then now() + interval '5 seconds'
          else now() + interval '1 second' end)) as due_at
      from unnest(${tenants}::text[], ${ids}::text[]) as given (tenant_id, message_id)
      join messages m using (tenant_id, message_id)
      join channels c on c.tenant_id = m.tenant_id and c.phone_number_id = m.phone_number_id
      join messages e on e.tenant_id = m.tenant_id and e.waybill_number = m.waybill_number
        and e.phone_number_id = m.phone_number_id and e.recipient = m.recipient
        and (e.created_at, e.message_id) < (m.created_at, m.message_id)
        and coalesce(e.status, '') in ('queued', 'sending', 'unknown') and (e.send_at is null or e.send_at <= now())
        -- An unknown message that is never due gets no later outcome: nothing waits for it.
        and (e.status <> 'unknown' or e.due_at < 'infinity')
      where greatest(m.status_at, m.send_at, c.not_before)
        > now() - make_interval(mins => ${longestWaitMinutes}::integer)
      group by m.tenant_id, m.message_id, m.status_at, m.send_at, c.not_before
    )
    update messages m set due_at = later.due_at
    from later where m.tenant_id = later.tenant_id and m.message_id = later.message_id
    returning m.tenant_id || ' ' || m.message_id as key`
  const isLater = new Set<string>(rows.map(row => row.key))
  return due.filter(({ tenant, id }) => !isLater.has(`${tenant} ${id}`))
}

/** Limits the seconds between checks of a recipient to whom a send is in progress. */
const recipientSeconds = 0.25

/**
 * Returns the messages whose recipients may get one now; with a pause between messages, only one for each recipient.
 * Postpones the others, which is not an attempt.
 */
export const limitRecipientRate = async (tx: Tx, due: readonly DueMessage[], recipientPauseSeconds: number) => {
  if (due.length === 0) return []
  const groups = Map.groupBy(due, toKey)
  const waits = await findWaits(tx, due)
  const late = new Map<DueMessage, Deferral>()
  for (const [key, group] of groups) {
    const wait = waits.get(key) ?? 0
    // A message in flight holds the others back for longer than it usually takes.
    const first = recipientPauseSeconds > 0 ? Math.min(wait, Math.max(recipientPauseSeconds, recipientSeconds)) : wait
    for (const [position, message] of group.entries()) {
      const seconds = first + position * recipientPauseSeconds
      if (seconds > 0) late.set(message, { seconds })
    }
  }
  await postpone(tx, late)
  return due.filter(message => !late.has(message))
}

const toKey = ({ tenant, phoneNumberId, recipient }: DueMessage) => `${tenant} ${phoneNumberId} ${recipient}`

/** Returns the seconds until recipients may get a message, by Postgres' clock; omits those who may get one now. */
const findWaits = async (tx: Tx, messages: readonly DueMessage[]): Promise<Map<string, number>> => {
  const [tenants, numbers, recipients] = toColumns(messages, 'tenant', 'phoneNumberId', 'recipient')
  const rows = await prepared<{ key: string; seconds: number }>(tx, 'find_waits')`
    select tenant_id || ' ' || phone_number_id || ' ' || recipient as key,
      extract(epoch from next_send_at - now())::double precision as seconds
    from unnest(${tenants}::text[], ${numbers}::text[], ${recipients}::text[])
      as given (tenant_id, phone_number_id, recipient)
    join recipients using (tenant_id, phone_number_id, recipient)
    where next_send_at > now()`
  return new Map(rows.map(row => [row.key, row.seconds]))
}

/** Says when a message is due again: at a time that its timeline shows with the reason, or in some seconds. */
type Deferral = { readonly until: Date; readonly detail: string } | { readonly seconds: number }

const postpone = async (tx: Tx, late: ReadonlyMap<DueMessage, Deferral>): Promise<void> => {
  if (late.size === 0) return
  const rows = [...late].map(([{ tenant, id }, deferral]) => {
    return { tenant, id, until: null, detail: null, seconds: null, ...deferral }
  })
  const [tenants, ids, times, details, seconds] = toColumns(rows, 'tenant', 'id', 'until', 'detail', 'seconds')
  await prepared(tx, 'postpone')`
    with late as (
      update messages m set due_at = coalesce(given.until, now() + make_interval(secs => given.seconds)),
        send_at = coalesce(given.until, m.send_at)
      from unnest(${tenants}::text[], ${ids}::text[], ${times}::timestamptz[], ${details}::text[], ${seconds}::float8[])
        as given (tenant_id, message_id, until, detail, seconds)
      where m.tenant_id = given.tenant_id and m.message_id = given.message_id
      returning m.tenant_id, m.message_id, given.detail
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, 'queued', detail from late where detail is not null`
}
