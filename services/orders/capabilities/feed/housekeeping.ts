import { type DeleteExpired, deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { keptDays } from '../../core/log/retention.ts'
import { activate } from './delivery-queries.ts'
import { numberChanges } from './numbering.ts'

const unreadSql = `
  select m.merchant_id as "merchantId" from merchants m cross join lateral (
    select happened_at from log n
    where n.tenant_id = $1 and n.merchant_id = m.merchant_id and n.position is null order by entry_id limit 1
  ) oldest
  where m.tenant_id = $1 and oldest.happened_at < now() - interval '10 minutes' order by 1 limit 10`

/** Numbers changes of merchants who read no feed: a first request finds no backlog. Returns how many merchants. */
export const numberUnread: DeleteExpired = async (tx, tenant) => {
  const unread = await tx.rows(unreadSql, [tenant])
  for (const { merchantId } of unread) await numberChanges(tx, tenant, merchantId)
  return unread.length
}

/** Sets how long delivered and failed events are listed. */
export const listedDays = 7

const deleteFinished = deleteWhere(
  'webhook_deliveries',
  `state <> 'pending' and last_attempt_at < now() - make_interval(days => ${listedDays})`,
)

const oldPendingSql = `tenant_id = $1 and state = 'pending' and happened_at < now() - make_interval(days => ${keptDays})`

/**
 * Deletes old pending events of the endpoint that has the oldest one. The endpoint is locked, so no event or outcome is
 * added meanwhile. Then makes the next event of each waybill due.
 */
const deletePending: DeleteExpired = async (tx, tenant) => {
  const [oldest] = await tx.rows(
    `select endpoint_id as id from webhook_endpoints where tenant_id = $1 and endpoint_id = (
      select endpoint_id from webhook_deliveries where ${oldPendingSql} order by happened_at limit 1
    ) for update`,
    [tenant],
  )
  if (!oldest) return 0
  const deleteOldSql = `delete from webhook_deliveries where ${oldPendingSql} and endpoint_id = $2
    returning waybill_number as waybill`
  const deleted = await tx.rows(deleteOldSql, [tenant, oldest.id])
  await activate(tx, { tenant, endpointId: oldest.id }, deleted)
  return deleted.length
}

/** Deletes a slice of the deliveries of deleted endpoints or, when none is left, the endpoints themselves. */
const deleteEndpoints: DeleteExpired = async (tx, tenant) => {
  const deletedSql = `webhook_endpoints where tenant_id = $1 and state = 'deleted'`
  const deliveries = await deleteWhere('webhook_deliveries', `endpoint_id in (select endpoint_id from ${deletedSql})`)(
    tx,
    tenant,
  )
  if (deliveries > 0) return deliveries
  return (await tx.client.query(`delete from ${deletedSql}`, [tenant])).rowCount ?? 0
}

/** Numbers unread changes; deletes deliveries that are no longer kept, and deleted endpoints with their deliveries. */
export const feedTasks: readonly DeleteExpired[] = [numberUnread, deleteFinished, deletePending, deleteEndpoints]
