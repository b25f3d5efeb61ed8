import { identifyPerson } from '@courier/shared/phone-number.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Owner, Person } from '../../core/conversations/conversation.ts'
import { findNumber } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'

export interface Name {
  readonly userId: string | null
  readonly username: string | null
}

/** Finds the newest user id and username of each of these recipients. */
export const findNames = async (tx: Tx, tenant: string, recipients: readonly string[]): Promise<Map<string, Name>> => {
  const rows = await query<Name & { recipient: string }>(tx)`
    select distinct on (recipient) recipient, user_id as "userId", username from identities
    where tenant_id = ${tenant} and recipient = any(${recipients.map(identifyPerson)}::text[])
    order by recipient, seen_at desc`
  return new Map(rows.map(({ recipient, ...name }) => [recipient, name]))
}

export interface InboundRow {
  readonly id: string
  readonly number: string
  readonly recipient: string
  readonly type: string
  readonly text: string | null
  readonly media_id: string | null
  readonly at: Date
  readonly unread: boolean
  readonly kind: 'written' | 'echo'
  /** Is true for what came while another responder answered. */
  readonly standby: boolean
  /** Names milliseconds and position, after which the next page begins. */
  readonly place: string
}

const columns = sql`m.inbound_id as id, m.phone_number_id as number, m.recipient, m.type, m.text, m.media_id,
  m.happened_at as at, m.read_at is null as unread, m.kind,
  m.is_standby as standby,
  floor(extract(epoch from m.happened_at) * 1000)::bigint || '.' || m.position as place`

export const positionPattern = '[0-9]{1,14}[.][0-9]{1,18}'

const beforeSql = (place: string | undefined) => {
  if (place === undefined) return sql`true`
  const [milliseconds, position] = place.split('.')
  return sql`(m.happened_at, m.position) < (to_timestamp(${milliseconds}::float8 / 1000), ${position}::bigint)`
}

const matchPerson = ({ tenant, phoneNumberId, recipient }: Person) => sql`m.tenant_id = ${tenant}
  and m.recipient = ${identifyPerson(recipient)} and m.phone_number_id = ${phoneNumberId}`

export const findInbound = (tx: Tx, person: Person, before: string | undefined, limit: number) =>
  query<InboundRow>(tx)`
    select ${columns} from inbound_messages m
    where ${matchPerson(person)} and m.kind <> 'replaced' and ${beforeSql(before)}
    order by m.happened_at desc, m.position desc limit ${limit}`

/** Holds a conversation with its newest message, or its newest unread one in a list of unread conversations. */
export type ConversationRow = InboundRow & {
  readonly lastInboundAt: Date
  readonly owner: Owner | null
  readonly ownerAt: Date | null
  readonly unreadMessages: number
  readonly now: Date
}

/** Lists conversations, or only those with unread messages, by their newest message, newest first. */
export const listConversations = async (
  tx: Tx,
  tenant: string,
  { channel, isUnread }: { readonly channel: string | undefined; readonly isUnread: boolean },
  before: string | undefined,
  limit: number,
): Promise<ConversationRow[]> => {
  const samePersonSql = sql`other.tenant_id = m.tenant_id and other.recipient = m.recipient
    and other.phone_number_id = m.phone_number_id`
  const rows = await query<ConversationRow>(tx)`
    select page.*, c.last_inbound_at as "lastInboundAt", c.owner, c.owner_at as "ownerAt", now() as now
    from (
      select ${columns}, m.position, (
        select count(*)::integer from inbound_messages other where ${samePersonSql} and other.read_at is null
      ) as "unreadMessages"
      from inbound_messages m
      where m.tenant_id = ${tenant} and m.kind = 'written' and ${beforeSql(before)}
        and ${channel === undefined ? sql`true` : sql`m.phone_number_id = ${channel}`}
        and ${isUnread ? sql`m.read_at is null` : sql`true`}
        and not exists (
          select from inbound_messages other where ${samePersonSql} and other.kind = 'written'
            and (other.happened_at, other.position) > (m.happened_at, m.position)
            and ${isUnread ? sql`other.read_at is null` : sql`true`})
      order by m.happened_at desc, m.position desc limit ${limit}
    ) page
    join conversations c on c.tenant_id = ${tenant} and c.phone_number_id = page.number and c.recipient = page.recipient
    order by page.at desc, page.position desc`
  return rows
}

/** Marks a person's messages as read up to `upTo`. Returns how many stay unread; undefined if `upTo` does not exist. */
export const markRead = async (tx: Tx, person: Person, upTo: string): Promise<number | undefined> => {
  const rows = await query<{ unread: number }>(tx)`
    with last as (
      select happened_at, position from inbound_messages m where ${matchPerson(person)} and m.inbound_id = ${upTo}
    ), done as (
      update inbound_messages m set read_at = now() from last
      where ${matchPerson(person)} and m.read_at is null
        and (m.happened_at, m.position) <= (last.happened_at, last.position)
      returning 1
    )
    select (
      select count(*) from inbound_messages m where ${matchPerson(person)} and m.read_at is null
    )::integer - (select count(*) from done)::integer as unread from last`
  return rows[0]?.unread
}

/** Finds the wanted number; without one, the number to which the person wrote last, else that of `findNumber`. */
export const findWrittenNumber = async (tx: Tx, tenant: string, wanted: string | undefined, recipient: string) => {
  if (wanted !== undefined) return findNumber(tx, tenant, wanted)
  const rows = await query<{ number: string }>(tx)`
    select phone_number_id as number from conversations join channels using (tenant_id, phone_number_id)
    where tenant_id = ${tenant} and recipient = ${identifyPerson(recipient)} and last_inbound_at is not null
    order by last_inbound_at desc limit 1`
  return rows[0]?.number ?? findNumber(tx, tenant, undefined)
}
