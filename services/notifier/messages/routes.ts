import type { Actor } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { DomainError, errorAnswers, invalid } from '@courier/shared/http/errors.ts'
import { goodText } from '@courier/shared/http/faults.ts'
import { bytesOf } from '@courier/shared/http/json-body.ts'
import { fingerprint, type IdempotencyKey } from '@courier/shared/idempotency.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { findCountry } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { OrderDesk } from '../events/order-desk.ts'
import { ordersAway } from '../events/refusals.ts'
import { acceptBodies } from './about-waybill.ts'
import type { PathOf } from './accept.ts'
import { normalisePhone } from './check.ts'
import { messageIdPattern } from './message-id.ts'
import { cancelMessage, findMessage, findTimelines, listMessages, resendMessage } from './queries.ts'
import { Accepted, MessageBodies, MessageBody } from './schema.ts'
import { type MessageStatus, messageStatuses } from './status.ts'
import { Message, messageView, Page } from './view.ts'

export interface MessagesOptions {
  pool: pg.Pool
  /** Asked for the order that a message is about. */
  orders: OrderDesk
  staffOf: (request: FastifyRequest) => { tenant: string; actor: Actor }
  /** Told that there are messages to send. */
  onQueued: () => void
  /** Of one bulk call; 1000 without it. */
  maxMessages?: number | undefined
}

const tags = ['messages']
const security = [{ token: [] }]

const Headers = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x20-\\x7e]{1,255}$',
      description: 'Repeat a call under the same key and it is done once: the answer is kept 24 hours.',
      sentence: 'The Idempotency-Key header must be 1 to 255 printable ASCII characters.',
    }),
  ),
})

const Filters = Type.Object({
  status: Type.Optional(
    Type.Union(
      messageStatuses.map(status => Type.Literal(status)),
      { must: `be one of ${messageStatuses.join(', ')}` },
    ),
  ),
  to: Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: goodText,
      must: 'be a phone number',
      description: 'Phone number, in any usual spelling.',
    }),
  ),
  waybill_number: Type.Optional(Type.String({ maxLength: 50, pattern: goodText, must: 'be a waybill number' })),
  limit: Type.Optional(
    Type.String({ pattern: '^([1-9]|[1-9][0-9]|1[0-9][0-9]|200)$', must: 'be a whole number, 1 to 200' }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: messageIdPattern,
      must: 'be the next_cursor of a page',
      description: '`next_cursor` of the page before.',
    }),
  ),
})

const ById = Type.Object({ id: Type.String({ pattern: messageIdPattern, must: 'be the id of a message' }) })
const One = Type.Object({ data: Message })
const accepted = (data: typeof Accepted | ReturnType<typeof Type.Array<typeof Accepted>>) =>
  Type.Object({ message: Type.String(), data }, { description: 'Committed: it will be sent.' })

