import { takenBackEvent } from '@courier/shared/contract/order-events.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { followTakeBack } from '../../capabilities/failures/attempts.ts'
import { type Acted, addAction, defineBody, refuse } from '../../capabilities/money/action.ts'
import { Reason } from '../../capabilities/money/fields.ts'
import { lockParcels } from '../../capabilities/money/parcels.ts'
import { reverseBooking } from '../../capabilities/money/reverse.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../statuses/status-queries.ts'
import { deliveredKeys } from '../statuses/statuses.ts'
import { isWaybill } from '../tracking/read-orders.ts'
import { type ChangeOptions, findFailed } from './move.ts'

const TakenBack = Type.Object({ waybill_number: Type.String(), status_key: Type.String() }, { title: 'TakenBack' })

/** Takes a wrong move back, with everything that it booked. */
export const takeBackRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, { pool, onChanged }) => {
  acceptJson(app)
  addAction(app, pool, {
    path: '/order/:waybill/take-back',
    operationId: 'takeBackMove',
    action: 'order.taken_back',
    summary: 'Take back the newest move of an order',
    message: 'Move Taken Back Successfully',
    description:
      'The order returns to its previous status; the booking of the move is reversed. The customer gets no message.',
    params: Type.Object({ waybill: Type.String({ maxLength: 100 }) }),
    body: defineBody('TakeBack', { reason: Reason }),
    data: TakenBack,
    onDone: onChanged,
    act: (tx, { tenant, by, id: waybill, body: { reason } }) => takeBack(tx, tenant, waybill, by.name, reason),
  })
}

const takeBack = async (
  tx: Tx,
  tenant: string,
  waybill: string,
  by: string,
  reason: string,
): Promise<Acted<Static<typeof TakenBack>>> => {
  const [order] = isWaybill.test(waybill) ? await lockParcels(tx, tenant, [waybill]) : []
  if (!order) return { kind: 'unknown', what: 'waybill' }
  const [newest, before] = await tx.rows(newestSql, [tenant, waybill])
  if (!before) return refuse('waybill_number', `${waybill} has no move that can be taken back.`)
  if (!newest.is_counted) return refuse('waybill_number', `The newest move of ${waybill} was taken back already.`)
  const statuses = await findStatuses(tx, tenant)
  if (!statuses.has(before.status_key))
    return refuse('waybill_number', `The previous status, ${before.status_key}, is no longer in the set of statuses.`)
  const errors = await reverseBooking(tx, tenant, { order, movedAt: newest.happened_at, by, reason })
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const failed = deliveredKeys.includes(before.status_key) ? await findFailed(tx, tenant, [waybill]) : null
  await tx.client.query(takeBackSql, [tenant, waybill, newest.event_id, before.status_key, by, reason, failed])
  await followTakeBack(tx, tenant, waybill, order.status_key, before.status_key)
  return { kind: 'done', data: { waybill_number: waybill, status_key: before.status_key }, objects: [waybill] }
}

const newestSql = `
  select event_id, status_key, is_counted, happened_at from order_events where tenant_id = $1 and waybill_number = $2
  order by tenant_id desc, waybill_number desc, event_id desc limit 2`

/**
 * Writes the take-back. Merchants read it as a change of status; the notifier gets an event of its own, which triggers
 * no rule of a status.
 */
const takeBackSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), taken as (
    update order_events set is_counted = false where tenant_id = $1 and waybill_number = $2 and event_id = $3
      returning tenant_id
  ), moved as (
    update orders set status_key = $4, first_attempt = waybill_number <> all($7::text[])
      where tenant_id = $1 and waybill_number = $2
      returning merchant_id
  ), event as (
    insert into order_events (tenant_id, waybill_number, status_key, happened_at, staff_name, note, is_counted)
    select $1, $2, $4, now, $5, $6, false from clock returning tenant_id
  ), notified as (
    insert into log (tenant_id, type, waybill_numbers, status_keys, note, happened_at)
    select $1, '${takenBackEvent}', array[$2::text], array[$4::text], $6, now
    from clock, tenants where tenants.tenant_id = $1 and messaging returning log.tenant_id
  )
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, note, happened_at, is_relayed)
  select $1, merchant_id, 'order.status_changed', array[$2::text], array[$4::text], 'staff', $6, now, true
  from moved, clock returning tenant_id`
