import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Static } from '@sinclair/typebox'
import { findPerson } from '../../core/access/find-staff.ts'
import { type Acted, type Call, checkEach, refuse, refuseAny } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameStatus } from '../../core/moves/check-moves.ts'
import { type ChangeOptions, limitLockWait, lockOrders, moveIn } from '../../core/moves/move.ts'
import { findStatuses } from '../../core/statuses/status-queries.ts'
import { classifyStatus, type Statuses } from '../../core/statuses/statuses.ts'
import { expect, logPickup, pickable, readPickups } from './requests.ts'
import type { Assignment, HandOver, Miss, Pickup } from './schema.ts'

const pickedUpKey = 'key_6'

/** Locks an open pickup, and returns it. */
const lockOpen = async (tx: Tx, tenant: string, id: string): Promise<Pickup | Acted<never>> => {
  await limitLockWait(tx)
  await tx.rows('select from pickups where tenant_id = $1 and pickup_id = $2::bigint for update', [tenant, id])
  const [pickup] = await readPickups(tx, tenant, { id })
  if (!pickup) return { kind: 'unknown', what: 'pickup' }
  return pickup.state === 'open' ? pickup : refuse('pickup', `The pickup is ${pickup.state} already.`)
}

const finish = async (tx: Tx, tenant: string, id: string, what?: string, actor = 'staff'): Promise<Acted<Pickup>> => {
  if (what) await logPickup(tx, tenant, id, what, actor)
  return { kind: 'done', data: (await readPickups(tx, tenant, { id }))[0] as Pickup, objects: [id] }
}

export const assignPickup = async (
  tx: Tx,
  { tenant, id, body }: Call<Static<typeof Assignment>>,
): Promise<Acted<Pickup>> => {
  const found = await findPerson(tx, tenant, body.rider, { role: 'rider' })
  if (found.kind === 'refused') return refuse('rider', found.sentence)
  const pickup = await lockOpen(tx, tenant, id)
  if ('kind' in pickup) return pickup
  if (pickup.rider?.id === found.id) return { kind: 'done', data: pickup, objects: [] }
  await tx.client.query('update pickups set rider_id = $3 where tenant_id = $1 and pickup_id = $2::bigint', [
    tenant,
    id,
    found.id,
  ])
  return finish(tx, tenant, id, 'assigned')
}

const endSql = `
  update pickups set state = $3, ended_at = now(), ended_by = $4, reason = $5
  where tenant_id = $1 and pickup_id = $2::bigint`

const daySql = `
  select time_zone, $2::date > (now() at time zone time_zone)::date as is_early from tenants where tenant_id = $1`

/** Ends an open pickup, whose local day has begun, without parcels. */
export const missPickup = async (
  tx: Tx,
  { tenant, id, by, body }: Call<Static<typeof Miss>>,
): Promise<Acted<Pickup>> => {
  const pickup = await lockOpen(tx, tenant, id)
  if ('kind' in pickup) return pickup
  const [day] = await tx.rows<{ time_zone: string; is_early: boolean }>(daySql, [tenant, pickup.day])
  const when = `from then on, in ${day?.time_zone}, it can be missed.`
  if (day?.is_early) return refuse('pickup', `The day of the pickup is ${pickup.day}: ${when}`)
  await tx.client.query(endSql, [tenant, id, 'missed', by.name, body.reason])
  return finish(tx, tenant, id, 'missed')
}

/** Withdraws an open pickup of the merchant. */
export const withdrawPickup = async (tx: Tx, { tenant, merchantId, id }: Call<unknown>): Promise<Acted<Pickup>> => {
  const pickup = await lockOpen(tx, tenant, id)
  if ('kind' in pickup && pickup.kind !== 'refused') return pickup
  const [own] = await readPickups(tx, tenant, { id, merchantId: merchantId ?? '' })
  if (!own) return { kind: 'unknown', what: 'pickup' }
  if ('kind' in pickup) return pickup
  await tx.client.query(endSql, [tenant, id, 'withdrawn', null, null])
  return finish(tx, tenant, id)
}

