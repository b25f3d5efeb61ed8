import { spellWaybill } from '@courier/shared/contract/waybills.ts'
import { goodText } from '@courier/shared/errors/field-errors.ts'
import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { findSpan } from '@courier/shared/lists/dates.ts'
import { dateOrTime, listQuery, matching, oneOf, text, type Wanted } from '@courier/shared/lists/filters.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { type RawBuilder, sql } from 'kysely'
import { listSpellings } from '../conversations/phone-number.ts'
import { inQueue, messageStatuses, outQueue, type Tx } from '../database/tables.ts'
import { maxUserIdLength } from '../messaging-api/user-id.ts'
import { idsFrom, messageIdPattern } from './insert.ts'
import type { MessageRow, StatusUpdate } from './view.ts'

export const messageId = { maxLength: 29, pattern: messageIdPattern }

const filters = {
  id: matching({ maxLength: 29, pattern: `^$|${messageIdPattern}`, must: 'be the id of a message' }),
  status: oneOf(messageStatuses, 'The status.'),
  to: matching({
    maxLength: maxUserIdLength,
    pattern: goodText,
    must: 'be a phone number',
    description: 'Phone number, in any usual spelling, or user id.',
  }),
  waybill_number: matching({ maxLength: 50, pattern: goodText, must: 'be a waybill number' }),
  channel: text('Phone number id.'),
  template: text('The name of a template.'),
  created_from: dateOrTime('A date, in UTC, or a time such as 2026-02-19T08:00:00Z; it is included.'),
  created_to: dateOrTime('A date, in UTC, or a time such as 2026-02-19T08:00:00Z; it is included.'),
}

export type MessageFilter = Wanted<typeof filters>

export const MessagesQuery = listQuery(cursorFields, filters)
export const messageCursor = listCursor(new RegExp(messageIdPattern))

const columns = sql`message_id as id, phone_number_id as channel, recipient as "to", waybill_number, status,
  case when status in ('queued', 'held', 'cancelled') then template
    else coalesce(sent_content, template) end as template,
  array_remove(waybill_number || case when joins is not null then array(
    select j.waybill_number from messages j
    where j.tenant_id = messages.tenant_id and j.joined_to = messages.message_id order by j.message_id
  ) end, null) as waybill_numbers,
  provider_message_id, error_code, error_meaning, attempts, created_at, send_at`

/** Limits the messages that a page reads if its filter has no index: they take about a tenth of a second. */
const maxLookedAt = 100_000

export const hasNoIndex = ({ id, to, waybill_number, template, channel, status }: MessageFilter): boolean =>
  (id ?? to ?? waybill_number) === undefined &&
  (template !== undefined || channel !== undefined || status === 'accepted' || status === 'sent')

/**
 * Lists messages newest first: ids sort by creation time. A page begins after the message `after`; `next` is the cursor
 * of the next page, null at the end. A page may have fewer rows than `limit` before the end.
 */
export const listMessages = async (
  tx: Tx,
  tenant: string,
  wanted: MessageFilter,
  { after, limit, lookedAt = maxLookedAt }: { after?: string | undefined; limit: number; lookedAt?: number },
): Promise<{ rows: MessageRow[]; next: string | null }> => {
  const first = wanted.created_from && new Date(findSpan(wanted.created_from).first)
  const end = wanted.created_to && new Date(findSpan(wanted.created_to).last + 1)
  const all = [sql`tenant_id = ${tenant} and joined_to is null`]
  if (first) all.push(sql`message_id >= ${idsFrom(shiftHours(first, -1))}`)
  if (end) all.push(sql`message_id < ${idsFrom(shiftHours(end, 1))}`)
  if (after) all.push(sql`message_id < ${after}`)
  const last = hasNoIndex(wanted) ? await findLast(tx, all, lookedAt) : undefined
  const conditions = [...all]
  if (last !== undefined) conditions.push(sql`message_id >= ${last}`)
  if (first) conditions.push(sql`created_at >= ${first}`)
  if (end) conditions.push(sql`created_at < ${end}`)
  for (const [name, column] of Object.entries(filterColumns)) {
    const value = wanted[name as keyof typeof filterColumns]
    if (value !== undefined) conditions.push(matchOneOf(column, name === 'to' ? listSpellings(value) : [value]))
  }
  if (wanted.waybill_number)
    conditions.push(sql`message_id in (select coalesce(joined_to, message_id) from messages
      where tenant_id = ${tenant} and waybill_number = ${findSpelling(tenant, spellWaybill(wanted.waybill_number))})`)
  if (wanted.template !== undefined) conditions.push(sql`template ->> 'name' = ${wanted.template}`)
  const select = wanted.to === undefined || wanted.status !== undefined ? selectPage : selectOfRecipient
  const found = await query<MessageRow>(tx)`${select(conditions, limit + 1)}`
  const rows = found.slice(0, limit)
  return { rows, next: (found.length > limit ? rows.at(-1)?.id : last) ?? null }
}

type Conditions = readonly RawBuilder<unknown>[]

const matchOneOf = (column: string, values: readonly string[]) => sql`${sql.ref(column)} in (${sql.join(values)})`

const findLast = async (tx: Tx, conditions: Conditions, lookedAt: number): Promise<string | undefined> => {
  const [last] = await query<{ id: string }>(tx)`
    select message_id as id from messages where ${sql.join(conditions, sql` and `)}
    order by message_id desc offset ${lookedAt - 1} limit 1`
  return last?.id
}

const selectPage = (conditions: Conditions, limit: number) => sql`
  select ${columns} from messages where ${sql.join(conditions, sql` and `)} order by message_id desc limit ${limit}`

/** Selects the messages of a recipient, whose index omits the queue: each status in the queue has its own index. */
const selectOfRecipient = (conditions: Conditions, limit: number) => {
  const groups = [outQueue, ...inQueue.map(status => [status])]
  const parts = groups.map(statuses => sql`(${selectPage([...conditions, matchOneOf('status', statuses)], limit)})`)
  return sql`${sql.join(parts, sql` union all `)} order by id desc limit ${limit}`
}

const findSpelling = (tenant: string, spellings: string[]) => sql<string>`(
  select waybill_number from messages where tenant_id = ${tenant} and waybill_number = any(${spellings}::text[])
  order by array_position(${spellings}::text[], waybill_number) limit 1)`

/** Returns the time an hour later or earlier, to bound ids: an earlier release took them from a process's clock. */
const shiftHours = (time: Date, hours: 1 | -1): Date => new Date(time.getTime() + hours * 3_600_000)

const filterColumns = { id: 'message_id', status: 'status', to: 'recipient', channel: 'phone_number_id' } as const

/** Finds a message; for one that left with others, the message that was sent. */
export const findMessage = async (tx: Tx, tenant: string, id: string): Promise<MessageRow | undefined> => {
  const rows = await query<MessageRow>(tx)`
    select ${columns} from messages where tenant_id = ${tenant} and message_id = (
      select coalesce(joined_to, message_id) from messages where tenant_id = ${tenant} and message_id = ${id})`
  return rows[0]
}

export const findTimelines = async (tx: Tx, tenant: string, ids: readonly string[]) => {
  const rows = await query<StatusUpdate & { message_id: string }>(tx)`
    select message_id, status, happened_at as at, detail from message_events
    where tenant_id = ${tenant} and message_id = any(${ids}::text[]) order by event_id`
  return Map.groupBy(rows, row => row.message_id)
}
