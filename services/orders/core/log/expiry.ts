import type { AnyTransaction } from '@courier/shared/postgres/database.ts'
import { numberChanges } from './feed.ts'

/** Sets how long changes are kept. */
export const keptDays = 30

const deleteExpiredSql = `
  with old as (
    delete from log where tenant_id = $1 and entry_id = any(array(
      select entry_id from (select * from log where tenant_id = $1 order by entry_id limit 10000) oldest
      where happened_at < now() - make_interval(days => ${keptDays}) and is_relayed
        and (merchant_id is null or position is not null)
    )) returning merchant_id, position + cardinality(waybill_numbers) - 1 as last
  ), reached as (
    update feeds set deleted_position = greatest(deleted_position, last)
    from (select merchant_id, max(last) as last from old group by merchant_id) of_merchant
    where feeds.tenant_id = $1 and feeds.merchant_id = of_merchant.merchant_id
  )
  select count(*)::int as deleted from old`

const unreadSql = `
  select m.merchant_id as "merchantId" from merchants m cross join lateral (
    select happened_at from log n
    where n.tenant_id = $1 and n.merchant_id = m.merchant_id and n.position is null order by entry_id limit 1
  ) oldest
  where m.tenant_id = $1 and oldest.happened_at < now() - interval '10 minutes' order by 1 limit 10`

/**
 * Numbers the changes of merchants who do not read their feeds, so that a first request finds no backlog. Returns the
 * number of these merchants.
 */
export const numberUnread = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const unread = await tx.rows(unreadSql, [tenant])
  for (const { merchantId } of unread) await numberChanges(tx, tenant, merchantId)
  return unread.length
}

/** Deletes entries that are no longer kept, once relayed and numbered; returns how many. */
export const deleteOldChanges = async (tx: AnyTransaction, tenant: string): Promise<number> =>
  (await tx.rows(deleteExpiredSql, [tenant]))[0].deleted