/** Moves what was handed over, and stores how it differs from what was expected. */
export const handOver = async (
  tx: Tx,
  options: ChangeOptions,
  { tenant, id, by, body }: Call<Static<typeof HandOver>>,
): Promise<Acted<Pickup>> => {
  const pickup = await lockOpen(tx, tenant, id)
  if ('kind' in pickup) return pickup
  const { waybill_numbers: scanned, status_key: goal = pickedUpKey } = body
  const orders = await lockOrders(tx, tenant, scanned, String(pickup.merchant.id))
  const [statuses, { expected }] = [await findStatuses(tx, tenant), await expect(tx, tenant, pickup)]
  if (!statuses.has(goal))
    return refuse('status_key', `The set of statuses has no ${goal}: state the status of a picked up parcel.`)
  const ways = new Map<string, string[]>()
  const keys = new Map(orders.map(order => [order.waybill_number, order.status_key]))
  const errors = checkEach(scanned, waybill => {
    const key = keys.get(waybill)
    if (key === undefined) return `${waybill} is no parcel of ${pickup.merchant.name}: give it back.`
    // Somebody received it before the pickup was counted.
    const isAhead = pickup.waybill_numbers.includes(waybill) && !pickable.includes(key)
    const way = isAhead && classifyStatus(key) === 'under_way' ? [] : findWay(key, goal, statuses)
    if (!way) return `${waybill} is ${nameStatus(key, statuses)}: it cannot be picked up.`
    ways.set(waybill, way)
  })
  const refusal = refuseAny(errors) ?? (await follow(tx, options, { tenant, by, scanned, ways, note: `Pickup ${id}` }))
  if (refusal) return refusal
  const missing = expected.filter(waybill => !ways.has(waybill))
  const known = new Set([...expected, ...pickup.waybill_numbers])
  const extra = scanned.filter(waybill => !known.has(waybill))
  await tx.client.query(endSql, [tenant, id, 'done', by.name, null])
  await tx.client.query(countSql, [tenant, id, scanned, missing, extra])
  return finish(tx, tenant, id, 'done')
}

const countSql = `
  update pickups set scanned = $3, missing = $4, extra = $5 where tenant_id = $1 and pickup_id = $2::bigint`

const maxMoves = 3

/** Finds the shortest legal moves from a confirmed parcel's status to the goal, without leaving the merchant before. */
const findWay = (from: string, goal: string, statuses: Statuses): string[] | undefined => {
  let ways: string[][] = pickable.includes(from) ? [[]] : []
  for (let moves = 1; moves <= maxMoves; moves++) {
    ways = ways.flatMap(way => (statuses.get(way.at(-1) ?? from)?.moves ?? []).map(key => [...way, key]))
    const reached = ways.find(way => way.at(-1) === goal)
    if (reached) return reached
    ways = ways.filter(way => pickable.includes(way.at(-1) ?? ''))
  }
  return undefined
}

interface Work extends Pick<Call<unknown>, 'tenant' | 'by'> {
  readonly scanned: readonly string[]
  readonly ways: ReadonlyMap<string, readonly string[]>
  readonly note: string
}

/** Moves the parcels, whose orders are locked, those with the same way together. */
const follow = async (tx: Tx, options: ChangeOptions, { tenant, by, scanned, ways, note }: Work) => {
  for (const path of new Set([...ways.values()].map(way => way.join(' ')))) {
    const waybills = scanned.filter(waybill => ways.get(waybill)?.join(' ') === path)
    for (const statusKey of path.split(' ').filter(Boolean)) {
      const moved = await moveIn(tx, options, { tenant, mover: { staffName: by.name }, waybills, statusKey, note, by })
      if (moved.kind === 'refused') return refuseAny(nameScanned(moved.errors, waybills, scanned))
    }
  }
  return undefined
}

/** Names the waybills of a move by their place among all that were scanned. */
const nameScanned = (errors: FieldErrors, waybills: readonly string[], scanned: readonly string[]): FieldErrors =>
  Object.fromEntries(
    Object.entries(errors).map(([path, sentences]) => {
      const [field, index] = path.split('.')
      return [index === undefined ? path : `${field}.${scanned.indexOf(waybills[Number(index)] ?? '')}`, sentences]
    }),
  )
