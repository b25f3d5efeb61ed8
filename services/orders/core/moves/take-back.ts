import { takenBackEvent } from '@courier/shared/contract/order-events.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, addAction, defineBody, refuse, refuseAny } from '../actions/action.ts'
import { Reason } from '../actions/fields.ts'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../statuses/status-queries.ts'
import { deliveredKeys, failedAttemptKeys } from '../statuses/statuses.ts'
import { isWaybill } from '../tracking/read-orders.ts'
import { type ChangeOptions, failedSql, limitLockWait, lockOrders } from './move.ts'
import type { MovePoint } from './move-points.ts'

const TakenBack = Type.Object({ waybill_number: Type.String(), status_key: Type.String() }, { title: 'TakenBack' })

/** Takes a wrong move back, with everything that it booked. */
export const takeBackRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (
  app,
  { pool, movePoints, onChanged },
) => {
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
    act: (tx, { tenant, by, id: waybill, body: { reason } }) =>
      takeBack(tx, movePoints, { tenant, waybill, by: by.name, reason }),
  })
}

interface TakeBack {
  readonly tenant: string
  readonly waybill: string
  readonly by: string
  readonly reason: string
}

const takeBack = async (
  tx: Tx,
  points: readonly MovePoint[],
  { tenant, waybill, by, reason }: TakeBack,
): Promise<Acted<Static<typeof TakenBack>>> => {
  const [, [order] = []] = await Promise.all([
    limitLockWait(tx),
    isWaybill.test(waybill) ? lockOrders(tx, tenant, [waybill], null) : [],
  ])
  if (!order) return { kind: 'unknown', what: 'waybill' }
  const [newest, before] = await tx.rows(newestSql, [tenant, waybill])
  if (!before) return refuse('waybill_number', `${waybill} has no move that can be taken back.`)
  if (!newest.is_counted) return refuse('waybill_number', `The newest move of ${waybill} was taken back already.`)
  const backTo = before.status_key
  if (!(await findStatuses(tx, tenant)).has(backTo))
    return refuse('waybill_number', `The previous status, ${backTo}, is no longer in the set of statuses.`)
  const failed = deliveredKeys.includes(backTo) ? failedAttemptKeys : null
  await tx.client.query(takeBackSql, [tenant, waybill, newest.event_id, backTo, by, reason, failed])
  // The points see the timeline without the move. A refusal rolls back what is written.
  for (const point of points) {
    const errors = await point.undo?.(tx, { tenant, order, backTo, movedAt: newest.happened_at, by, reason })
    const refusal = errors && refuseAny(errors)
    if (refusal) return refusal
  }
  return { kind: 'done', data: { waybill_number: waybill, status_key: backTo }, objects: [waybill] }
}

const newestSql = `
  select event_id, status_key, is_counted, happened_at from order_events where tenant_id = $1 and waybill_number = $2
  order by tenant_id desc, waybill_number desc, event_id desc limit 2`

/**
 * Writes the take-back. Merchants read it as a change of status; the notifier gets another event, which triggers no
 * rule of a status.
 */
const takeBackSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), taken as (
    update order_events set is_counted = false where tenant_id = $1 and waybill_number = $2 and event_id = $3
      returning tenant_id
  ), moved as (
    update orders set status_key = $4, first_attempt = waybill_number <> all(failed.waybills)
      from ${failedSql('array[$2]', '$7')} where tenant_id = $1 and waybill_number = $2
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
