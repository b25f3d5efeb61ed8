import type { AnyTransaction } from '@courier/shared/postgres/database.ts'

/**
 * Sets how long entries, and with them the changes of feeds, are kept. The notifier knows the ids of events as long, so
 * that no entry makes a message twice.
 */
export const keptDays = 30

// Entries without a position, as of a time without the feed, take theirs with them: no reader skips them silently.
const deleteExpiredSql = `
  with expired as materialized (
    select entry_id, merchant_id from (select * from log where tenant_id = $1 order by entry_id limit 10000) oldest
    where happened_at < now() - make_interval(days => ${keptDays}) and is_relayed
  ), locked as materialized (
    select merchant_id from feeds where tenant_id = $1 and merchant_id in (select merchant_id from expired)
    order by merchant_id for update
  ), old as (
    delete from log where tenant_id = $1 and entry_id = any(array(select entry_id from expired))
      and (select count(*) from locked) >= 0
    returning merchant_id, position, cardinality(waybill_numbers) as size
  ), reached as (
    update feeds set last_position = last_position + unread,
      deleted_position = greatest(deleted_position, last, case when unread > 0 then last_position + unread end)
    from (
      select merchant_id, max(position + size - 1) as last,
        coalesce(sum(size) filter (where position is null), 0)::bigint as unread
      from old group by merchant_id
    ) of_merchant
    where feeds.tenant_id = $1 and feeds.merchant_id = of_merchant.merchant_id
  )
  select count(*)::int as deleted from old`

/** Deletes entries that are no longer kept, once relayed; returns how many. */
export const deleteOldChanges = async (tx: AnyTransaction, tenant: string): Promise<number> =>
  (await tx.rows(deleteExpiredSql, [tenant]))[0].deleted
