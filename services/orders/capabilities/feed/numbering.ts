import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'

/** Describes the state of a merchant's feed. */
export interface FeedState {
  /** Identifies the numbering: positions of another epoch mean nothing. */
  readonly epoch: string
  readonly lastPosition: number
  /** Changes up to here are no longer kept. */
  readonly deletedPosition: number
  /** More changes may wait for their positions. */
  readonly isBehind: boolean
}

/** Limits the entries that one transaction numbers. */
const numberedAtOnce = 1_000

const numberChangesSql = `
  with committed as (
    select entry_id, cardinality(waybill_numbers) as size from log
    where tenant_id = $1 and merchant_id = $2 and position is null order by entry_id limit ${numberedAtOnce}
      for no key update
  ), placed as (
    select entry_id, size, sum(size) over (order by entry_id)::bigint as through from committed
  ), numbered as (
    update log set position = last_position + through - size + 1
    from placed, feeds
    where log.tenant_id = $1 and log.entry_id = placed.entry_id and feeds.tenant_id = $1 and feeds.merchant_id = $2
    returning log.tenant_id
  )
  update feeds set last_position = last_position + coalesce((select max(through) from placed), 0)
  where tenant_id = $1 and merchant_id = $2
  returning epoch, last_position::float8 as "lastPosition", deleted_position::float8 as "deletedPosition",
    (select count(*) from placed) = ${numberedAtOnce} as "isBehind"`

/**
 * Gives positions to the merchant's committed changes, in at most a thousand entries, oldest first. A change that is
 * committed later gets a later position, whatever its id, so a reader that has seen all positions skips nothing.
 * Changes of one waybill keep their order, since each gets its id after the earlier one is committed.
 */
export const numberChanges = async (tx: Tx, tenant: string, merchantId: string): Promise<FeedState> => {
  const values = [tenant, merchantId]
  const [, , [feed]] = await Promise.all([
    tx.client.query({ name: 'add_feed', text: addFeedSql, values }),
    tx.client.query({ name: 'lock_feed', text: lockFeedSql, values }),
    tx.rows({ name: 'number_changes', text: numberChangesSql, values }),
  ])
  return feed
}

const addFeedSql = 'insert into feeds (tenant_id, merchant_id) values ($1, $2) on conflict do nothing'
/** Is a statement of its own, so that the numbering sees everything committed before it begins. */
const lockFeedSql = 'select from feeds where tenant_id = $1 and merchant_id = $2 for update'

/** Finds the feed's state when no change waits for its position. */
const currentFeedSql = `
  select epoch, last_position::float8 as "lastPosition", deleted_position::float8 as "deletedPosition",
    false as "isBehind"
  from feeds where tenant_id = $1 and merchant_id = $2
    and not exists (select from log where tenant_id = $1 and merchant_id = $2 and position is null)`

/** Identifies the merchant who owns a feed. */
export interface FeedOwner {
  readonly tenant: string
  readonly merchantId: string
}

/** Returns the state of the merchant's feed. First numbers committed changes, up to a thousand entries of the log. */
export const openFeed = async (pool: pg.Pool, { tenant, merchantId }: FeedOwner): Promise<FeedState> => {
  const query = { name: 'find_current_feed', text: currentFeedSql, values: [tenant, merchantId] }
  const [current] = await readInTenant<FeedState & pg.QueryResultRow>(pool, tenant, query)
  return current ?? inTenant(pool, tenant, (tx: Tx) => numberChanges(tx, tenant, merchantId))
}

/** Numbers all committed changes, however many there are, and returns the state of the feed. */
export const catchUp = async (pool: pg.Pool, owner: FeedOwner): Promise<FeedState> => {
  for (;;) {
    const feed = await openFeed(pool, owner)
    if (!feed.isBehind) return feed
  }
}