/** The staff portal's calls about messages. */
export const messages: FastifyPluginAsyncTypebox<MessagesOptions> = async (app, options) => {
  const { pool, staffOf, onQueued, maxMessages = 1000 } = options
  const accept = async (
    request: FastifyRequest,
    reply: FastifyReply,
    bodies: readonly MessageBody[],
    call: string,
    pathOf: PathOf,
  ) => {
    const { tenant, actor } = staffOf(request)
    const key = keyOf(request, call)
    const messages = answer(await acceptBodies(options, tenant, bodies, pathOf, key, actor), reply)
    onQueued()
    request.log.info({ messages: messages.length }, 'messages.queued')
    reply.code(202)
    return messages
  }

  const post = { tags, security, headers: Headers }
  const failures = errorAnswers(400, 401, 409, 413, 415, 422, 429, 503)

  app.post(
    '/api/messages',
    {
      schema: {
        ...post,
        summary: 'Send a template message',
        body: MessageBody,
        response: { 202: accepted(Accepted), ...failures },
      },
    },
    async (request, reply) => {
      const [data] = await accept(request, reply, [request.body], 'messages', () => '')
      return { message: 'The message is queued.', data: data as Static<typeof Accepted> }
    },
  )

  app.post(
    '/api/messages/bulk',
    {
      schema: {
        ...post,
        summary: `Send up to ${maxMessages} template messages, all or none`,
        body: MessageBodies(maxMessages),
        response: { 202: accepted(Type.Array(Accepted)), ...failures },
      },
    },
    async (request, reply) => {
      const data = await accept(request, reply, request.body.messages, 'messages/bulk', index => `messages.${index}.`)
      return { message: `${data.length} messages are queued.`, data }
    },
  )

  app.get(
    '/api/messages',
    {
      schema: {
        tags,
        security,
        summary: 'Messages, newest first',
        querystring: Filters,
        response: { 200: Page, ...errorAnswers(400, 401, 422, 429, 503) },
      },
    },
    async request => {
      const { tenant } = staffOf(request)
      const { status, to, waybill_number, limit = '50', cursor } = request.query
      return inTenant(pool, tenant, async (tx: Tx) => {
        const recipient = to === undefined ? undefined : (normalisePhone(to, await findCountry(tx, tenant)) ?? to)
        const filter = { status: status as MessageStatus | undefined, recipient, waybillNumber: waybill_number }
        const rows = await listMessages(tx, tenant, filter, cursor, Number(limit))
        const timelines = await findTimelines(
          tx,
          tenant,
          rows.map(row => row.message_id),
        )
        const last = rows.length === Number(limit) ? rows.at(-1) : undefined
        return {
          data: rows.map(row => messageView(row, timelines.get(row.message_id) ?? [])),
          next_cursor: last?.message_id ?? null,
        }
      })
    },
  )

  const byId = { tags, security, params: ById, response: { 200: One, ...errorAnswers(400, 401, 404, 422, 429, 503) } }
  const changeById = { ...byId, response: { ...byId.response, ...errorAnswers(413, 415) } }

  const view = (tenant: string, id: string) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const row = await findMessage(tx, tenant, id)
      if (!row) throw new DomainError('not_found', 'There is no such message.')
      return { data: messageView(row, (await findTimelines(tx, tenant, [id])).get(id) ?? []) }
    })

  app.get('/api/messages/:id', { schema: { ...byId, summary: 'One message with its timeline' } }, request =>
    view(staffOf(request).tenant, request.params.id),
  )

  app.post(
    '/api/messages/:id/cancel',
    { schema: { ...changeById, summary: 'Cancel a message before it is sent' } },
    async request => {
      const { tenant, actor } = staffOf(request)
      const { id } = request.params
      const status = await inTenant(pool, tenant, (tx: Tx) => cancelMessage(tx, tenant, id, actor))
      if (status && status !== 'cancelled')
        throw invalid({ status: [`The message is ${status}: only a queued or held one can be cancelled.`] })
      return view(tenant, id)
    },
  )

  app.post(
    '/api/messages/:id/resend',
    { schema: { ...changeById, summary: 'Send a failed or unknown message again' } },
    async request => {
      const { tenant, actor } = staffOf(request)
      const { id } = request.params
      const status = await inTenant(pool, tenant, (tx: Tx) => resendMessage(tx, tenant, id, actor))
      if (status && status !== 'queued')
        throw invalid({
          status: [
            status === 'unknown'
              ? tooEarly
              : `The message is ${status}: only a failed or unknown one can be sent again.`,
          ],
        })
      onQueued()
      return view(tenant, id)
    },
  )
}

const tooEarly =
  'It was sent less than ten minutes ago and a webhook may still tell what became of it. Send it again after that.'

const keyOf = (request: FastifyRequest, call: string): IdempotencyKey | undefined => {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string') return undefined
  return { scope: call, key, fingerprint: fingerprint(bytesOf(request.body)) }
}

const answer = (result: Awaited<ReturnType<typeof acceptBodies>>, reply: FastifyReply): Static<typeof Accepted>[] => {
  switch (result.kind) {
    case 'accepted':
      if (result.replayed) reply.header('idempotency-replayed', 'true')
      return result.messages
    case 'refused':
      throw invalid(result.faults)
    case 'orders_away':
      throw ordersAway()
    case 'running':
      throw new DomainError('conflict', 'A call with this Idempotency-Key is running. Repeat it for its answer.', {
        retryAfterSeconds: 1,
      })
    case 'other_body':
      throw invalid({
        'idempotency-key': ['This Idempotency-Key came with another body before. Use a new key for a new message.'],
      })
  }
}
