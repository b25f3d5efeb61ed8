import { type Static, Type } from '@sinclair/typebox'
import { findPerson } from '../../core/access/find-staff.ts'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../core/actions/action.ts'
import { textField } from '../../core/actions/fields.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameStatus } from '../../core/moves/check-moves.ts'
import { limitLockWait, lockOrders } from '../../core/moves/move.ts'
import { waybillNumbers } from '../../core/moves/move-schema.ts'
import { findStatuses } from '../../core/statuses/status-queries.ts'
import { isOver } from './paths.ts'
import { findName, type Rider } from './riders.ts'

// Gives parcels to riders and takes them away (docs/staff/riders.md).

export const maxAssigned = 500
const examples = [['DM00000001', 'DM00000002']]
export const Numbers = { ...waybillNumbers(maxAssigned, 'All of them, or none.'), examples }

export const Assignment = defineBody('Assignment', {
  waybill_numbers: Numbers,
  rider: {
    ...textField(200, 'be the name of a person', 'Nimal'),
    description: 'The id or the name of a member of staff with the role rider.',
  },
  position: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: "The place of the first parcel in the rider's list. Default: after the parcels that have a place.",
    }),
  ),
})
export const Unassignment = defineBody('Unassignment', { waybill_numbers: Numbers })

const given = { waybill_number: Type.String({ examples: ['DM00000001'] }) }
const Former = Type.Union([Type.String(), Type.Null()], { description: 'Who had it; null: nobody.', examples: [null] })
export const Assigned = Type.Object(
  {
    rider: Type.Object({ id: Type.String({ examples: ['7'] }), name: Type.String({ examples: ['Nimal'] }) }),
    parcels: Type.Array(Type.Object({ ...given, former: Former })),
  },
  { title: 'Assigned' },
)
export const Unassigned = Type.Object(
  { parcels: Type.Array(Type.Object({ ...given, former: Former })) },
  { title: 'Unassigned' },
)

/** Gives all parcels to a rider, whoever has them, or none. */
export const assign = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof Assignment>>,
): Promise<Acted<Static<typeof Assigned>>> => {
  const { waybill_numbers: waybills, position } = body
  const found = await findPerson(tx, tenant, body.rider, { role: 'rider' })
  if (found.kind === 'refused') return refuse('rider', found.sentence)
  const rider = { id: found.id ?? '', name: found.name }
  const [, orders, statuses] = await Promise.all([
    limitLockWait(tx),
    lockOrders(tx, tenant, waybills, null),
    findStatuses(tx, tenant),
  ])
  const keys = new Map(orders.map(order => [order.waybill_number, order.status_key]))
  const errors = checkEach(waybills, waybill => {
    const key = keys.get(waybill)
    if (key === undefined) return 'The requested waybill does not exist in the system.'
    return isOver(key) && `${waybill} is ${nameStatus(key, statuses)}: nobody carries it any more.`
  })
  const refusal = refuseAny(errors)
  if (refusal) return refusal
  const before = await findHolders(tx, tenant, waybills)
  await give(tx, { tenant, waybills, rider, position, by: by.name })
  const parcels = nameFormer(waybills, before)
  return { kind: 'done', data: { rider, parcels }, objects: waybills.map(waybill => `${waybill} to ${rider.id}`) }
}

/** Takes all parcels from their riders, or none. */
export const unassign = async (
  tx: Tx,
  { tenant, by, body: { waybill_numbers: waybills } }: Call<Static<typeof Unassignment>>,
): Promise<Acted<Static<typeof Unassigned>>> => {
  await Promise.all([limitLockWait(tx), lockOrders(tx, tenant, waybills, null)])
  const before = await findHolders(tx, tenant, waybills)
  const refusal = refuseAny(checkEach(waybills, waybill => !before.has(waybill) && `No rider has ${waybill}.`))
  if (refusal) return refusal
  await take(tx, tenant, waybills, by.name)
  const parcels = nameFormer(waybills, before)
  return { kind: 'done', data: { parcels }, objects: waybills }
}

const nameFormer = (waybills: readonly string[], before: ReadonlyMap<string, Rider>) =>
  waybills.map(waybill => ({ waybill_number: waybill, former: before.get(waybill)?.name ?? null }))

/** Finds who has parcels, by waybill. Whoever decides on the answer has locked the orders. */
export const findHolders = async (tx: Tx, tenant: string, waybills: readonly string[]) => {
  const query = { name: 'find_holders', text: holdersSql, values: [tenant, waybills] }
  const rows = await tx.rows<Rider & { waybill_number: string }>(query)
  return new Map<string, Rider>(rows.map(({ waybill_number, ...rider }) => [waybill_number, rider]))
}

const holdersSql = `
  select waybill_number, rider_id::text as id, coalesce(${findName('rider_id')}, '') as name
  from rider_parcels where tenant_id = $1 and waybill_number = any($2::text[])`

interface Given {
  readonly tenant: string
  readonly waybills: readonly string[]
  readonly rider: Rider
  readonly position?: number | undefined
  readonly by: string
}

/** Gives parcels, whose orders are locked, to a rider. Whoever had one of them already keeps its place by default. */
export const give = async (tx: Tx, { tenant, waybills, rider, position, by }: Given): Promise<void> => {
  await tx.client.query(noteSql, [tenant, waybills, rider.id, by])
  await tx.client.query(giveSql, [tenant, waybills, rider.id, position ?? null, by])
}

const noteSql = `
  insert into rider_changes (tenant_id, waybill_number, rider_id, former_id, changed_at, changed_by)
  select $1, given.waybill_number, $3::bigint, former.rider_id, clock_timestamp(), $4
  from unnest($2::text[]) as given (waybill_number)
    left join rider_parcels former on former.tenant_id = $1 and former.waybill_number = given.waybill_number
  where former.rider_id is distinct from $3::bigint returning tenant_id`

const giveSql = `
  insert into rider_parcels as parcel (tenant_id, waybill_number, rider_id, position, assigned_at, assigned_by)
  select $1, waybill_number, $3::bigint, $4::int - 1 + number, now(), $5
  from unnest($2::text[]) with ordinality as given (waybill_number, number)
  on conflict (tenant_id, waybill_number) do update set rider_id = excluded.rider_id,
    position = coalesce(excluded.position, case when parcel.rider_id = excluded.rider_id then parcel.position end),
    assigned_at = excluded.assigned_at, assigned_by = excluded.assigned_by`

/** Takes parcels, whose orders are locked, from their riders. */
export const take = (tx: Tx, tenant: string, waybills: readonly string[], by: string) =>
  tx.client.query(takeSql, [tenant, waybills, by])

const takeSql = `
  with taken as (
    delete from rider_parcels where tenant_id = $1 and waybill_number = any($2::text[])
      returning waybill_number, rider_id
  )
  insert into rider_changes (tenant_id, waybill_number, former_id, changed_at, changed_by)
  select $1, waybill_number, rider_id, clock_timestamp(), $3 from taken returning tenant_id`
