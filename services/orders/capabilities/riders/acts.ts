import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameStatus } from '../../core/moves/check-moves.ts'
import { type ChangeOptions, limitLockWait, lockOrders, moveIn } from '../../core/moves/move.ts'
import type { CashPoint, LockedOrder } from '../../core/moves/move-points.ts'
import { findStatuses, keepStatusSet } from '../../core/statuses/status-queries.ts'
import { classifyStatus, type Statuses } from '../../core/statuses/statuses.ts'
import { findHolders, give, take } from './assign.ts'
import { findNeeded, readRules } from './company.ts'
import { isCode, maxWrongCodes } from './delivery-code.ts'
import { isTakable } from './my-parcels.ts'
import { findPath, type Goal, isOver } from './paths.ts'
import type { Rider } from './riders.ts'
import type { Act, refusalCodes } from './schema.ts'

// Applies what riders did, as it stands when it arrives (docs/staff/riders.md#refused-acts).

export interface Refusal {
  readonly code: (typeof refusalCodes)[number]
  readonly message: string
}

export interface ActOptions extends ChangeOptions {
  /** undefined: nobody books what recipients pay. */
  readonly cash: CashPoint | undefined
}

export interface Work {
  readonly tenant: string
  readonly rider: Rider
  readonly by: Actor
  readonly act: Act
  /** Lists the keys that sign links and codes. */
  readonly linkKeys: readonly string[]
  /** Is the reason of the office, which applies an act that was refused: who has the parcel no longer matters. */
  readonly override?: string | undefined
}

/** Holds the parcel of an act under its lock. */
interface Locked {
  readonly order: LockedOrder
  readonly statuses: Statuses
  /** undefined: nobody has the parcel. */
  readonly holder: Rider | undefined
}

/** Does what an act says, or returns why not; the caller then rolls back what was written. */
export const perform = async (tx: Tx, options: ActOptions, work: Work): Promise<Refusal | undefined> => {
  const { tenant, act, rider } = work
  if (act.kind === 'drop') return drop(tx, work)
  const waybill = act.waybill_number
  const [, , statuses, [order], [clock]] = await Promise.all([
    limitLockWait(tx),
    keepStatusSet(tx, tenant),
    findStatuses(tx, tenant),
    lockOrders(tx, tenant, [waybill], null),
    tx.rows<{ is_ahead: boolean }>(aheadSql, [new Date(act.happened_at)]),
  ])
  if (!order) return { code: 'unknown', message: 'The requested waybill does not exist in the system.' }
  if (clock?.is_ahead && work.override === undefined)
    return { code: 'clock', message: "The phone's clock is ahead: the act lies in the future." }
  const locked = { order, statuses, holder: (await findHolders(tx, tenant, [waybill])).get(waybill) }
  if (act.kind === 'take') return takeUp(tx, options, work, locked)
  if (locked.holder?.id !== rider.id && work.override === undefined) return refuseForeign(waybill, locked.holder)
  if (act.kind === 'hand_back') return handBack(tx, options, work, locked)
  return act.kind === 'fail' ? fail(tx, options, work, locked) : deliver(tx, options, work, locked)
}

const aheadSql = `select $1::timestamptz > clock_timestamp() + interval '2 minutes' as is_ahead`

const refuseForeign = (waybill: string, holder: Rider | undefined): Refusal =>
  holder
    ? { code: 'given_away', message: `${waybill} is with ${holder.name} now.` }
    : { code: 'not_with_you', message: `${waybill} is with nobody: the office took it back.` }

/** Refuses an act that the parcel's status does not allow, such as after its cash was counted. */
const refuseStatus = async (
  tx: Tx,
  { cash }: ActOptions,
  tenant: string,
  { order: { waybill_number: waybill, status_key }, statuses }: Locked,
  what: string,
): Promise<Refusal> => {
  const isCounted = await cash?.isHandedOver(tx, tenant, waybill)
  const why = isCounted ? 'the office has its cash already' : what
  const code = isCounted ? 'cash_handed_over' : 'moved'
  return { code, message: `${waybill} is ${nameStatus(status_key, statuses)}: ${why}.` }
}

const takeUp = async (tx: Tx, options: ActOptions, work: Work, locked: Locked): Promise<Refusal | undefined> => {
  const { tenant, rider, by, override } = work
  const { holder, order, statuses } = locked
  if (holder?.id === rider.id) return undefined
  if (holder && override === undefined) return refuseForeign(order.waybill_number, holder)
  if (override === undefined ? !isTakable(order.status_key, statuses) : isOver(order.status_key))
    return refuseStatus(tx, options, tenant, locked, 'no rider can take it')
  const path = findPath(order.status_key, 'delivery', statuses) ?? []
  const refusal = isTakable(order.status_key, statuses) && (await follow(tx, options, work, path.slice(0, -1)))
  if (refusal) return refusal
  await give(tx, { tenant, waybills: [order.waybill_number], rider, by: rider.name })
  await audit(tx, tenant, by, 'parcel.taken', `${order.waybill_number} to ${rider.id}`)
  return undefined
}

const handBack = async (
  tx: Tx,
  options: ActOptions,
  { tenant, rider, by }: Work,
  locked: Locked,
): Promise<Refusal | undefined> => {
  const { order, holder } = locked
  if (classifyStatus(order.status_key) === 'delivered')
    return refuseStatus(tx, options, tenant, locked, 'there is nothing to hand back')
  if (holder?.id !== rider.id) return undefined
  await take(tx, tenant, [order.waybill_number], rider.name)
  await audit(tx, tenant, by, 'parcel.handed_back', order.waybill_number)
  return undefined
}

