import type { AnyTransaction } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../database/tables.ts'
import type { Waiting } from '../delivery/loop.ts'
import type { OutboxRow } from './events.ts'

/**
 * Runs a query along the key of the outbox. After the outbox has grown, stale statistics make Postgres expect a few rows,
 * and it would read and sort the whole backlog for the oldest. For the same reason the query has no name: its plan is not
 * cached.
 */
const alongTheKey = async (tx: Tx, text: string, values: unknown[] = []) => {
  const [, { rows }] = await Promise.all([
    tx.client.query('set local enable_sort = off; set local enable_bitmapscan = off; set local enable_seqscan = off'),
    tx.client.query(text, values),
  ])
  return rows
}

/**
 * The tenants with messaging and rows in the outbox, except those that wait because the notifier does not know them. For
 * `inAllTenants`.
 */
export const findWaiting = (tx: Tx, holder: string): Promise<Waiting<string>[]> =>
  alongTheKey(
    tx,
    `select t.tenant_id as key, coalesce(l.holder <> $1, false) as "isLeasedElsewhere"
      from tenants t left join outbox_leases l on l.tenant_id = t.tenant_id and l.held_until > now() cross join lateral (
        select from outbox o where o.tenant_id = t.tenant_id order by o.outbox_id limit 1
      ) oldest where t.messaging and l.unknown_since is null`,
    [holder],
  )

/**
 * The tenant's oldest rows: as few as have `events` events together, or all. The recursion reads row by row along the
 * key, so a backlog of any size costs the same.
 */
export const readOldest = async (tx: Tx, tenant: string, events: number): Promise<OutboxRow[]> => {
  const rows = await alongTheKey(
    tx,
    `with recursive oldest as (
        (${row('where tenant_id = $1')})
        union all
        select following.*, oldest.events + cardinality(following.waybill_numbers)
        from oldest cross join lateral (${row('where tenant_id = $1 and outbox_id > oldest.outbox_id', '')}) following
        where oldest.events < $2
      )
      select * from oldest order by outbox_id`,
    [tenant, events],
  )
  return rows.map(row => ({
    id: row.outbox_id,
    key: row.row_key,
    type: row.type,
    waybills: row.waybill_numbers,
    statusKeys: row.status_keys,
    note: row.note,
    happenedAt: row.happened_at,
    traceparents: row.traceparents ?? [],
  }))
}

const row = (where: string, count = ', cardinality(waybill_numbers) as events'): string => `
  select outbox_id, row_key, type, waybill_numbers, status_keys, note, happened_at, traceparents${count}
  from outbox ${where} order by outbox_id limit 1`

export const deleteRows = (tx: Tx, tenant: string, ids: readonly string[]) =>
  alongTheKey(tx, 'delete from outbox where tenant_id = $1 and outbox_id = any($2::bigint[])', [tenant, ids])

interface OutboxSize {
  readonly rows: number
  /** Of the oldest row; 0 when there is none. */
  readonly ageSeconds: number
  /** Tenants with rows that the notifier does not know; the ages are apart. */
  readonly unknownTenants: number
  readonly unknownAgeSeconds: number
}

/** Counting stops here, so that measuring a backlog of any size costs the same. */
export const maxCountedRows = 100_000

/** Of all tenants with messaging; fails after a second. For `inAllTenants`. */
export const measureOutbox = async (tx: Tx): Promise<OutboxSize> => {
  await tx.client.query(`set local statement_timeout = '1s'`)
  const [size] = await alongTheKey(
    tx,
    `select * from (select ${ageOf('unknown_since is null')} as "ageSeconds", ${ageOf('unknown_since is not null')} as "unknownAgeSeconds",
      count(unknown_since)::int as "unknownTenants"
    from tenants t cross join lateral (
      select o.happened_at from outbox o where o.tenant_id = t.tenant_id order by o.outbox_id limit 1
    ) oldest left join outbox_leases l on l.tenant_id = t.tenant_id
    where t.messaging) ages, (select count(*)::int as rows from (select 1 from outbox limit ${maxCountedRows}) counted) counted`,
  )
  return size
}

const ageOf = (where: string): string =>
  `coalesce(extract(epoch from clock_timestamp() - min(oldest.happened_at) filter (where ${where})), 0)::float8`

/** Deletes up to 10,000 rows of a tenant without messaging; returns how many. */
export const deleteUnwanted = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rowCount } = await tx.client.query(
    `delete from outbox where tenant_id = $1 and outbox_id in (
      select outbox_id from outbox join tenants using (tenant_id) where tenant_id = $1 and not messaging limit 10000
    )`,
    [tenant],
  )
  return rowCount ?? 0
}
