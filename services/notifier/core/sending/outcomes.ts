import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import pg from 'pg'
import { type MessageStatus, prepared, type Tx, toColumns } from '../database/tables.ts'
import type { ClaimedMessage } from './message.ts'

export interface SendOutcome {
  readonly message: ClaimedMessage
  readonly status: Extract<MessageStatus, 'accepted' | 'queued' | 'failed' | 'unknown'>
  readonly providerMessageId?: string
  readonly code?: number | null
  readonly meaning?: string
  readonly isAttempt: boolean
  /** Counts the seconds until the message is due next: to be sent again, or to stop waiting for a webhook. */
  readonly dueSeconds?: number
  /** The API asks us to send the recipient nothing for this long. */
  readonly restSeconds?: number
  /** Is true if no byte of the request was written: no pause follows. */
  readonly isUnwritten?: true
  readonly detail?: string
}

const isRetrySql = `d.status = 'queued' and d.meaning is not null`
/** Is true if an earlier send failed within the longest wait between two sends. */
const isFailingSql = `m.failing_since > now() - interval '6 hours'`

/**
 * Stores outcomes, each with its timeline event. An outcome changes nothing once its message has been claimed again; if
 * a webhook has reported more, the outcome adds only the API's message id, unless the report was a failure of an
 * earlier send or the same refusal, after which the message is retried. An outcome overrides an earlier sweep: an
 * acceptance or a failure settles the message, and an unsent message is queued again, unless a later message about its
 * parcel has left (docs/contributors/decisions.md#messages).
 */
export const storeOutcomes = (pool: pg.Pool, outcomes: readonly SendOutcome[], recipientPauseSeconds: number) =>
  inAllTenants(pool, async (tx: Tx) => {
    const isApart = recipientPauseSeconds > 0
    const messages = outcomes.map(({ message }) => message)
    await tx.client.query({
      name: isApart ? 'store_outcomes_apart' : 'store_outcomes',
      text: `
        with outcome as (
          select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::text[],
            $8::boolean[], $9::float8[], $10::text[]) as outcome
            (tenant_id, message_id, fence, status, provider_message_id, code, meaning, is_attempt, due_seconds, detail)
        ), locked as (
          select m.tenant_id, m.message_id, m.fence, m.status, m.waybill_number, m.phone_number_id, m.recipient,
            m.created_at, m.provider_message_id as reported_id, m.error_code as reported_code
          from messages m join outcome o using (tenant_id, message_id)
          order by m.tenant_id, m.message_id
          for update of m
        ), decided as (
          select o.*, l.status as was,
            l.status in ('unknown', 'failed') and o.status = 'queued'
              and exists (${selectLaterThatLeft('l')}) as overtaken,
            l.status = 'sending' or l.status = 'unknown' and o.status <> 'unknown'
              or l.status = 'failed' and (o.status = 'accepted' and l.reported_id <> o.provider_message_id
                or o.status = 'queued' and l.reported_code = o.code) as applies
          from outcome o join locked l using (tenant_id, message_id, fence)
        ), updated as (
          update messages m set
            provider_message_id = coalesce(d.provider_message_id, m.provider_message_id),
            status = case when not d.applies then m.status when d.overtaken then 'failed' else d.status end,
            status_at = case when d.applies then now() else m.status_at end,
            error_code = case when d.applies then d.code else m.error_code end,
            error_meaning = case when d.applies then coalesce(d.meaning, case when d.overtaken then $11 end)
              else m.error_meaning end,
            attempts = case when d.applies then m.attempts + d.is_attempt::integer else m.attempts end,
            due_at = case when d.applies then coalesce(now() + make_interval(secs => d.due_seconds), m.due_at)
              else m.due_at end,
            retry_at = case when d.applies and ${isRetrySql} then now() + make_interval(secs => d.due_seconds) end,
            failing_since = case when d.applies and ${isRetrySql} and not coalesce(${isFailingSql}, false) then now()
              else m.failing_since end
          from decided d
          where m.tenant_id = d.tenant_id and m.message_id = d.message_id and m.fence = d.fence
          returning m.tenant_id, m.message_id, d.was, m.status, case when d.overtaken then $11
            else d.detail end as detail,
            m.phone_number_id, m.recipient, old.due_at as overdue_at
        )${isApart ? `, ${freeSql}` : ''}
        insert into message_events (tenant_id, message_id, status, detail)
        select tenant_id, message_id, status, detail from updated where was <> status`,
      values: [
        ...toColumns(messages, 'tenant', 'id', 'fence'),
        ...toColumns(outcomes, 'status', 'providerMessageId', 'code', 'meaning', 'isAttempt', 'dueSeconds', 'detail'),
        'not sent: a later message about the parcel has left',
        ...(isApart ? [recipientPauseSeconds, outcomes.map(o => (o.isUnwritten ? 0 : recipientPauseSeconds))] : []),
      ],
    })
    await restRecipients(tx, outcomes)
  })

