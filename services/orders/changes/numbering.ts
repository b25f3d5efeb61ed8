import { randomUUID } from 'node:crypto'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'

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
  with committed as (
    delete from new_changes where tenant_id = $1 and merchant_id = $2 and change_id = any(array(
      select change_id from new_changes where tenant_id = $1 and merchant_id = $2 order by change_id limit ${numberedAtOnce}
    )) returning *
  ), placed as (
    select *, sum(cardinality(waybill_numbers)) over (order by change_id)::bigint as through from committed
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
 * Gives the merchant's committed changes, the oldest thousand rows of them, their positions. A change that is committed
 * later gets a later position, whatever its id: a reader that has seen all positions skips nothing. Those of one
 * waybill keep their order, since the later one's id is given after the earlier one is committed.
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

/** After a restore: positions that were given since the backup are given again, to other changes. */
export const renewFeeds = (tx: Tx, tenant: string) =>
  tx.client.query('update feeds set epoch = $2 where tenant_id = $1', [tenant, randomUUID()])
