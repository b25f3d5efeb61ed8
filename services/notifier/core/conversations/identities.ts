import { identifyPerson } from '@courier/shared/phone-number.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { inQueue, outQueue, prepared, type Tx, toColumns } from '../database/tables.ts'
import { isUserId } from '../messaging-api/user-id.ts'

/** Reports how the messaging API named a person. */
export interface Sighting {
  readonly tenant: string
  readonly userId: string
  readonly username?: string | undefined
  /** Is the person's phone number, or the user id that has replaced this one. */
  readonly recipient?: string | undefined
  /** The person gave up what the user id stood for until now, even a phone number. */
  readonly isChange?: boolean
  /** Is the time of the change. */
  readonly at?: Date
}

/** Says that two recipients are one person. */
export interface Move {
  readonly tenant: string
  readonly from: string
  readonly to: string
  /** Is the time when the person gave up a phone number. */
  readonly at?: Date | undefined
}

const toKey = ({ tenant, userId }: Pick<Sighting, 'tenant' | 'userId'>): string => `${tenant} ${userId}`

/**
 * Finds the recipients by which we know these people, and stores what the sightings add. Locks the rows of people
 * without a phone number, so that nothing is stored for an id while another transaction learns its number. The caller
 * must carry out the moves (`movePeople`) before it locks anything else.
 */
export const identify = async (tx: Tx, sightings: readonly Sighting[]) => {
  const seen = new Map<string, Sighting>()
  for (const each of sightings) {
    const { recipient = seen.get(toKey(each))?.recipient, ...others } = each
    seen.set(toKey(each), { ...others, recipient: recipient && identifyPerson(recipient) })
  }
  const known = await findIdentities(tx, [...seen.values()])
  const news = [...seen].filter(([key, { recipient, username }]) => {
    const row = known.get(key)
    return !row || row.isStale || row.recipient !== recipient || (username ?? row.username) !== row.username
  })
  const stored = await storeIdentities(tx, new Map(news))
  const find = ({ tenant, userId }: Pick<Sighting, 'tenant' | 'userId'>): string =>
    stored.get(toKey({ tenant, userId }))?.recipient ?? known.get(toKey({ tenant, userId }))?.recipient ?? userId
  const moves = [...stored].flatMap(([key, { recipient: to, previous: from }]): Move[] => {
    const { tenant, isChange, at } = seen.get(key) as Sighting
    return from && from !== to && (isChange || isUserId(from)) ? [{ tenant, from, to, at }] : []
  })
  return { find, moves }
}

/** Returns the recipient by which we know a person now, whom a caller names by number or user id; locks a user id. */
export const findRecipient = async (tx: Tx, tenant: string, given: string): Promise<string> =>
  isUserId(given) ? (await identify(tx, [{ tenant, userId: given }])).find({ tenant, userId: given }) : given

interface Identity {
  readonly key: string
  readonly recipient: string
  readonly username: string | null
  readonly isStale: boolean
}

const findIdentities = async (tx: Tx, people: readonly Sighting[]): Promise<ReadonlyMap<string, Identity>> => {
  if (people.length === 0) return new Map()
  const [tenants, ids] = toColumns(people, 'tenant', 'userId')
  const rows = await prepared<Identity>(tx, 'find_identities')`
    select tenant_id || ' ' || user_id as key, recipient, username, seen_at < now() - interval '1 day' as "isStale"
    from unnest(${tenants}::text[], ${ids}::text[]) as given (tenant_id, user_id)
    join identities using (tenant_id, user_id)`
  return new Map(rows.map(row => [row.key, row]))
}

const storeIdentities = async (tx: Tx, people: ReadonlyMap<string, Sighting>) => {
  if (people.size === 0) return new Map<string, { recipient: string; previous: string | null }>()
  const columns = toColumns([...people.values()], 'tenant', 'userId', 'recipient', 'username')
  const rows = await prepared<{ key: string; recipient: string; previous: string | null }>(tx, 'store_identities')`
    insert into identities as i (tenant_id, user_id, recipient, username)
    select tenant_id, user_id, coalesce(recipient, user_id), username
    from unnest(${columns[0]}::text[], ${columns[1]}::text[], ${columns[2]}::text[], ${columns[3]}::text[])
      as given (tenant_id, user_id, recipient, username)
    order by tenant_id collate "C", user_id collate "C"
    on conflict (tenant_id, user_id) do update set seen_at = now(),
      recipient = case when excluded.recipient = excluded.user_id then i.recipient else excluded.recipient end,
      username = coalesce(excluded.username, i.username)
    returning tenant_id || ' ' || user_id as key, recipient, old.recipient as previous`
  return new Map(rows.map(row => [row.key, row]))
}

/** Moves further rows of people; locks them after identities and before conversations. */
export type OnMoved = (tx: Tx, moves: readonly Move[]) => Promise<unknown>

interface MoveOptions {
  readonly onMoved?: readonly OnMoved[] | undefined
  /** Lists the people whose conversations the caller locks next. */
  readonly people?: readonly { tenant: string; phoneNumberId: string; recipient: string }[]
}

