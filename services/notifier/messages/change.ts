import { type Action, type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { sql } from 'kysely'
import type { MessageStatus, Tx } from '../database/tables.ts'
import type { Content } from '../messaging-api/message-template.ts'
import { findMessage } from './queries.ts'

/** Cancels a message that is not being sent yet. Returns its resulting status; undefined: no such message. */
export const cancelMessage = (tx: Tx, tenant: string, id: string, by?: Actor): Promise<MessageStatus | undefined> =>
  move(tx, tenant, id, by, {
    from: ['queued', 'held'],
    to: sql`status = 'cancelled', status_at = now(), fence = m.fence + 1`,
    detail: 'cancelled by staff',
    action: 'message.cancelled',
  })

/** Queues a failed or unknown message again, with this content or its own. */
export const resendMessage = (
  tx: Tx,
  tenant: string,
  id: string,
  by?: Actor,
  content?: Content,
): Promise<MessageStatus | undefined> => {
  const template = sql`coalesce(${content ? JSON.stringify(content) : null}::jsonb, template)`
  return move(tx, tenant, id, by, {
    from: ['failed', 'unknown'],
    // Refuses an unknown message while its webhook may still arrive, and one that lacks the page of its parcel.
    when: sql`(status = 'failed' or due_at = 'infinity') and ${template}::text !~ '[{][{][^{}]*tracking_url[^{}]*[}][}]'`,
    to: sql`status = 'queued', template = ${template}, status_at = now(), due_at = now(), expires_at = now() + interval '24 hours',
      attempts = 0, error_code = null, error_meaning = null, superseded_by = null, fence = m.fence + 1,
      former_ids = array_remove(m.former_ids || m.provider_message_id, null), provider_message_id = null`,
    detail: 'sent again by staff',
    action: 'message.resent',
  })
}

interface Move {
  readonly from: readonly MessageStatus[]
  readonly when?: ReturnType<typeof sql>
  readonly to: ReturnType<typeof sql>
  readonly detail: string
  readonly action: Action
}

const move = async (tx: Tx, tenant: string, id: string, by: Actor | undefined, wanted: Move) => {
  const { from, to, detail, action, when = sql`true` } = wanted
  const { rows } = await sql<{ status: MessageStatus }>`
    with moved as (
      update messages m set ${to}
      where tenant_id = ${tenant} and message_id = ${id} and status in (${sql.join(from)}) and ${when}
      returning tenant_id, message_id, status
    ), logged as (
      insert into message_events (tenant_id, message_id, status, detail)
      select tenant_id, message_id, status, ${detail} from moved
    )
    select status from moved`.execute(tx)
  if (rows[0] && by) await audit(tx, tenant, by, action, id)
  if (rows[0]) return rows[0].status
  return (await findMessage(tx, tenant, id))?.status
}
