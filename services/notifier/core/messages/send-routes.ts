import { readStaffKey } from '@courier/shared/access/staff.ts'
import { IdempotentHeaders, keyRefused, markReplayed, refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { errorResponses, type HttpError, invalid } from '@courier/shared/errors/errors.ts'
import type { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MessageStatus, Tx } from '../database/tables.ts'
import { maxMessageBytes } from '../messaging-api/message-template.ts'
import { ordersUnavailable } from '../orders-client/orders-client.ts'
import { acceptBodies, type WaybillDependencies } from './about-waybill.ts'
import type { Acceptance } from './accept.ts'
import { cancelMessage, fillAgain, resendMessage } from './change.ts'
import { wereEdited } from './edits.ts'
import { ById, readMessage } from './list-routes.ts'
import { AcceptedMessage, type Batch, createBatchReader, MessageBodies, MessageBody, toBatch } from './schema.ts'
import type { MessageFacet } from './view.ts'
import { defineViews } from './view.ts'

const describeAccepted = <S extends TSchema>(data: S, title: string, message: string) =>
  Type.Object(
    { message: Type.String({ examples: [message] }), data },
    { title, description: 'Everything in `data` is committed and will be sent.' },
  )
export const OneAccepted = describeAccepted(AcceptedMessage, 'MessageAccepted', 'The message is queued.')
const AllAccepted = describeAccepted(Type.Array(AcceptedMessage), 'MessagesAccepted', '2 messages are queued.')

interface SendOptions extends WaybillDependencies {
  readonly facets: readonly MessageFacet[]
  readonly onQueued: () => void
}

export const sendRoutes: FastifyPluginAsyncTypebox<SendOptions> = async (app, options) => {
  const { pool, facets, onQueued, maxMessages = 1000, maxBodyBytes = 5_242_880 } = options
  const limitBytes = (messages: number) => Math.min(maxBodyBytes, messages * maxMessageBytes)
  const accept = async (request: FastifyRequest, reply: FastifyReply, batch: Batch<MessageBody>, scope: string) => {
    const { tenant, actor: by } = request.staff
    const origin = { key: readStaffKey(request, scope), by, traceparent: request.traceparent }
    const messages = readAccepted(await acceptBodies(options, tenant, batch, origin), reply)
    onQueued()
    request.log.info({ messages: messages.length }, 'messages.queued')
    reply.code(202)
    return messages
  }
  const post = { headers: IdempotentHeaders }

  const SendMessage = {
    ...post,
    operationId: 'sendMessage',
    summary: 'Send a template message',
    body: MessageBody,
    response: { 202: OneAccepted, ...errorResponses(409) },
  }
  app.post('/api/messages', { bodyLimit: limitBytes(1), schema: SendMessage }, async (request, reply) => {
    const [data] = await accept(request, reply, toBatch(request.body), 'messages')
    return { message: 'The message is queued.', data: data as AcceptedMessage }
  })

  const readBatch = createBatchReader(maxMessages)
  const SendMessages = {
    ...post,
    operationId: 'sendMessages',
    summary: `Send up to ${maxMessages} template messages, all or none`,
    body: MessageBodies(maxMessages),
    response: { 202: AllAccepted, ...errorResponses(409) },
  }
  // readBatch checks the body: one response lists every error.
  app.post(
    '/api/messages/bulk',
    { bodyLimit: limitBytes(maxMessages), validatorCompiler: strictExceptBody, schema: SendMessages },
    async (request, reply) => {
      const data = await accept(request, reply, readBatch(request.body), 'messages/bulk')
      const message = data.length === 1 ? 'The message is queued.' : `${data.length} messages are queued.`
      return { message, data }
    },
  )

  const { OneMessage } = defineViews(facets)
  const change = { params: ById, response: { 200: OneMessage, ...errorResponses(404) } }

  const CancelMessage = { ...change, operationId: 'cancelMessage', summary: 'Cancel a message before it is sent' }
  app.post('/api/messages/:id/cancel', { ...refusesKeys, schema: CancelMessage }, ({ staff, params: { id } }) =>
    inTenant(pool, staff.tenant, async (tx: Tx) => {
      const status = await cancelMessage(tx, staff.tenant, id, staff.actor)
      if (status && status !== 'cancelled')
        throw invalid({ status: [`The message is ${status}: only a queued or held one can be cancelled.`] })
      return readMessage(tx, staff, id, facets)
    }),
  )

  const ResendMessage = { ...change, operationId: 'resendMessage', summary: 'Send a failed or unknown message again' }
  app.post('/api/messages/:id/resend', { ...refusesKeys, schema: ResendMessage }, async ({ staff, params: { id } }) => {
    const { tenant, actor } = staff
    const readAt = await createClock(pool)()
    const filled = await fillAgain(options, tenant, id)
    const resent = await inTenant(pool, tenant, async (tx: Tx) => {
      if (filled && (await wereEdited(tx, tenant, [filled.waybill], readAt))) throw ordersUnavailable()
      const status = await resendMessage(tx, tenant, id, actor, filled?.content)
      if (status && status !== 'queued') throw invalid({ status: [whyNotResent(status)] })
      return readMessage(tx, staff, id, facets)
    })
    onQueued()
    return resent
  })
}

const whyNotResent = (status: MessageStatus): string => {
  if (status === 'unknown')
    return 'The message was sent less than ten minutes ago: a webhook may still report its outcome. Try again later.'
  if (status === 'failed')
    return 'Its text lacks {{tracking_url}}: orders needs PUBLIC_URL. Set it, then send the message again.'
  return `The message is ${status}: only a failed or unknown one can be sent again.`
}

/** Returns the messages of an accepted request. Throws the response to any other request. */
export const readAccepted = (acceptance: Acceptance, reply: FastifyReply) => {
  if (acceptance.kind === 'running' || acceptance.kind === 'other_body') throw keyRefused(acceptance.kind, 'message')
  if (acceptance.kind !== 'accepted') throw refusal(acceptance)
  markReplayed(reply, acceptance.replayed)
  return acceptance.messages
}

export const refusal = (refused: { kind: 'refused'; errors: ErrorList } | { kind: 'orders_away' }): HttpError =>
  refused.kind === 'refused' ? invalid(refused.errors) : ordersUnavailable()