/**
 * Frees the recipients of messages whose outcome is in time; only the pause remains. A request whose outcome is
 * unknown may still arrive: its recipient stays occupied until the send would have been overdue.
 */
const freeSql = `
  occupied as (
    select r.tenant_id, r.phone_number_id, r.recipient, rests.seconds
    from updated u
    join unnest($1::text[], $2::text[], $13::float8[]) as rests (tenant_id, message_id, seconds) using
      (tenant_id, message_id)
    join recipients r using (tenant_id, phone_number_id, recipient)
    where u.status <> 'unknown' and r.next_send_at = u.overdue_at + make_interval(secs => $12)
    order by r.tenant_id, r.phone_number_id, r.recipient
    for update of r
  ), freed as (
    update recipients r set next_send_at = now() + make_interval(secs => occupied.seconds)
    from occupied
    where r.tenant_id = occupied.tenant_id and r.phone_number_id = occupied.phone_number_id
      and r.recipient = occupied.recipient
  )`

const restRecipients = async (tx: Tx, outcomes: readonly SendOutcome[]): Promise<void> => {
  const resting = outcomes.filter(({ restSeconds = 0 }) => restSeconds > 0)
  if (resting.length === 0) return
  const messages = resting.map(({ message }) => message)
  const [tenants, numbers, recipients] = toColumns(messages, 'tenant', 'phoneNumberId', 'recipient')
  const [seconds] = toColumns(resting, 'restSeconds')
  await prepared(tx, 'rest_recipients')`
    insert into recipients as r (tenant_id, phone_number_id, recipient, next_send_at)
    select tenant_id, phone_number_id, recipient, now() + make_interval(secs => max(seconds))
    from unnest(${tenants}::text[], ${numbers}::text[], ${recipients}::text[], ${seconds}::float8[])
      as given (tenant_id, phone_number_id, recipient, seconds)
    group by 1, 2, 3
    order by tenant_id collate "C", phone_number_id collate "C", recipient collate "C"
    on conflict (tenant_id, phone_number_id, recipient) do update
      set next_send_at = greatest(r.next_send_at, excluded.next_send_at)`
}

/** Selects later messages about the same parcel that have left, since they no longer waited for the message `m`. */
export const selectLaterThatLeft = (m: string): string => `
  select from messages x
  where x.tenant_id = ${m}.tenant_id and x.waybill_number = ${m}.waybill_number
    and x.phone_number_id = ${m}.phone_number_id and x.recipient = ${m}.recipient
    and (x.created_at, x.message_id) > (${m}.created_at, ${m}.message_id)
    and (x.provider_message_id is not null or x.status in ('sending', 'accepted', 'sent', 'delivered', 'read',
      'unknown'))`

/** Stores outcomes; leaves out one whose values Postgres refuses: a sweep makes its message `unknown`. */
export const storeValidOutcomes = async (
  pool: pg.Pool,
  outcomes: readonly SendOutcome[],
  recipientPauseSeconds: number,
  onRefused: (error: unknown, outcome: SendOutcome) => void,
): Promise<void> => {
  try {
    await storeOutcomes(pool, outcomes, recipientPauseSeconds)
  } catch (error) {
    if (!isBadData(error)) throw error
    const [first] = outcomes
    if (outcomes.length > 1)
      for (const outcome of outcomes) await storeValidOutcomes(pool, [outcome], recipientPauseSeconds, onRefused)
    else if (first) onRefused(error, first)
  }
}

/** Returns true for SQLSTATE classes 22 and 23: the values are wrong, and stay wrong in a retry. */
const isBadData = (error: unknown): boolean => error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')
