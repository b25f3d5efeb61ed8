import { type AnyTransaction, planWithout } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../database/tables.ts'
import type { Waiting } from '../log/delivery-loop.ts'
import type { Entry } from './events.ts'

/**
 * Runs a query along the index of the entries that wait. After a backlog has grown, stale statistics make Postgres
 * expect a few rows, and it would read and sort the whole backlog for the oldest. For the same reason the query has no
 * name: its plan is not cached.
 */
const queryAlongIndex = (tx: Tx, text: string, values: unknown[] = []) =>
  planWithout(tx, ['enable_sort', 'enable_bitmapscan', 'enable_seqscan'], () => tx.rows(text, values))

/**
 * Returns the tenants with messaging and waiting entries that no other process holds, the least recently drained first,
 * and those that back off. Runs in `inAllTenants`.
 */
export const findWaiting = (tx: Tx, holder: string): Promise<Waiting<string>[]> =>
  queryAlongIndex(
    tx,
    `select t.tenant_id as key, coalesce(l.failures > 0 and l.held_until > now(), false) as "isBackingOff"
      from tenants t left join outbox_leases l on l.tenant_id = t.tenant_id cross join lateral (
        select from log where log.tenant_id = t.tenant_id and not is_relayed order by entry_id limit 1
      ) oldest
      where t.messaging and (l.holder is null or l.holder = $1 or l.held_until <= now() or l.failures > 0)
      order by l.held_until nulls first`,
    [holder],
  )

/**
 * Reads the tenant's oldest entries that wait: as few as have `events` events together, or all. The recursion reads
 * entry by entry along the index, so a backlog of any size costs the same.
 */
export const readOldest = (tx: Tx, tenant: string, events: number): Promise<Entry[]> =>
  queryAlongIndex(
    tx,
    `with recursive oldest as (
        (${selectEntry('')})
        union all
        select following.*, oldest.events + cardinality(following.waybills)
        from oldest cross join lateral (${selectEntry('and entry_id > oldest.id', '')}) following
        where oldest.events < $2
      )
      select * from oldest order by id`,
    [tenant, events],
  )

/** Is true of an entry about a merchant and no order, which has an empty waybill number for its place in the feed. */
export const isAboutMerchantSql = `waybill_numbers = '{""}'`

/** Selects what the notifier gets about a merchant: what the log says, and whom to write to. */
const subjectSql = `case when ${isAboutMerchantSql} then (
    select details || jsonb_build_object('merchant_name', merchants.name, 'merchant_phone', merchants.phone,
      'time_zone', time_zone)
    from merchants join tenants using (tenant_id) where merchants.tenant_id = $1
      and merchants.merchant_id = log.merchant_id
  ) end as subject`

const selectEntry = (condition: string, count = ', cardinality(waybill_numbers) as events'): string => `
  select entry_id as id, entry_key as key, type, waybill_numbers as waybills, status_keys as "statusKeys", note,
    happened_at as "happenedAt", coalesce(traceparents, '{}') as traceparents, ${subjectSql}${count}
  from log where tenant_id = $1 and not is_relayed ${condition} order by entry_id limit 1`

/** Marks entries as relayed. Locking them in the order of their ids prevents deadlocks. */
export const markRelayed = (tx: Tx, tenant: string, ids: readonly string[]) =>
  queryAlongIndex(
    tx,
    `with locked as (
      select entry_id from log where tenant_id = $1 and entry_id = any($2::bigint[]) order by entry_id for no key update
    )
    update log set is_relayed = true from locked where log.tenant_id = $1 and log.entry_id = locked.entry_id`,
    [tenant, ids],
  )

/** Stops counting here, so that measuring a backlog of any size costs the same. */
export const maxCountedRows = 100_000

/**
 * Measures the outbox of all tenants; the ages and the unknown tenants leave out tenants without messaging. Fails after
 * a second. Runs in `inAllTenants`.
 */
export const measureOutbox = async (tx: Tx) => {
  await tx.client.query(`set local statement_timeout = '1s'`)
  const [size] = await queryAlongIndex(
    tx,
    `select * from (select ${selectAge('unknown_since is null')} as outbox_age_seconds,
      ${selectAge('unknown_since is not null')} as outbox_unknown_age_seconds,
        count(unknown_since)::int as outbox_unknown_tenants
    from tenants t cross join lateral (
      select happened_at from log where log.tenant_id = t.tenant_id and not is_relayed order by entry_id limit 1
    ) oldest left join outbox_leases l on l.tenant_id = t.tenant_id
    where t.messaging) ages, (
      select count(*)::int as outbox_depth from (select 1 from log where not is_relayed limit ${maxCountedRows}) counted
    ) counted`,
  )
  return size
}

const selectAge = (where: string): string =>
  `coalesce(extract(epoch from clock_timestamp() - min(oldest.happened_at) filter (where ${where})), 0)::float8`

/** Marks up to 10,000 entries of a tenant without messaging as relayed; returns how many. */
export const skipUnwanted = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rowCount } = await tx.client.query(
    `update log set is_relayed = true where tenant_id = $1 and entry_id in (
      select entry_id from log join tenants using (tenant_id)
      where tenant_id = $1 and not is_relayed and not messaging order by entry_id limit 10000 for no key update of log
    )`,
    [tenant],
  )
  return rowCount ?? 0
}
