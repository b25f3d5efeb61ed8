import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { addAction, defineBody, maxListBytes } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { isWaybill } from '../../core/tracking/read-orders.ts'
import type { ActOptions } from './acts.ts'
import { Assigned, Assignment, assign, Numbers, Unassigned, Unassignment, unassign } from './assign.ts'
import { lookUp, readMyParcels, sortParcels } from './my-parcels.ts'
import { findRider, listRiders } from './riders.ts'
import { runActs } from './run-acts.ts'
import { ActOutcome, Acts, MyParcels, maxActBytes } from './schema.ts'

/** Lets dispatchers give parcels to riders. */
export const assignRoutes: FastifyPluginAsyncTypebox<ActOptions> = async (app, core) => {
  acceptJson(app)
  const { pool } = core
  addAction(app, pool, {
    path: '/order/assign',
    operationId: 'assignParcels',
    action: 'parcel.assigned',
    summary: 'Give parcels to a rider',
    description: 'Gives all parcels in the list, whoever has them, or none, and then lists every error.',
    message: 'Parcels Assigned Successfully',
    body: Assignment,
    data: Assigned,
    act: assign,
  })
  addAction(app, pool, {
    path: '/order/unassign',
    operationId: 'unassignParcels',
    action: 'parcel.unassigned',
    summary: 'Take parcels from their riders',
    description: 'Takes all parcels in the list, or none, and then lists every error.',
    message: 'Parcels Unassigned Successfully',
    body: Unassignment,
    data: Unassigned,
    act: unassign,
  })
  const count = Type.Integer({ examples: [12] })
  const RiderDay = Type.Object(
    {
      id: Type.String({ examples: ['7'] }),
      name: Type.String({ examples: ['Nimal'] }),
      is_active: Type.Boolean({ description: 'False: somebody who left, and whose parcels or acts wait.' }),
      to_do: count,
      done: Type.Integer({ description: 'Delivered today.', examples: [9] }),
      failed: Type.Integer({ description: 'Not delivered, and still with the rider.', examples: [1] }),
      refused: Type.Integer({ description: 'Acts that wait for your decision.', examples: [0] }),
      cash: orNull(Type.Number(), { description: 'The cash of parcels; null: no money is booked.', examples: [31000] }),
      last_act_at: orNull(Type.String()),
    },
    { title: 'RiderDay' },
  )
  const schema = {
    operationId: 'listRiders',
    summary: 'List the riders with their day',
    response: { 200: Type.Object({ data: Type.Array(RiderDay) }) },
  }
  app.get('/riders', { schema }, async ({ staff: { tenant } }) => {
    const [riders, held] = await inTenant(pool, tenant, (tx: Tx) =>
      Promise.all([listRiders(tx, tenant), core.cash?.read(tx, tenant)]),
    )
    const sums = new Map(held?.map(({ name, amount }) => [name, amount]))
    return { data: riders.map(rider => ({ ...rider, cash: held ? (sums.get(rider.name) ?? 0) : null })) }
  })
}

const WaybillParams = Type.Object({ waybill: Type.String({ maxLength: 100, description: 'The waybill number.' }) })

/** Serves a rider's phone: its own parcels, and nothing else of the company. */
export const riderRoutes: FastifyPluginAsyncTypebox<ActOptions> = async (app, core) => {
  acceptJson(app)
  const { pool } = core
  const list = {
    operationId: 'listMyParcels',
    summary: 'List the parcels that you have, with what your page needs',
    response: { 200: Type.Object({ data: MyParcels }) },
  }
  app.get('/rider/parcels', { schema: list }, async ({ staff }) => ({ data: await readMyParcels(core, staff) }))
  const LookedUp = Type.Object(
    {
      waybill_number: Type.String({ examples: ['DM00000001'] }),
      with: oneOf(['you', 'nobody', 'other']),
      rider: orNull(Type.String(), { description: 'Who else has it.', examples: [null] }),
      can_take: Type.Boolean(),
    },
    { title: 'LookedUpParcel' },
  )
  const one = {
    operationId: 'lookUpMyParcel',
    summary: 'Ask who has a parcel',
    params: WaybillParams,
    response: { 200: Type.Object({ data: LookedUp }) },
  }
  app.get('/rider/parcels/:waybill', { schema: one }, async ({ staff: { tenant, tokenId }, params: { waybill } }) => {
    const data = isWaybill.test(waybill)
      ? await inTenant(pool, tenant, async (tx: Tx) =>
          lookUp(tx, tenant, waybill, await findRider(tx, tenant, tokenId)),
        )
      : undefined
    if (!data) throw notFound('waybill')
    return { data }
  })
  const Sequence = defineBody('Sequence', { waybill_numbers: { ...Numbers, description: 'In the sequence wanted.' } })
  const sort = {
    operationId: 'sortMyParcels',
    summary: 'Store the sequence of your parcels',
    description: 'Ignores parcels that you do not have.',
    body: Sequence,
    response: {
      200: Type.Object({
        message: Type.Literal('success'),
        data: Type.Object({ sorted: Type.Integer({ examples: [12] }) }),
      }),
    },
  }
  app.post('/rider/sequence', { ...refusesKeys, bodyLimit: maxListBytes, schema: sort }, async request => {
    const {
      staff: { tenant, tokenId },
      body,
    } = request
    const sorted = await inTenant(pool, tenant, async (tx: Tx) =>
      sortParcels(tx, tenant, await findRider(tx, tenant, tokenId), body.waybill_numbers),
    )
    return { message: 'success' as const, data: { sorted } }
  })
  app.post('/rider/acts', { ...refusesKeys, bodyLimit: maxActBytes, schema: actsSchema }, async request => {
    const { tenant, tokenId } = request.staff
    const rider = await inTenant(pool, tenant, (tx: Tx) => findRider(tx, tenant, tokenId))
    const { linkKeys } = await core.catalogues.current(tenant)
    const data = await runActs(core, { tenant, rider, by: request.staff.actor, linkKeys }, request.body.acts)
    if (data.some(({ replayed }) => !replayed)) core.onChanged(tenant)
    const refused = data.filter(({ outcome }) => outcome === 'refused').length
    request.log.info({ acts: data.length, refused }, 'acts.applied')
    return { data }
  })
}

const actsSchema = {
  operationId: 'sendActs',
  summary: 'Send what you did',
  description:
    'Applies the acts in order, each once for its id. Send those without an outcome again, in the same order.',
  body: Acts,
  response: { 200: Type.Object({ data: Type.Array(ActOutcome, { description: 'In the order of the request.' }) }) },
}
