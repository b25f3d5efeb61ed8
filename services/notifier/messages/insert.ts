import type { Tx } from '../database/tables.ts'
import type { CheckedMessage } from './check.ts'
import { expiryHours } from './retry.ts'
import type { Accepted } from './schema.ts'
import type { MessageStatus } from './status.ts'

export interface NewMessage {
  readonly id: string
  readonly message: CheckedMessage
  /** Why it cannot be sent: it is stored as failed, for staff to see and to send again. */
  readonly failure?: string | undefined
}

/** The status that a message begins with. */
export const firstStatus = ({ isHeld }: CheckedMessage): Accepted['status'] => (isHeld ? 'held' : 'queued')

/** Stores messages with their first timeline events, in one statement. */
export const insertMessages = async (tx: Tx, tenant: string, messages: readonly NewMessage[]): Promise<void> => {
  const rows = messages.map(({ id, message, failure }) => ({
    message_id: id,
    phone_number_id: message.phoneNumberId,
    recipient: message.recipient,
    template: message.template,
    waybill_number: message.waybillNumber,
    status: (failure === undefined ? firstStatus(message) : 'failed') satisfies MessageStatus,
    failure: failure ?? null,
    send_at: message.sendAt,
    holds_until_open: message.holdsUntilOpen,
  }))
  await tx.client.query({
    name: 'insert_messages',
    text: `
      with given as (
        select * from jsonb_to_recordset($2::jsonb) as given (message_id text, phone_number_id text, recipient text,
          template jsonb, waybill_number text, status text, failure text, send_at timestamptz,
          holds_until_open boolean)
      ), queued as (
        insert into messages (tenant_id, message_id, phone_number_id, recipient, template, waybill_number, status,
          error_meaning, send_at, holds_until_open, due_at, expires_at)
        select $1, message_id, phone_number_id, recipient, template, waybill_number, status, failure, send_at, holds_until_open,
          coalesce(send_at, now()), coalesce(send_at, now()) + make_interval(hours => $3::integer)
        from given
      )
      insert into message_events (tenant_id, message_id, status, detail)
      select $1, message_id, status, failure from given`,
    values: [tenant, JSON.stringify(rows), expiryHours],
  })
}
