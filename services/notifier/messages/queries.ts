import { type Action, type Actor, audit } from '@courier/shared/audit.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { Accepted } from './schema.ts'
import type { MessageStatus } from './status.ts'

export interface MessageFilter {
  readonly status?: MessageStatus | undefined
  readonly recipient?: string | undefined
  readonly waybillNumber?: string | undefined
}

const columns = [
  'message_id',
  'phone_number_id',
  'recipient',
  'template',
  'waybill_number',
  'status',
  'provider_message_id',
  'error_code',
  'error_meaning',
  'attempts',
  'created_at',
  'send_at',
] as const

/** Newest first: ids sort by the time of their making. A page begins behind the message `after`. */
export const listMessages = (
  tx: Tx,
  tenant: string,
  { status, recipient, waybillNumber }: MessageFilter,
  after: string | undefined,
  limit: number,
) => {
  let query = tx.selectFrom('messages').select(columns).where('tenant_id', '=', tenant)
  if (status) query = query.where('status', '=', status)
  if (recipient) query = query.where('recipient', '=', recipient)
  if (waybillNumber) query = query.where('waybill_number', '=', waybillNumber)
  if (after) query = query.where('message_id', '<', after)
  return query.orderBy('message_id', 'desc').limit(limit).execute()
}

export const findMessage = (tx: Tx, tenant: string, id: string) =>
  tx
    .selectFrom('messages')
    .select(columns)
    .where('tenant_id', '=', tenant)
    .where('message_id', '=', id)
    .executeTakeFirst()

export type MessageRow = NonNullable<Awaited<ReturnType<typeof findMessage>>>

/** The timelines of messages by id, oldest first. */
export const findTimelines = async (tx: Tx, tenant: string, ids: readonly string[]) => {
  if (ids.length === 0) return new Map()
  const rows = await tx
    .selectFrom('message_events')
    .select(['message_id', 'status', 'happened_at', 'detail'])
    .where('tenant_id', '=', tenant)
    .where('message_id', 'in', ids)
    .orderBy('event_id')
    .execute()
  return Map.groupBy(rows, row => row.message_id)
}

/** What an accepted call answers, in the order of `ids`, with the statuses of now. */
export const findStatuses = async (tx: Tx, tenant: string, ids: readonly string[]): Promise<Accepted[]> => {
  const rows = await tx
    .selectFrom('messages')
    .select(['message_id', 'status'])
    .where('tenant_id', '=', tenant)
    .where('message_id', 'in', ids.length > 0 ? ids : [''])
    .execute()
  const statuses = new Map(rows.map(row => [row.message_id, row.status]))
  return ids.map(id => ({ id, status: statuses.get(id) === 'held' ? 'held' : 'queued' }))
}

/** Cancels a message that has not begun to leave. Returns its status otherwise; undefined when there is none. */
export const cancelMessage = (tx: Tx, tenant: string, id: string, by?: Actor): Promise<MessageStatus | undefined> =>
  move(tx, tenant, id, by, {
    from: ['queued', 'held'],
    to: sql`status = 'cancelled', status_at = now(), fence = m.fence + 1`,
    detail: 'cancelled by staff',
    action: 'message.cancelled',
  })

/** Queues a message again that failed, or whose sending stayed in doubt. */
export const resendMessage = (tx: Tx, tenant: string, id: string, by?: Actor): Promise<MessageStatus | undefined> =>
  move(tx, tenant, id, by, {
    from: ['failed', 'unknown'],
    // While its webhook may still come, a send in doubt is not repeated.
    when: sql`(status = 'failed' or due_at = 'infinity')`,
    to: sql`status = 'queued', status_at = now(), due_at = now(), expires_at = now() + interval '24 hours',
      attempts = 0, is_paced = false, error_code = null, error_meaning = null, fence = m.fence + 1,
      former_ids = array_remove(m.former_ids || m.provider_message_id, null), provider_message_id = null`,
    detail: 'sent again by staff',
    action: 'message.resent',
  })

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
    ), told as (
      insert into message_events (tenant_id, message_id, status, detail)
      select tenant_id, message_id, status, ${detail} from moved
    )
    select status from moved`.execute(tx)
  if (rows[0] && by) await audit(tx, tenant, by, action, id)
  if (rows[0]) return rows[0].status
  return (await findMessage(tx, tenant, id))?.status
}
