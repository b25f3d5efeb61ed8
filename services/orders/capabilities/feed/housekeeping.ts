import { type DeleteExpired, deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { keptDays } from '../../core/log/expiry.ts'
import { activate } from './delivery-queries.ts'

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

/** Deletes deliveries that are no longer kept, and deleted endpoints with their deliveries. */
export const deliveryDeletions: readonly DeleteExpired[] = [deleteFinished, deletePending, deleteEndpoints]
