import { type AnyTransaction, readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { ChangeActor, ChangeType, Tx } from '../database/tables.ts'
import { isoTime } from '../orders/find-order.ts'

/** What happened to one order. */
export interface Change {
  /** In the merchant's feed: 1, 2, 3 and so on. */
  readonly position: number
  readonly type: ChangeType
  readonly waybill_number: string
  readonly order_no: string | null
  readonly status: { readonly key: string; readonly name: string }
  /** ISO 8601, UTC, in microseconds. */
  readonly happened_at: string
  readonly by: ChangeActor
  /** The names of the fields that an edit changed. */
  readonly fields: readonly string[] | null
}

/** How far a merchant's feed goes. */
export interface FeedState {
  /** Positions of another epoch mean nothing. */
  readonly epoch: string
  readonly lastPosition: number
  /** Those up to here are no longer kept. */
  readonly deletedPosition: number
  /** Whether more changes may be waiting for their positions. */
  readonly isBehind: boolean
}

/** Rows that one transaction numbers. */
const numberedAtOnce = 1_000

const numbering = `
  with taken as (
    delete from new_changes where tenant_id = $1 and merchant_id = $2 and change_id = any(array(
      select change_id from new_changes where tenant_id = $1 and merchant_id = $2 order by change_id limit ${numberedAtOnce}
    )) returning *
  ), placed as (
    select *, sum(cardinality(waybill_numbers)) over (order by change_id)::bigint as through from taken
  ), numbered as (
    insert into changes (tenant_id, merchant_id, position, type, waybill_numbers, status_keys, fields, actor, happened_at)
    select placed.tenant_id, placed.merchant_id, last_position + through - cardinality(waybill_numbers) + 1, type, waybill_numbers,
      status_keys, fields, actor, happened_at
    from placed join feeds on feeds.tenant_id = $1 and feeds.merchant_id = $2 returning tenant_id
  )
  update feeds set last_position = last_position + coalesce((select max(through) from placed), 0)
  where tenant_id = $1 and merchant_id = $2
  returning epoch, last_position::float8 as "lastPosition", deleted_position::float8 as "deletedPosition",
    (select count(*) from placed) = ${numberedAtOnce} as "isBehind"`

/**
 * Gives the merchant's committed changes, the oldest thousand rows of them, their positions. A change that is committed later
 * gets a later position, whatever its id: a reader that has seen all positions skips nothing. Those of one waybill keep their
 * order, since the later one's id is given after the earlier one is committed.
 */
export const numberChanges = async (tx: Tx, tenant: string, merchantId: string): Promise<FeedState> => {
  const values = [tenant, merchantId]
  const [, , { rows }] = await Promise.all([
    tx.client.query({ name: 'add_feed', text: adding, values }),
    tx.client.query({ name: 'lock_feed', text: locking, values }),
    tx.client.query({ name: 'number_changes', text: numbering, values }),
  ])
  return rows[0]
}

const adding = 'insert into feeds (tenant_id, merchant_id) values ($1, $2) on conflict do nothing'
/** Apart from the numbering, which sees what was committed before it begins. */
const locking = 'select from feeds where tenant_id = $1 and merchant_id = $2 for update'

/** The row in which the first of them lies, and all that begin before the last. */
const reading = `
  select (c.position + place - 1)::float8 as position, c.type, item.waybill_number, o.order_no,
    json_build_object('key', item.status_key, 'name', coalesce(status.name, item.status_key)) as status,
    ${isoTime('c.happened_at')} as happened_at, c.actor as by, c.fields
  from changes c cross join lateral (
    select place, waybill_number, coalesce(status_key, c.status_keys[1]) as status_key
    from unnest(c.waybill_numbers, c.status_keys) with ordinality as listed (waybill_number, status_key, place)
    where c.position + place - 1 > $3::bigint and c.position + place - 1 <= $3::bigint + $4::int
  ) item
  left join orders o on o.tenant_id = $1 and o.waybill_number = item.waybill_number
  left join statuses status on status.tenant_id = $1 and status.status_key = item.status_key
  where c.tenant_id = $1 and c.merchant_id = $2 and c.position <= $3::bigint + $4::int and c.position >= coalesce((
    select max(position) from changes where tenant_id = $1 and merchant_id = $2 and position <= $3::bigint + 1
  ), 0)
  order by position`

/** Up to `limit` changes behind position `after`, in their order. */
export const readChanges = async (
  pool: pg.Pool,
  tenant: string,
  merchantId: string,
  after: number,
  limit: number,
): Promise<Change[]> =>
  readInTenant(pool, tenant, { name: 'read_changes', text: reading, values: [tenant, merchantId, after, limit] })

const findingFeed = `
  select epoch, last_position::float8 as "lastPosition", deleted_position::float8 as "deletedPosition", false as "isBehind"
  from feeds where tenant_id = $1 and merchant_id = $2
    and not exists (select from new_changes where tenant_id = $1 and merchant_id = $2)`

/** The feed's state when no change waits for its position, else undefined. */
export const findCurrentFeed = async (
  pool: pg.Pool,
  tenant: string,
  merchantId: string,
): Promise<FeedState | undefined> => {
  const [feed] = await readInTenant<FeedState & pg.QueryResultRow>(pool, tenant, {
    name: 'find_current_feed',
    text: findingFeed,
    values: [tenant, merchantId],
  })
  return feed
}

/** A merchant that has read its feed up to a position. */
export interface FeedReader {
  readonly tenant: string
  readonly merchantId: string
  readonly after: number
}

const findingNews = `
  select number::int - 1 as index
  from unnest($1::text[], $2::bigint[], $3::bigint[]) with ordinality as reader (tenant_id, merchant_id, after, number)
  where exists (select from new_changes n where n.tenant_id = reader.tenant_id and n.merchant_id = reader.merchant_id)
    or exists (
      select from feeds f
      where f.tenant_id = reader.tenant_id and f.merchant_id = reader.merchant_id and f.last_position > reader.after
    )`

/** Those of `readers` for whom there are changes. For `inAllTenants`. */
export const findNews = async <Reader extends FeedReader>(tx: Tx, readers: readonly Reader[]): Promise<Reader[]> => {
  const { rows } = await tx.client.query({
    name: 'find_news',
    text: findingNews,
    values: [
      readers.map(({ tenant }) => tenant),
      readers.map(({ merchantId }) => merchantId),
      readers.map(({ after }) => after),
    ],
  })
  return rows.map(({ index }) => readers[index] as Reader)
}

/** After a restore: positions that were given since the backup are given again, to other changes. */
export const renewFeeds = (tx: Tx, tenant: string) =>
  tx.client.query('update feeds set epoch = gen_random_uuid() where tenant_id = $1', [tenant])

/** How long changes are kept. */
export const keptDays = 30

const deleting = `
  with old as (
    delete from changes where (tenant_id, merchant_id, position) in (
      select tenant_id, merchant_id, position from changes
      where tenant_id = $1 and happened_at < now() - make_interval(days => ${keptDays}) order by happened_at limit 10000
    ) returning merchant_id, position + cardinality(waybill_numbers) - 1 as last
  ), reached as (
    update feeds set deleted_position = greatest(deleted_position, last)
    from (select merchant_id, max(last) as last from old group by merchant_id) of_merchant
    where feeds.tenant_id = $1 and feeds.merchant_id = of_merchant.merchant_id
  )
  select count(*)::int as deleted from old`

const findingUnread = `
  select m.merchant_id as "merchantId" from merchants m cross join lateral (
    select happened_at from new_changes n where n.tenant_id = $1 and n.merchant_id = m.merchant_id order by change_id limit 1
  ) oldest
  where m.tenant_id = $1 and oldest.happened_at < now() - interval '10 minutes' limit 10`

/** Gives changes that nobody reads their positions, so that a first reader finds no backlog. Returns how many merchants have some. */
export const numberUnread = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rows } = await tx.client.query(findingUnread, [tenant])
  for (const { merchantId } of rows) await numberChanges(tx, tenant, merchantId)
  return rows.length
}

/** Deletes changes that are no longer kept; returns how many rows. */
export const deleteOldChanges = async (tx: AnyTransaction, tenant: string): Promise<number> =>
  (await tx.client.query(deleting, [tenant])).rows[0].deleted