/**
 * Gives everything of one recipient to another, for each move: the later window, the opt-outs of both, what both sides
 * wrote, and what waits to be sent. A phone number that a person gave up keeps the opt-out, too: nobody can say whose
 * it is now. Follows docs/contributors/decisions.md#order-of-locks.
 */
export const movePeople = async (tx: Tx, moves: readonly Move[], options: MoveOptions): Promise<void> => {
  if (moves.length === 0) return
  for (const { tenant, from, to } of moves)
    await query(tx)`update identities set recipient = ${to} where tenant_id = ${tenant} and recipient = ${from}`
  for (const move of options.onMoved ?? []) await move(tx, moves)
  const { people = [] } = options
  const [tenants, froms, tos] = toColumns(moves, 'tenant', 'from', 'to')
  const [ofTenant, numbers] = toColumns(people, 'tenant', 'phoneNumberId')
  await query(tx)`
    insert into conversations as c (tenant_id, phone_number_id, recipient)
    select tenant_id, phone_number_id, recipient from (
      select move.tenant_id, phone_number_id, unnest(array["from", "to"]) as recipient
      from unnest(${tenants}::text[], ${froms}::text[], ${tos}::text[]) as move (tenant_id, "from", "to")
      join channels using (tenant_id)
      union select * from unnest(${ofTenant}::text[], ${numbers}::text[],
        ${people.map(({ recipient }) => identifyPerson(recipient))}::text[])
    ) given
    order by tenant_id collate "C", phone_number_id collate "C", recipient collate "C"
    on conflict (tenant_id, phone_number_id, recipient) do update set last_inbound_at = c.last_inbound_at`
  for (const move of moves) await mergeConversations(tx, move)
  for (const move of moves) await moveMessages(tx, move)
}

const outSql = (row: string, kind: string): string =>
  `coalesce(${row}.${kind}_out_at >= coalesce(${row}.${kind}_in_at, '-infinity'), false)`

/** An opt-out of either counts from the last word of both, so that no earlier opt-in that comes again ends it. */
const mergeOut = (kind: string): string => `
  ${kind}_out_at = case when ${outSql('c', kind)} or ${outSql('excluded', kind)}
    then greatest(c.${kind}_out_at, excluded.${kind}_out_at, c.${kind}_in_at, excluded.${kind}_in_at)
    else greatest(c.${kind}_out_at, excluded.${kind}_out_at) end,
  ${kind}_in_at = greatest(c.${kind}_in_at, excluded.${kind}_in_at)`

/** Names every number: the keys of these tables have it before the recipient. */
const fromSql = `tenant_id = $1 and recipient = $2
  and phone_number_id = any(array(select phone_number_id from channels where tenant_id = $1))`

const columns = 'last_inbound_at, opted_out_at, opted_in_at, marketing_out_at, marketing_in_at, owner, owner_at'

const mergeConversations = async (tx: Tx, { tenant, from, to, at = new Date() }: Move): Promise<void> => {
  const run = (text: string) => tx.client.query(text, [tenant, from, to])
  await run(`
    insert into conversations as c (tenant_id, phone_number_id, recipient, ${columns})
    select tenant_id, phone_number_id, $3, ${columns} from conversations where ${fromSql}
    on conflict (tenant_id, phone_number_id, recipient) do update set
      last_inbound_at = greatest(c.last_inbound_at, excluded.last_inbound_at),
      owner = case when c.owner_at >= excluded.owner_at then c.owner else coalesce(excluded.owner, c.owner) end,
      owner_at = greatest(c.owner_at, excluded.owner_at),
      ${mergeOut('opted')}, ${mergeOut('marketing')}`)
  if (isUserId(from)) await tx.client.query(`delete from conversations where ${fromSql}`, [tenant, from])
  else
    await tx.client.query(
      `update conversations set last_inbound_at = null, moved_to = $3, moved_at = $4 where ${fromSql}`,
      [tenant, from, to, at],
    )
  await run(`
    insert into opt_outs (tenant_id, phone_number_id, recipient, scope, change, at, actor_kind, actor, reason)
    select tenant_id, phone_number_id, $3, scope, change, at, actor_kind, actor, reason from opt_outs
    where ${fromSql}
    on conflict do nothing`)
  await run('update inbound_messages set recipient = $3 where tenant_id = $1 and recipient = $2')
}

/** Moves messages; one that is claimed but not yet `sending` is claimed again. Each queued status has an index. */
const moveMessages = (tx: Tx, { tenant, from, to }: Move) => {
  const groups = [outQueue, ...inQueue.map(status => [status])].map(
    statuses => `select message_id from messages
      where tenant_id = $1 and recipient = $2 and status in ('${statuses.join("', '")}')`,
  )
  const text = `
    with found as (
      select message_id from messages where tenant_id = $1 and message_id = any(array(${groups.join(' union all ')}))
      order by message_id for update
    )
    update messages m set recipient = $3,
      fence = case when m.status in ('queued', 'held') then m.fence + 1 else m.fence end
    from found where m.tenant_id = $1 and m.message_id = found.message_id and m.recipient = $2`
  return tx.client.query(text, [tenant, from, to])
}
