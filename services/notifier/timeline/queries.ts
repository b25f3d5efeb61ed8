import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { MessageMoment } from './merge.ts'

const maxMessages = 200

/** What became of the newest 200 messages about a waybill, in the order in which it was told. */
export const findMoments = async (tx: Tx, tenant: string, waybill: string): Promise<MessageMoment[]> => {
  const { rows } = await sql<MessageMoment>`
    with about as (
      select tenant_id, message_id, template ->> 'name' as template from messages
      where tenant_id = ${tenant} and waybill_number = ${waybill}
      order by message_id desc limit ${maxMessages}
    )
    select message_id, template, e.status, e.happened_at, e.detail
    from about join message_events e using (tenant_id, message_id)
    order by e.event_id`.execute(tx)
  return rows
}
