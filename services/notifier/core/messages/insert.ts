import { randomBytes } from 'node:crypto'
import { query } from '@courier/shared/postgres/database.ts'
import { prepared, type Tx } from '../database/tables.ts'
import type { CheckedMessage } from './check.ts'
import { decideExpiry, type ExpiringRule } from './expiry.ts'
import type { AcceptedMessage } from './schema.ts'

export interface NewMessage {
  readonly id: string
  readonly message: CheckedMessage
  /** Says why the message cannot be sent; the message is stored as failed, for staff to see and resend. */
  readonly failure?: string | undefined
  /** The message may have been sent before the database was restored: it is stored as unknown; staff may resend it. */
  readonly isInDoubt?: boolean | undefined
  readonly traceparent?: string | undefined
  readonly merchant?: string | undefined
  readonly rule?: ExpiringRule | undefined
}

/** Explains in a message's timeline that it may have been sent before the database was restored. */
export const restoredDetail = 'the database was restored: it may have been sent before'

export const firstStatus = ({ isHeld }: CheckedMessage): AcceptedMessage['status'] => (isHeld ? 'held' : 'queued')

export const insertMessages = async (tx: Tx, tenant: string, messages: readonly NewMessage[]): Promise<void> => {
  const rows = messages.map(({ message, failure, isInDoubt = false, rule, ...given }) => ({
    ...message,
    ...given,
    status: failure !== undefined ? 'failed' : isInDoubt ? 'unknown' : firstStatus(message),
    failure,
    detail: failure ?? (isInDoubt ? restoredDetail : message.waitsFor),
    rule: rule?.event,
    ...decideExpiry(message, rule),
  }))
  await prepared(tx, 'insert_messages')`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id text, "phoneNumberId" text,
        recipient text, template jsonb, "waybillNumber" text, status text, failure text, detail text,
        "sendAt" timestamptz, "holdsUntilOpen" boolean, "isExempt" boolean, hours jsonb, rule text,
        "expiresFrom" timestamptz, "expiresAfter" integer, traceparent text, merchant text, source jsonb, joins text)
    ), queued as (
      insert into messages (tenant_id, message_id, phone_number_id, recipient, template, waybill_number, status,
        error_meaning, send_at, holds_until_open, is_exempt, hours, rule_event, due_at, expires_at, traceparent,
        merchant, source, joins)
      select ${tenant}, id, "phoneNumberId", recipient, template, "waybillNumber", status, failure, "sendAt",
        "holdsUntilOpen", "isExempt", hours, rule,
        case status when 'unknown' then 'infinity' else coalesce("sendAt", now()) end,
        coalesce("expiresFrom", now()) + make_interval(hours => "expiresAfter"), traceparent, merchant, source, joins
      from given
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select ${tenant}, id, status, detail from given`
}

/** Finds the accepted messages in the order of `ids`; one that is no longer held counts as queued. */
export const findStatuses = (tx: Tx, tenant: string, ids: readonly string[]): Promise<AcceptedMessage[]> =>
  query<AcceptedMessage>(tx)`
    select id, case status when 'held' then status else 'queued' end as status
    from unnest(${ids}::text[]) with ordinality as given (id, place)
    left join messages on tenant_id = ${tenant} and message_id = id
    order by place`

export const messageIdPattern = '^msg_[0-9a-z]{25}$'

export const newMessageIds = (count: number, now: Date): string[] =>
  Array.from({ length: count }, () => newMessageId(now)).sort()

/** Makes an id that sorts by creation time: `msg_`, 9 characters of milliseconds, 16 random ones. */
const newMessageId = (now: Date): string => `${idsFrom(now)}${randomBytes(8).toString('hex')}`

/** Returns the lower bound of the ids of messages created at that time or later. */
export const idsFrom = (time: Date): string => `msg_${Math.max(0, time.getTime()).toString(36).padStart(9, '0')}`