const fail = async (tx: Tx, options: ActOptions, work: Work, locked: Locked): Promise<Refusal | undefined> => {
  const { act } = work
  if (act.reason_code === undefined) return { code: 'reason', message: 'State why the delivery failed.' }
  const path = findPath(locked.order.status_key, 'failure', locked.statuses)
  if (!path) return refuseStatus(tx, options, work.tenant, locked, 'a delivery cannot fail there')
  const unproven = await refuseUnproven(tx, work, locked, 'failed')
  return unproven ?? follow(tx, options, work, path, { reason_code: act.reason_code })
}

const deliver = async (tx: Tx, options: ActOptions, work: Work, locked: Locked): Promise<Refusal | undefined> => {
  const { act } = work
  const goal: Goal = act.partly ? 'partial_delivery' : 'delivery'
  const path = findPath(locked.order.status_key, goal, locked.statuses)
  if (!path) return refuseStatus(tx, options, work.tenant, locked, 'it cannot be delivered from there')
  const refusal = (await refuseUnproven(tx, work, locked, 'delivered')) ?? (options.cash && refuseAmount(work, locked))
  if (refusal) return refusal
  const { amount, method, reason = work.override } = act
  const paid = { amount, method, ...(amount !== locked.order.cod && { reason }) }
  const isPaid = options.cash !== undefined && amount !== undefined
  return follow(tx, options, work, path, isPaid ? { collected: { [act.waybill_number]: paid } } : {})
}

/** Refuses an amount that nobody stated, or that was asked by another COD. Money is never filled in. */
const refuseAmount = ({ act, override }: Work, { order }: Locked): Refusal | undefined => {
  const { amount, cod, reason } = act
  if (amount === undefined)
    return order.cod > 0 ? { code: 'amount', message: `State what was collected; the COD is ${order.cod}.` } : undefined
  const isAsked = amount === order.cod || reason !== undefined || override !== undefined
  return !isAsked && cod !== order.cod
    ? {
        code: 'cod_changed',
        message: `The COD of ${order.waybill_number} is ${order.cod} now; ${amount} was collected.`,
      }
    : undefined
}

const refuseUnproven = async (
  tx: Tx,
  { tenant, act, linkKeys, override }: Work,
  { order }: Locked,
  event: 'delivered' | 'failed',
): Promise<Refusal | undefined> => {
  if (override !== undefined) return undefined
  const { proof = {}, waybill_number: waybill } = act
  const needed = findNeeded(await readRules(tx, tenant), order.cod)[event]
  if (event === 'delivered' && proof.code !== undefined) {
    const [tries] = await tx.rows<{ wrong: number }>(wrongSql, [tenant, waybill])
    if ((tries?.wrong ?? 0) >= maxWrongCodes)
      return { code: 'code_blocked', message: `${maxWrongCodes} wrong codes: the office decides on ${waybill}.` }
    if (!isCode(linkKeys, waybill, proof.code))
      return { code: 'wrong_code', message: `The code is not that of ${waybill}.` }
  }
  const given: Readonly<Record<string, unknown>> = { ...proof, ...proof.follows, none: true }
  return given[needed] === undefined && proof.without === undefined
    ? { code: 'proof_missing', message: `The company wants this proof: ${needed}.` }
    : undefined
}

/** Counts the wrong codes on which the office has not decided. */
const wrongSql = `
  select count(*)::int as wrong from rider_acts where tenant_id = $1 and waybill_number = $2 and code = 'wrong_code'
    and coalesce(decision, 'dropped') = 'dropped'`

/** Moves the parcel along a path; `given` belongs to the last move. The rider is who moves it and has its cash. */
const follow = async (
  tx: Tx,
  options: ActOptions,
  { tenant, rider, by, act }: Work,
  path: readonly string[],
  given: Readonly<Record<string, unknown>> = {},
): Promise<Refusal | undefined> => {
  for (const [index, statusKey] of path.entries()) {
    const isLast = index === path.length - 1
    const about = { note: isLast ? (act.note ?? null) : null, given: isLast ? given : {} }
    const waybills = [act.waybill_number]
    const moved = await moveIn(tx, options, {
      tenant,
      mover: { staffName: rider.name },
      waybills,
      statusKey,
      by,
      ...about,
    })
    if (moved.kind === 'refused') return readErrors(moved.errors)
  }
  return undefined
}

const readErrors = (errors: Readonly<Record<string, readonly string[]>>): Refusal => {
  const [[path, [message]] = ['', ['']]] = Object.entries(errors) as [string, string[]][]
  const code = path === 'reason_code' ? 'reason' : path.startsWith('collected') ? 'amount' : 'moved'
  return { code, message: message ?? '' }
}

/** Ends the wait of a refused act; one that was decided meanwhile stays decided. */
const drop = async (tx: Tx, { tenant, rider, by, act }: Work): Promise<undefined> => {
  const { rowCount } = await tx.client.query(dropSql, [tenant, rider.id, act.act ?? '', rider.name])
  if (rowCount) await audit(tx, tenant, by, 'act.dropped', act.act ?? '')
}

const dropSql = `
  update rider_acts set decision = 'dropped', decided_at = now(), decided_by = $4
  where tenant_id = $1 and rider_id = $2::bigint and act_id = $3 and code is not null and decision is null`
