import type { Tx } from '../database/tables.ts'
import { type Hours, putOffUntil, rememberAllowed, waitsFor } from '../messages/hours.ts'
import type { Content } from '../messaging-api/message-template.ts'

/** A message whose time has come. */
export interface DueMessage {
  readonly tenant: string
  readonly id: string
  readonly phoneNumberId: string
  readonly recipient: string
  readonly template: Content
  readonly attempts: number
  readonly fence: string
  /** The recipient rate limit reserved the current slot for it. */
  readonly hasRecipientSlot: boolean
  readonly holdsUntilOpen: boolean
  /** It goes to a person who opted out, too. */
  readonly isExempt: boolean
  readonly hours: Hours | null
  /** Why it is not sent any more. */
  readonly supersededBy: string | null
  /**
   * refused: by the API; the message waits until the catalogue approves its template again. budget: it is a marketing message
   * about no parcel, and the tenant's budget is used up.
   */
  readonly templateHold: 'refused' | 'budget' | null
  readonly waybillNumber: string | null
  readonly traceparent: string | null
}

/**
 * Hours: returns the messages that may be sent now, and those that are cancelled anyway. Puts the others off until their hours
 * begin next, which does not count as an attempt.
 */
export const keepHours = async (tx: Tx, due: readonly DueMessage[], now: Date): Promise<DueMessage[]> => {
  const allowedFrom = rememberAllowed()
  const late = new Map<DueMessage, { until: Date; detail: string }>()
  for (const message of due) {
    const { hours, supersededBy } = message
    const until = hours && !supersededBy && putOffUntil(now, hours, allowedFrom)
    if (until) late.set(message, { until, detail: waitsFor(hours) })
  }
  if (late.size === 0) return [...due]
  await tx.client.query({
    name: 'put_off',
    text: `
      with late as (
        update messages m set due_at = given.until, send_at = given.until
        from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[]) as given (tenant_id, message_id, until, detail)
        where m.tenant_id = given.tenant_id and m.message_id = given.message_id
        returning m.tenant_id, m.message_id, given.detail
      )
      insert into message_events (tenant_id, message_id, status, detail)
      select tenant_id, message_id, 'queued', detail from late`,
    values: [
      [...late.keys()].map(({ tenant }) => tenant),
      [...late.keys()].map(({ id }) => id),
      [...late.values()].map(({ until }) => until),
      [...late.values()].map(({ detail }) => detail),
    ],
  })
  return due.filter(message => !late.has(message))
}

/** A message waits this long at most for those before it: a held template must not silence an order. */
const longestWaitMinutes = 15

/**
 * Per-waybill FIFO: messages about one waybill to one recipient are sent in the order in which they were made. Returns
 * those without an earlier one that is queued, retried, sending or unknown while its webhook may still come; postpones the
 * others, which does not count as an attempt.
 */
export const keepWaybillOrder = async (tx: Tx, due: readonly DueMessage[]): Promise<DueMessage[]> => {
  const ordered = due.filter(({ waybillNumber }) => waybillNumber !== null)
  if (ordered.length === 0) return [...due]
  const { rows } = await tx.client.query({
    name: 'keep_waybill_order',
    // Behind a failed send a message waits for its next attempt; behind an unknown one, which may be minutes, it is looked at
    // seldom, so that many of them take no places of other messages; behind anything else it is due again in a second.
    text: `
      with later as (
        select m.tenant_id, m.message_id, least(greatest(m.status_at, m.send_at) + make_interval(mins => $3::integer), max(
          case when e.status = 'queued' and e.attempts > 0 then greatest(e.due_at, now()) + interval '1 second'
            when e.status = 'unknown' then now() + interval '5 seconds'
            else now() + interval '1 second' end)) as due_at
        from unnest($1::text[], $2::text[]) as given (tenant_id, message_id)
        join messages m using (tenant_id, message_id)
        join messages e on e.tenant_id = m.tenant_id and e.waybill_number = m.waybill_number
          and e.phone_number_id = m.phone_number_id and e.recipient = m.recipient
          and (e.created_at, e.message_id) < (m.created_at, m.message_id)
          and coalesce(e.status, '') in ('queued', 'sending', 'unknown') and (e.send_at is null or e.send_at <= now())
          -- Of an unknown one with that nothing more is expected.
          and (e.status <> 'unknown' or e.due_at < 'infinity')
        where greatest(m.status_at, m.send_at) > now() - make_interval(mins => $3::integer)
        group by m.tenant_id, m.message_id, m.status_at, m.send_at
      )
      update messages m set due_at = later.due_at
      from later where m.tenant_id = later.tenant_id and m.message_id = later.message_id
      returning m.tenant_id || ' ' || m.message_id as key`,
    values: [ordered.map(message => message.tenant), ordered.map(message => message.id), longestWaitMinutes],
  })
  const isLater = new Set<string>(rows.map(row => row.key))
  return due.filter(({ tenant, id }) => !isLater.has(`${tenant} ${id}`))
}

