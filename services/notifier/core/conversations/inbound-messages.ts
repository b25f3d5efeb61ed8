import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { Person } from './conversation.ts'
import { identifyRecipients } from './phone-number.ts'

export interface InboundMessage extends Person {
  readonly messageId: string
  /** Repeats the API's name, such as text, button or image. */
  readonly type: string
  /** Holds the text for staff: the message itself, the label of a button, a place, a caption, the name of a file. */
  readonly text: string | undefined
  readonly mediaId: string | undefined
  readonly at: Date
  readonly isHandled: boolean
  /** The company's phone app sent it to the person. */
  readonly isEcho?: boolean
  /** It came while another responder answered; an echo is that responder's. */
  readonly isStandby?: boolean
  /** Is the API's id of the message that this one replaces. */
  readonly edits?: string | undefined
}

/**
 * Stores each message once; returns the new ones, by tenant and id. Shows only the newest of a message and its edits;
 * within a second, the deletion, else the one that came last.
 */
export const insertInbound = async (tx: Tx, given: readonly InboundMessage[]): Promise<ReadonlySet<string>> => {
  if (given.length === 0) return new Set()
  const messages = markReplaced(given)
  const rows = await query<{ key: string }>(tx)`
    insert into inbound_messages
      (tenant_id, phone_number_id, inbound_id, recipient, type, text, media_id, happened_at, read_at, kind, edits,
       is_standby)
    select tenant, "phoneNumberId", "messageId", recipient, type, text, "mediaId", at,
      case when "isHandled" or later."isReplaced" then now() end,
      case when later."isReplaced" then 'replaced' when "isEcho" then 'echo' else 'written' end, edits,
      coalesce("isStandby", false)
    from jsonb_to_recordset(${JSON.stringify(identifyRecipients(messages))}::jsonb) as given (tenant text,
      "phoneNumberId" text, "messageId" text, recipient text, type text, text text, "mediaId" text, at timestamptz,
      "isHandled" boolean, "isEcho" boolean, edits text, "isStandby" boolean, "isReplaced" boolean)
    cross join lateral (
      select given."isReplaced" or exists (
        select from inbound_messages e where e.tenant_id = tenant and e.recipient = given.recipient
          and e.phone_number_id = "phoneNumberId" and e.edits = coalesce(given.edits, "messageId")
          and (given.edits is null or (e.happened_at, e.type = 'revoke') > (at, given.type = 'revoke'))
      ) as "isReplaced"
    ) later
    order by tenant collate "C", "messageId" collate "C"
    on conflict do nothing
    returning tenant_id || ' ' || inbound_id as key`
  await replaceEdited(tx, messages)
  return new Set(rows.map(({ key }) => key))
}

/** Keeps the first copy of each message, and marks the edits of one second before the last one: ids have no order. */
const markReplaced = (given: readonly InboundMessage[]) => {
  const toKey = ({ tenant, messageId }: InboundMessage) => `${tenant} ${messageId}`
  const messages = [...Map.groupBy(given, toKey).values()].map(([first]) => first as InboundMessage)
  const toEdit = ({ tenant, phoneNumberId, edits, at, type }: InboundMessage) =>
    `${tenant} ${phoneNumberId} ${edits} ${at.getTime()} ${type === 'revoke'}`
  const last = new Map(messages.map(message => [toEdit(message), message]))
  return messages.map(message => {
    return { ...message, isReplaced: message.edits !== undefined && last.get(toEdit(message)) !== message }
  })
}

const replaceEdited = async (tx: Tx, messages: readonly InboundMessage[]): Promise<void> => {
  const edits = messages.filter(message => message.edits !== undefined)
  if (edits.length === 0) return
  await sql`
    update inbound_messages m set kind = 'replaced', read_at = coalesce(m.read_at, now())
    from jsonb_to_recordset(${JSON.stringify(identifyRecipients(edits))}::jsonb) as given (tenant text,
      "phoneNumberId" text, "messageId" text, recipient text, edits text), inbound_messages e
    where m.tenant_id = tenant and m.phone_number_id = "phoneNumberId" and m.recipient = given.recipient
      and coalesce(m.edits, m.inbound_id) = given.edits and m.kind <> 'replaced'
      and e.kind <> 'replaced'
      and e.tenant_id = tenant and e.phone_number_id = "phoneNumberId" and e.inbound_id = "messageId"
      and (m.edits is null
        or (m.happened_at, m.type = 'revoke', m.position) < (e.happened_at, e.type = 'revoke', e.position))`.execute(tx)
}
