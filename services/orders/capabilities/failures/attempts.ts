import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { Type } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { LockedMove, MovePoint, TakenMove } from '../../core/moves/move-points.ts'
import { fromWaiting } from '../../core/statuses/status-queries.ts'
import { failedAttemptKeys } from '../../core/statuses/statuses.ts'
import { checkReason } from './reasons.ts'

/** Lists what may be done with a parcel whose delivery failed (docs/staff/failed-deliveries.md). */
export const instructionActions = ['reattempt', 'reschedule', 'return', 'change_address'] as const
export type InstructionAction = (typeof instructionActions)[number]
/** Lists the parties by rank, lowest first: the instruction of a higher party overrides those of lower ones. */
export const parties = ['company', 'merchant', 'customer', 'staff'] as const
export type Party = (typeof parties)[number]

const isFailed = (statusKey: string): boolean => failedAttemptKeys.includes(statusKey)

/**
 * Opens an attempt when an order gets a status of a failed delivery, stores a later reason while the order has such a
 * status, and closes the attempt when the order leaves these statuses.
 */
const followMove = async (tx: Tx, { tenant, current, statusKey, given = {} }: LockedMove) => {
  const { reason_code = null } = given
  const selectWaybills = (wereFailed: boolean) =>
    current.filter(order => isFailed(order.status_key) === wereFailed).map(order => order.waybill_number)
  const [failedBefore, others] = [selectWaybills(true), selectWaybills(false)]
  if (!isFailed(statusKey)) {
    if (failedBefore.length > 0) await tx.client.query(endSql, [tenant, failedBefore])
    return
  }
  await Promise.all([
    others.length > 0 && tx.client.query(beginSql, [tenant, others, reason_code]),
    failedBefore.length > 0 &&
      reason_code !== null &&
      tx.client.query(nameReasonSql, [tenant, failedBefore, reason_code]),
  ])
}

const beginSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), failed as (
    select orders.tenant_id, orders.waybill_number, orders.merchant_id, 1 + coalesce((
        select max(earlier.attempt_no) from attempts earlier
        where earlier.tenant_id = orders.tenant_id and earlier.waybill_number = orders.waybill_number
      ), 0) as attempt_no, clock.now, tenants.instruction_hours
    from clock, orders join tenants on tenants.tenant_id = orders.tenant_id
    where orders.tenant_id = $1 and orders.waybill_number = any($2::text[])
  ), left_open as (
    update attempts set is_open = false where tenant_id = $1 and waybill_number = any($2::text[]) and is_open
      returning tenant_id
  ), begun as (
    insert into attempts (tenant_id, waybill_number, attempt_no, merchant_id, reason_code, failed_at, due_at)
    select $1, waybill_number, attempt_no, merchant_id, $3::text, now, now + make_interval(hours => instruction_hours)
    from failed order by waybill_number returning tenant_id
  )
  select count(*) from begun`

const endSql = `
  update attempts set is_open = false where tenant_id = $1 and waybill_number = any($2::text[]) and is_open`

const nameReasonSql = `
  update attempts set reason_code = $3 where tenant_id = $1 and waybill_number = any($2::text[]) and is_open`

/**
 * Follows a move that was taken back: deletes the attempt of a failure that did not happen, and its instructions;
 * reopens the attempt that the order is in again; or restores the reason from before the move. The order is locked.
 */
const followTakeBack = async (tx: Tx, { tenant, order, backTo }: TakenMove): Promise<FieldErrors> => {
  const { waybill_number: waybill, status_key: from } = order
  if (isFailed(from) && isFailed(backTo)) {
    const [latest] = await tx.rows(latestReasonSql, [tenant, waybill, failedAttemptKeys])
    await tx.client.query(nameReasonSql, [tenant, [waybill], latest?.reason_code ?? null])
  } else if (isFailed(from) || isFailed(backTo))
    await tx.client.query(isFailed(from) ? forgetSql : reopenSql, [tenant, waybill])
  return {}
}

/** Selects the latest reason of the failure that an order is in. */
const latestReasonSql = `
  select reason_code from order_events
  where tenant_id = $1 and waybill_number = $2 and is_counted and reason_code is not null and event_id > coalesce((
      select max(event_id) from order_events before
      where before.tenant_id = $1 and before.waybill_number = $2 and before.is_counted
        and before.status_key <> all($3::text[])
    ), 0)
  order by event_id desc limit 1`

const newestSql = `
  tenant_id = $1 and waybill_number = $2 and attempt_no = (
    select max(newest.attempt_no) from attempts newest where newest.tenant_id = $1 and newest.waybill_number = $2)`
const forgetSql = `
  with forgotten as (
    delete from attempts where ${newestSql} returning tenant_id, waybill_number, attempt_no
  )
  delete from instructions using forgotten
  where instructions.tenant_id = $1 and instructions.waybill_number = $2
    and forgotten.tenant_id = instructions.tenant_id and forgotten.attempt_no = instructions.attempt_no`
const reopenSql = `update attempts set is_open = true where ${newestSql}`

export interface OpenAttempt {
  readonly attempt_no: number
  readonly action: InstructionAction | null
  readonly given_as: Party | null
  readonly due_at: string
  readonly is_late: boolean
}

export const findOpenAttempt = async (tx: Tx, tenant: string, waybill: string): Promise<OpenAttempt | undefined> =>
  (await tx.rows(openAttemptSql, [tenant, waybill]))[0]

const openAttemptSql = `
  select attempt_no, action, given_as, ${isoTime('due_at')} as due_at, due_at < clock_timestamp() as is_late
  ${fromWaiting} where attempts.tenant_id = $1 and orders.waybill_number = $2`

/** Counts failed deliveries by the moves of their orders. */
export const failedMoves: MovePoint = {
  fields: {
    reason_code: Type.Optional(
      Type.String({
        maxLength: 63,
        pattern: '^[a-z][a-z0-9_]*$',
        must: "be a code from the company's list, such as not_home",
        description: 'The reason why the delivery failed or the parcel goes back, from the company’s list.',
      }),
    ),
  },
  check: async (tx, wanted) => ({ errors: await checkReason(tx, wanted) }),
  write: followMove,
  undo: followTakeBack,
}
