import { readStaffKey } from '@courier/shared/access/staff.ts'
import { IdempotentHeaders, keyRefused, markReplayed, readIdempotencyKey } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { cancelledKey, confirmedKey } from '../statuses/statuses.ts'
import { type ChangeOptions, type Move, moveOrders } from './move.ts'
import {
  Cancellation,
  Confirmation,
  defineStatusMove,
  MovedOrders,
  maxMoveBytes,
  type StatusMove,
} from './move-schema.ts'

export const staffMoveRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, options) => {
  const schema = {
    operationId: 'moveOrders',
    summary: 'Move orders to a status',
    description: 'Moves all orders in the list, or none, and then lists every error. Makes only legal moves.',
    body: defineStatusMove(options.movePoints),
  }
  const route = { path: '/order/status', message: 'Order Status Updated Successfully' }
  addMove(app, options, { ...route, schema }, request => {
    const { tenant, name: staffName, actor: by } = request.staff
    const body = request.body as StatusMove
    return {
      tenant,
      mover: { staffName },
      waybills: body.waybill_numbers,
      statusKey: body.status_key.trim(),
      note: body.note?.trim() || null,
      given: body,
      key: readStaffKey(request, 'staff order/status'),
      by,
    }
  })
}

const merchantRoutes = [
  {
    name: 'order/confirm',
    statusKey: confirmedKey,
    body: Confirmation,
    message: 'Orders Confirmed Successfully',
    operationId: 'confirmOrders',
    summary: 'Confirm drafts',
    description: 'Confirms all orders in the list, which must be drafts, or none, and then lists every error.',
  },
  {
    name: 'order/cancel',
    statusKey: cancelledKey,
    body: Cancellation,
    message: 'Orders Cancelled Successfully',
    operationId: 'cancelOrders',
    summary: 'Cancel orders before their pickup',
    description:
      'Cancels all orders in the list, which must be drafts or confirmed, or none, and then lists every error.',
  },
]

export const merchantMoveRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, options) => {
  for (const { name, statusKey, message, ...schema } of merchantRoutes)
    addMove(app, options, { path: `/${name}`, message, schema }, request => {
      const { tenant, merchantId, person } = request.merchant
      const { waybill_numbers: waybills } = request.body as Static<typeof Confirmation>
      const key = readIdempotencyKey(request, `merchant ${merchantId} ${name}`)
      return { tenant, mover: { merchantId, person }, waybills, statusKey, note: null, key }
    })
}

const addMove = (
  app: FastifyInstance,
  options: ChangeOptions,
  { path, message, schema: about }: { path: string; message: string; schema: FastifySchema },
  read: (request: FastifyRequest) => Move,
) => {
  acceptJson(app)
  const schema = { ...about, headers: IdempotentHeaders, response: { 200: MovedOrders(message) } }
  app.post(path, { bodyLimit: maxMoveBytes, schema }, async (request, reply) => {
    const wanted = read(request)
    const result = await moveOrders(options, { ...wanted, traceparent: request.traceparent })
    if (result.kind === 'refused') throw invalid(result.errors)
    if (result.kind !== 'moved') throw keyRefused(result.kind, 'list')
    markReplayed(reply, result.replayed)
    if (!result.replayed) {
      options.onChanged(wanted.tenant)
      request.log.info({ orders: result.waybills.length, status_key: wanted.statusKey }, 'orders.moved')
    }
    return { message, data: [...result.waybills] }
  })
}