/**
 * Recipient rate limit: reserves each message a slot of its recipient, `pairSeconds` apart. Returns those whose slot is
 * now; postpones the others to theirs, which does not count as an attempt. Any number of processes may do this at once:
 * the slots come from one row per recipient.
 */
export const limitRecipientRate = async (
  tx: Tx,
  due: readonly DueMessage[],
  pairSeconds: number,
): Promise<DueMessage[]> => {
  const newcomers = due.filter(message => !message.hasRecipientSlot)
  if (pairSeconds === 0 || newcomers.length === 0) return [...due]
  const groups = Map.groupBy(newcomers, message => `${message.phoneNumberId} ${message.recipient}`)
  const sorted = [...groups.keys()].sort().map(key => groups.get(key) ?? [])
  const waits = await reserve(tx, sorted, pairSeconds)
  const late = new Map<string, { message: DueMessage; waitSeconds: number }>()
  for (const [g, group] of sorted.entries())
    for (const [slot, message] of group.entries()) {
      const waitSeconds = (waits[g] ?? 0) + slot * pairSeconds
      if (waitSeconds > 0.001) late.set(message.id, { message, waitSeconds })
    }
  await postpone(tx, [...late.values()])
  return due.filter(message => !late.has(message.id))
}

/** Seconds until the first slot of each group. */
const reserve = async (tx: Tx, groups: DueMessage[][], pairSeconds: number): Promise<number[]> => {
  const { rows } = await tx.client.query({
    name: 'reserve_slots',
    text: `
      insert into recipients (tenant_id, phone_number_id, recipient, next_send_at)
      select tenant_id, phone_number_id, recipient, now() + make_interval(secs => seconds)
      from unnest($1::text[], $2::text[], $3::text[], $4::double precision[])
        as wanted (tenant_id, phone_number_id, recipient, seconds)
      on conflict (tenant_id, phone_number_id, recipient) do update
        set next_send_at = greatest(recipients.next_send_at, now()) + (excluded.next_send_at - now())
      returning phone_number_id || ' ' || recipient as key,
        extract(epoch from next_send_at - now())::double precision as seconds`,
    values: [
      groups.map(([first]) => first?.tenant),
      groups.map(([first]) => first?.phoneNumberId),
      groups.map(([first]) => first?.recipient),
      groups.map(group => group.length * pairSeconds),
    ],
  })
  const until = new Map<string, number>(rows.map(row => [row.key, row.seconds]))
  return groups.map(group => {
    const [first] = group
    return (until.get(`${first?.phoneNumberId} ${first?.recipient}`) ?? 0) - group.length * pairSeconds
  })
}

const postpone = async (tx: Tx, late: { message: DueMessage; waitSeconds: number }[]): Promise<void> => {
  if (late.length === 0) return
  await tx.client.query({
    name: 'postpone',
    text: `
      update messages m set due_at = now() + make_interval(secs => late.seconds), is_paced = true
      from unnest($1::text[], $2::text[], $3::double precision[]) as late (tenant_id, message_id, seconds)
      where m.tenant_id = late.tenant_id and m.message_id = late.message_id`,
    values: [
      late.map(({ message }) => message.tenant),
      late.map(({ message }) => message.id),
      late.map(({ waitSeconds }) => waitSeconds),
    ],
  })
}
