import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { oneOf } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { addAction, refuseValues } from '../../core/actions/action.ts'
import { Day } from '../../core/actions/fields.ts'
import type { Tx } from '../../core/database/tables.ts'
import { assignPickup, handOver, missPickup } from './hand-over.ts'
import { type PickupOptions, receiptResponse, sendReceipt } from './receipt.ts'
import { expect, readPickups } from './requests.ts'
import { Assignment, Expectation, HandOver, IdParams, Miss, Pickup, states } from './schema.ts'

const Query = Type.Object({
  state: Type.Optional(oneOf(states)),
  day: Type.Optional(Day),
  city_id: Type.Optional(Type.String({ maxLength: 9, pattern: '^[0-9]+$', must: 'be an id', examples: ['1500'] })),
})

/** Lets staff assign pickups and count what is handed over (docs/staff/pickups.md). */
export const staffPickupRoutes: FastifyPluginAsyncTypebox<PickupOptions> = async (app, core) => {
  const { pool, onChanged: onDone } = core
  acceptJson(app)
  const list = {
    operationId: 'listAllPickups',
    summary: 'List up to 500 pickups by day and city',
    querystring: Query,
    response: { 200: Type.Object({ data: Type.Array(Pickup) }) },
  }
  app.get('/pickup', { schema: list }, async ({ staff: { tenant }, query }) => {
    refuseValues(Query.properties, query)
    const { city_id, ...rest } = query
    const cityId = city_id === undefined ? undefined : Number(city_id)
    return { data: await inTenant(pool, tenant, (tx: Tx) => readPickups(tx, tenant, { ...rest, cityId })) }
  })
  const one = {
    operationId: 'getAnyPickup',
    summary: 'Read a pickup, with what is to be handed over now',
    params: IdParams,
    response: { 200: Type.Object({ data: Expectation }) },
  }
  app.get('/pickup/:id', { schema: one }, async ({ staff: { tenant }, params: { id } }) => {
    const data = await inTenant(pool, tenant, async (tx: Tx) => {
      const [pickup] = await readPickups(tx, tenant, { id })
      return pickup && expect(tx, tenant, pickup)
    })
    if (!data) throw notFound('pickup')
    return { data }
  })
  const receipt = {
    operationId: 'printAnyPickupReceipt',
    summary: 'Print the receipt of a pickup that is done',
    params: IdParams,
    response: receiptResponse,
  }
  app.get('/pickup/:id/receipt', { schema: receipt }, ({ staff: { tenant }, params: { id } }, reply) =>
    sendReceipt(core, reply, { tenant, id }),
  )
  const common = { params: IdParams, data: Pickup, onDone }
  addAction(app, pool, {
    ...common,
    path: '/pickup/:id/assign',
    operationId: 'assignPickup',
    action: 'pickup.assigned',
    summary: 'Assign a pickup to a rider',
    message: 'Pickup Assigned Successfully',
    body: Assignment,
    act: assignPickup,
  })
  addAction(app, pool, {
    ...common,
    path: '/pickup/:id/done',
    operationId: 'finishPickup',
    action: 'pickup.done',
    summary: 'Count what was handed over, and move it to picked up',
    description: 'Moves all parcels in the list, or none, and then lists every error. Says what is missing and extra.',
    message: 'Pickup Done Successfully',
    body: HandOver,
    act: (tx, call) => handOver(tx, core, call),
  })
  addAction(app, pool, {
    ...common,
    path: '/pickup/:id/missed',
    operationId: 'missPickup',
    action: 'pickup.missed',
    summary: 'Say why nothing was picked up',
    message: 'Pickup Missed',
    body: Miss,
    act: missPickup,
  })
}
