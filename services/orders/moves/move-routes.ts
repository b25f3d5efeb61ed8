import { IdempotentHeaders, idempotencyKeyOf, keyRefused, markReplayed } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { cancelledKey, confirmedKey } from '../statuses/statuses.ts'
import { type Move, type Moved, moveOrders } from './move.ts'
import { Cancellation, Confirmation, MovedOrders, maxMoveBytes, StatusMove } from './move-schema.ts'

interface MovesOptions {
  pool: pg.Pool
  /** Called after orders moved, for the relay. */
  onChanged: (tenant: string) => void
}

const security = [{ token: [] }]
const failures = errorResponses(400, 401, 405, 409, 413, 415, 422, 429, 503)
const updated = 'Order Status Updated Successfully'

/** Moves orders, for staff. */
export const staffMoveRoutes: FastifyPluginAsyncTypebox<MovesOptions> = async (app, options) => {
  acceptJson(app)
  app.post(
    '/order/status',
    {
      bodyLimit: maxMoveBytes,
      schema: {
        tags: ['staff'],
        operationId: 'moveOrders',
        summary: 'Move orders to a status',
        description: 'Legal moves only. Moves every order of the list, or none and lists every error.',
        security,
        headers: IdempotentHeaders,
        body: StatusMove,
        response: { 200: MovedOrders(updated), ...failures },
      },
    },
    async (request, reply) => {
      const { tenant, name, actor: by } = request.staff
      const { waybill_numbers, status_key, note } = request.body
      const key = idempotencyKeyOf(request, 'staff order/status')
      const mover = { staffName: name }
      const target = { tenant, mover, waybills: waybill_numbers, statusKey: status_key.trim() }
      return move(options, { ...target, note: note?.trim() || null, key, by }, updated, request, reply)
    },
  )
}

const ownMoves = [
  {
    name: 'order/confirm',
    statusKey: confirmedKey,
    body: Confirmation,
    message: 'Orders Confirmed Successfully',
    operationId: 'confirmOrders',
    summary: 'Confirm drafts',
    description: 'Drafts only. Confirms every order of the list, or none and lists every error.',
  },
  {
    name: 'order/cancel',
    statusKey: cancelledKey,
    body: Cancellation,
    message: 'Orders Cancelled Successfully',
    operationId: 'cancelOrders',
    summary: 'Cancel orders that were not picked up',
    description: 'Drafts and confirmed orders only. Cancels every order of the list, or none and lists every error.',
  },
]

/** Confirms or cancels a merchant's own orders. */
export const merchantMoveRoutes: FastifyPluginAsyncTypebox<MovesOptions> = async (app, options) => {
  acceptJson(app)
  for (const { name, statusKey, body, message, ...about } of ownMoves)
    app.post(
      `/${name}`,
      {
        bodyLimit: maxMoveBytes,
        schema: {
          tags: ['orders'],
          ...about,
          security,
          headers: IdempotentHeaders,
          body,
          response: { 200: MovedOrders(message), ...failures },
        },
      },
      async (request, reply) => {
        const { tenant, merchantId } = request.merchant
        const key = idempotencyKeyOf(request, `merchant ${merchantId} ${name}`)
        const { waybill_numbers: waybills } = request.body
        return move(
          options,
          { tenant, mover: { merchantId }, waybills, statusKey, note: null, key },
          message,
          request,
          reply,
        )
      },
    )
}

const move = async (
  { pool, onChanged }: MovesOptions,
  wanted: Move,
  message: string,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const result = await moveOrders(pool, { ...wanted, traceparent: request.traceparent })
  if (result.kind === 'moved' && !result.replayed) {
    onChanged(wanted.tenant)
    request.log.info({ orders: result.waybills.length, status_key: wanted.statusKey }, 'orders.moved')
  }
  return { message, data: moved(result, reply) }
}

const moved = (result: Moved, reply: FastifyReply): string[] => {
  switch (result.kind) {
    case 'moved':
      markReplayed(reply, result.replayed)
      return [...result.waybills]
    case 'refused':
      throw invalid(result.errors)
    case 'running':
    case 'other_body':
      throw keyRefused(result.kind, 'list')
  }
}
