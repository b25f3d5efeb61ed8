import { DomainError, errorAnswers, invalid } from '@courier/shared/http/errors.ts'
import { acceptJson, bytesOf } from '@courier/shared/http/json-body.ts'
import { staffOf } from '@courier/shared/http/staff.ts'
import { fingerprint, type IdempotencyKey } from '@courier/shared/idempotency.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { merchantOf } from '../access/merchant.ts'
import { type Move, type Moved, moveOrders } from './move.ts'
import { Cancellation, MovedOrders, MoveHeaders, StatusMove } from './move-schema.ts'
import { cancelledKey } from './statuses.ts'

export interface MovesOptions {
  pool: pg.Pool
  /** Told that orders were moved: the notifier is to hear of it. */
  onMoved: (tenant: string) => void
}

const security = [{ token: [] }]
const failures = errorAnswers(400, 401, 405, 409, 413, 415, 422, 429, 503)
const updated = 'Order Status Updated Successfully'
const cancelled = 'Orders Cancelled Successfully'

/** The call by which staff moves orders. */
export const staffMoves: FastifyPluginAsyncTypebox<MovesOptions> = async (app, options) => {
  acceptJson(app)
  app.post(
    '/order/status',
    {
      schema: {
        tags: ['staff'],
        summary: 'Move orders to a status',
        description: 'Legal moves only. Moves every order of the list, or none and says everything that is wrong.',
        security,
        headers: MoveHeaders,
        body: StatusMove,
        response: { 200: MovedOrders(updated), ...failures },
      },
    },
    async (request, reply) => {
      const { tenant, name, actor: by } = staffOf(request)
      const { waybill_numbers, status_key, note } = request.body
      const key = keyOf(request, 'staff order/status')
      const mover = { staffName: name }
      const move = { tenant, mover, waybills: trimmed(waybill_numbers), statusKey: status_key.trim() }
      return answer(options, { ...move, note: note?.trim() || null, key, by }, updated, request, reply)
    },
  )
}

/** The call by which a merchant cancels orders of its own. */
export const cancelling: FastifyPluginAsyncTypebox<MovesOptions> = async (app, options) => {
  acceptJson(app)
  app.post(
    '/order/cancel',
    {
      schema: {
        tags: ['orders'],
        summary: 'Cancel orders that were not picked up',
        description:
          'Drafts and confirmed orders alone. Cancels every order of the list, or none and says what is wrong.',
        security,
        headers: MoveHeaders,
        body: Cancellation,
        response: { 200: MovedOrders(cancelled), ...failures },
      },
    },
    async (request, reply) => {
      const { tenant, merchantId } = merchantOf(request)
      const key = keyOf(request, `merchant ${merchantId} order/cancel`)
      const waybills = trimmed(request.body.waybill_numbers)
      const move = { tenant, mover: { merchantId }, waybills, statusKey: cancelledKey, note: null, key }
      return answer(options, move, cancelled, request, reply)
    },
  )
}

const trimmed = (texts: readonly string[]): string[] => texts.map(text => text.trim())

const keyOf = (request: FastifyRequest, scope: string): IdempotencyKey | undefined => {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? { scope, key, fingerprint: fingerprint(bytesOf(request.body)) } : undefined
}

const answer = async (
  { pool, onMoved }: MovesOptions,
  move: Move,
  message: string,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const result = await moveOrders(pool, move)
  if (result.kind === 'moved' && !result.replayed) {
    onMoved(move.tenant)
    request.log.info({ orders: result.waybills.length, status_key: move.statusKey }, 'orders.moved')
  }
  return { message, data: moved(result, reply) }
}

const moved = (result: Moved, reply: FastifyReply): string[] => {
  switch (result.kind) {
    case 'moved':
      if (result.replayed) reply.header('idempotency-replayed', 'true')
      return [...result.waybills]
    case 'refused':
      throw invalid(result.faults)
    case 'running':
      throw new DomainError('conflict', 'A call with this Idempotency-Key is running. Repeat it for its answer.', {
        retryAfterSeconds: 1,
      })
    case 'other_body':
      throw invalid({
        'idempotency-key': ['This Idempotency-Key came with another body before. Use a new key for a new list.'],
      })
  }
}
