import { type Tx, toColumns } from '../database/tables.ts'
import type { ClaimedMessage } from './message.ts'

export interface MarkOptions {
  readonly sendingSeconds: number
  readonly recipientPauseSeconds: number
}

/**
 * Makes locked messages `sending` before their requests are written; returns them with new fences, except those to
 * whose recipient another send is in progress. With a pause between two messages to a person, a message holds back the
 * next one until its outcome is stored or overdue: the pause begins after the request has arrived, whichever process
 * sent it.
 */
export const markSending = async (
  tx: Tx,
  messages: readonly ClaimedMessage[],
  { sendingSeconds, recipientPauseSeconds }: MarkOptions,
): Promise<ClaimedMessage[]> => {
  if (messages.length === 0) return []
  const isApart = recipientPauseSeconds > 0
  const { rows } = await tx.client.query({
    name: isApart ? 'mark_sending_apart' : 'mark_sending',
    text: isApart ? markApartSql : writeMarkSql('given'),
    values: [
      ...toColumns(messages, 'tenant', 'id'),
      sendingSeconds,
      ...(isApart ? [...toColumns(messages, 'phoneNumberId', 'recipient'), recipientPauseSeconds] : []),
    ],
  })
  const fences = new Map<string, string>(rows.map(({ key, fence }) => [key, fence]))
  return messages.flatMap(message => {
    const fence = fences.get(`${message.tenant} ${message.id}`)
    return fence === undefined ? [] : [{ ...message, fence }]
  })
}

const validChecksSql = `clock_timestamp() - now() < interval '10 seconds'`

const givenSql = 'select * from unnest($1::text[], $2::text[]) as given (tenant_id, message_id)'

/**
 * Returns SQL that marks the `ready` messages. A process that was stopped for longer than its checks are valid sends
 * nothing: hours, for example, may have ended. The fence is new even after a claim that was rolled back: outcomes that
 * the earlier claim stores do not affect a later one.
 */
const writeMarkSql = (ready: string): string => `
  ${ready === 'given' ? `with given as (${givenSql})` : ''}
  update messages m set status = 'sending', status_at = now(), due_at = now() + make_interval(secs => $3),
    fence = m.fence + 1 + floor(random() * 1e9)::bigint
  from ${ready} ready
  where m.tenant_id = ready.tenant_id and m.message_id = ready.message_id
    and ${validChecksSql}
  returning m.tenant_id || ' ' || m.message_id as key, m.fence`

/**
 * Locks recipients after messages (docs/contributors/decisions.md#order-of-locks). Stores the message's `due_at` plus
 * the pause, by which storeOutcomes recognizes that no other send has taken the recipient meanwhile.
 */
const markApartSql = `
  with given as (
    select distinct on (tenant_id, phone_number_id, recipient) given.*
    from unnest($1::text[], $2::text[], $4::text[], $5::text[]) as given (tenant_id, message_id, phone_number_id,
      recipient)
    where ${validChecksSql}
    order by tenant_id, phone_number_id, recipient, message_id
  ), occupied as (
    insert into recipients as r (tenant_id, phone_number_id, recipient, next_send_at)
    select tenant_id, phone_number_id, recipient, now() + make_interval(secs => $3) + make_interval(secs => $6)
      from given
    order by tenant_id collate "C", phone_number_id collate "C", recipient collate "C"
    on conflict (tenant_id, phone_number_id, recipient) do update set next_send_at = excluded.next_send_at
    where r.next_send_at <= now()
    returning tenant_id, phone_number_id, recipient
  ), free as (select given.tenant_id, given.message_id from given
    join occupied using (tenant_id, phone_number_id, recipient))
  ${writeMarkSql('free')}`
