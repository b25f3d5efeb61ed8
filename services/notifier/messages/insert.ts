import type { Tx } from '../database/tables.ts'
import type { CheckedMessage } from './check.ts'
import { expiryHours } from './retry.ts'
import type { Accepted } from './schema.ts'

/** Queues messages with their first timeline events, in one statement; returns what staff sees of them. */
export const insertMessages = async (
  tx: Tx,
  tenant: string,
  messages: readonly { id: string; message: CheckedMessage }[],
): Promise<Accepted[]> => {
  const rows = messages.map(({ id, message }) => ({
    message_id: id,
    phone_number_id: message.phoneNumberId,
    recipient: message.recipient,
    template: message.template,
    waybill_number: message.waybillNumber,
    status: message.isHeld ? ('held' as const) : ('queued' as const),
    send_at: message.sendAt,
    holds_until_open: message.holdsUntilOpen,
  }))
  await tx.client.query({
    name: 'insert_messages',
    text: `
      with given as (
        select * from jsonb_to_recordset($2::jsonb) as given (message_id text, phone_number_id text, recipient text,
          template jsonb, waybill_number text, status text, send_at timestamptz, holds_until_open boolean)
      ), queued as (
        insert into messages (tenant_id, message_id, phone_number_id, recipient, template, waybill_number, status,
          send_at, holds_until_open, due_at, expires_at)
        select $1, message_id, phone_number_id, recipient, template, waybill_number, status, send_at, holds_until_open,
          coalesce(send_at, now()), coalesce(send_at, now()) + make_interval(hours => $3::integer)
        from given
      )
      insert into message_events (tenant_id, message_id, status)
      select $1, message_id, status from given`,
    values: [tenant, JSON.stringify(rows), expiryHours],
  })
  return rows.map(({ message_id, status }) => ({ id: message_id, status }))
}
