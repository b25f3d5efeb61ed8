import type { Staff } from '@courier/shared/access/staff.ts'
import { identifyPerson } from '@courier/shared/phone-number.ts'
import { query } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../../core/database/tables.ts'
import { renderMessages } from '../../core/templates/queries.ts'
import { findCostsFor } from '../costs/queries.ts'
import type { FailedMessage, InboundUpdate, MessageUpdate } from './merge.ts'

/** Finds the messages about a waybill that could not be made, oldest first. */
export const findFailedMessages = (tx: Tx, tenant: string, waybill: string): Promise<FailedMessage[]> =>
  query<FailedMessage>(tx)`
    select event_id, type, status_key, fault ->> 'template' as template, fault ->> 'detail' as detail, taken_at as at
    from events cross join jsonb_array_elements(faults) with ordinality as listed (fault, place)
    where tenant_id = ${tenant} and waybill_number = ${waybill} and faults is not null
    order by taken_at, event_id, place limit 1000`

const maxMessages = 200

/** Finds the statuses of the newest 200 messages about a waybill, in the order in which they were stored. */
export const findStatusUpdates = async (tx: Tx, staff: Staff, waybill: string): Promise<MessageUpdate[]> => {
  const rows = await query<MessageUpdate>(tx)`
    with about as (
      select tenant_id, message_id, template ->> 'name' as template, coalesce(sent_content, template) ->> 'text' as text
      from messages where tenant_id = ${staff.tenant} and message_id in (
        select coalesce(joined_to, message_id) from messages
        where tenant_id = ${staff.tenant} and waybill_number = ${waybill}
        order by message_id desc limit ${maxMessages})
    )
    select message_id, template, text, e.status, e.happened_at as at, e.detail
    from about join message_events e using (tenant_id, message_id)
    order by e.event_id`
  const ids = [...new Set(rows.map(row => row.message_id))]
  const costs = await findCostsFor(tx, staff, ids)
  const texts = await renderMessages(tx, staff.tenant, ids)
  return rows.map(row => ({ ...row, rendered: texts.get(row.message_id), cost: costs.get(row.message_id) }))
}

interface InboundFilter {
  readonly waybill: string
  readonly phones: readonly string[]
  readonly since: Date
  readonly limit: number
}

/** Finds the messages since `since` of a waybill's recipients and of the people with these phones, newest first. */
export const findInboundAbout = async (tx: Tx, tenant: string, { waybill, phones, since, limit }: InboundFilter) => {
  const written = await query<{ recipient: string }>(tx)`
    select distinct recipient from messages where tenant_id = ${tenant} and waybill_number = ${waybill}`
  const people = new Set([...phones, ...written.map(({ recipient }) => recipient)].map(identifyPerson))
  return query<InboundUpdate>(tx)`
    select inbound_id as id, phone_number_id as channel, recipient as phone, type, text, media_id, happened_at as at
    from inbound_messages
    where tenant_id = ${tenant} and recipient = any(${[...people]}::text[]) and happened_at >= ${since}
      and kind = 'written'
    order by happened_at desc, position desc limit ${limit}`
}
