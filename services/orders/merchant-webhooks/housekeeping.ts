import type { AnyTransaction } from '@courier/shared/postgres/database.ts'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import { keptDays } from '../log/expiry.ts'
import { activate } from './delivery-queries.ts'

/** How long what was delivered or given up is listed. */
export const listedDays = 7

const deleteFinished = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rowCount } = await tx.client.query(
    `delete from webhook_deliveries where tenant_id = $1 and ctid = any(array(
      select ctid from webhook_deliveries
      where tenant_id = $1 and state <> 'pending' and last_attempt_at < now() - make_interval(days => ${listedDays}) limit 10000
    ))`,
    [tenant],
  )
  return rowCount ?? 0
}

const isOldPending = `tenant_id = $1 and state = 'pending' and happened_at < now() - make_interval(days => ${keptDays})`

/**
 * Of the endpoint with the oldest, locked: nothing is added to it or stored meanwhile. The next of each waybill is due
 * then.
 */
const deletePending = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rows: oldest } = await tx.client.query(
    `select endpoint_id as id from webhook_endpoints where tenant_id = $1 and endpoint_id = (
      select endpoint_id from webhook_deliveries where ${isOldPending} order by happened_at limit 1
    ) for update`,
    [tenant],
  )
  if (!oldest[0]) return 0
  const { rows } = await tx.client.query(
    `delete from webhook_deliveries where ${isOldPending} and endpoint_id = $2 returning waybill_number as waybill`,
    [tenant, oldest[0].id],
  )
  await activate(
    tx,
    tenant,
    oldest[0].id,
    rows.map(({ waybill }) => waybill),
  )
  return rows.length
}

/** Deletes a slice of the deliveries of one deleted endpoint or, when none is left, its row. */
const deleteEndpoints = async (tx: AnyTransaction, tenant: string): Promise<number> => {
  const { rows: deleted } = await tx.client.query(
    `select endpoint_id as id from webhook_endpoints where tenant_id = $1 and state = 'deleted' limit 1`,
    [tenant],
  )
  if (!deleted[0]) return 0
  const values = [tenant, deleted[0].id]
  const { rowCount } = await tx.client.query(
    `delete from webhook_deliveries where tenant_id = $1 and endpoint_id = $2 and position = any(array(
      select position from webhook_deliveries where tenant_id = $1 and endpoint_id = $2 order by position limit 10000
    ))`,
    values,
  )
  if (rowCount) return rowCount
  await tx.client.query('delete from webhook_endpoints where tenant_id = $1 and endpoint_id = $2', values)
  return 1
}

/** Deliveries that are no longer kept, and deleted endpoints with theirs. */
export const deliveryDeletions: readonly DeleteExpired[] = [deleteFinished, deletePending, deleteEndpoints]
