import type { Staff } from '@courier/shared/access/staff.ts'
import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import {
  IdempotentHeaders,
  idempotencyKeyOf,
  keyRefused,
  markReplayed,
  refusesKeys,
} from '@courier/shared/edge/idempotency.ts'
import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { normalisePhone } from '../conversations/phone-number.ts'
import { findCountry } from '../conversations/queries.ts'
import { findCostsFor } from '../costs/queries.ts'
import type { Tx } from '../database/tables.ts'
import { type Content, maxMessageBytes } from '../messaging-api/message-template.ts'
import { findOrders } from '../orders-client/find-orders.ts'
import { type KnownOrder, type OrdersClient, ordersUnavailable } from '../orders-client/orders-client.ts'
import { acceptBodies, type WaybillDependencies } from './about-waybill.ts'
import type { PathOf } from './accept.ts'
import { type MessageFilter, MessagesQuery, messageId } from './filters.ts'
import {
  type AboutOrder,
  cancelMessage,
  findAboutOrder,
  findMessage,
  findTimelines,
  hasNoIndex,
  listMessages,
  resendMessage,
} from './queries.ts'
import { messagesReader, type ReadMessages } from './read-messages.ts'
import { Accepted, MessageBodies, MessageBody } from './schema.ts'
import { fillFrom } from './source.ts'
import { exampleMessage, Message, messageView, Page } from './view.ts'

export interface MessagesOptions {
  pool: pg.Pool
  /** Reads the order that a message is about. */
  orders: OrdersClient
  /** MESSAGING_PRODUCT. */
  product: string
  syncLacking?: WaybillDependencies['syncLacking']
  /** Called when there are messages to send. */
  onQueued: () => void
  /** Of one bulk request; 1000 without it. */
  maxMessages?: number | undefined
  /** Of one bulk request; 5 MiB without it. */
  maxBodyBytes?: number | undefined
}

const tags = ['messages']
const security = [{ token: [] }]

const ById = Type.Object({
  id: Type.String({ ...messageId, must: 'be the id of a message' }),
})
const One = Type.Object({ data: Message }, { title: 'OneMessage', examples: [{ data: exampleMessage }] })
const committed = 'Committed: it will be sent.'
const exampleAccepted: Accepted = { id: exampleMessage.id, status: 'queued' }
export const OneAccepted = Type.Object(
  { message: Type.String(), data: Accepted },
  {
    title: 'MessageAccepted',
    description: committed,
    examples: [{ message: 'The message is queued.', data: exampleAccepted }],
  },
)
const AllAccepted = Type.Object(
  { message: Type.String(), data: Type.Array(Accepted) },
  {
    title: 'MessagesAccepted',
    description: committed,
    examples: [{ message: '1 messages are queued.', data: [exampleAccepted] }],
  },
)

/** Lists of one tenant by a filter without an index. */
const maxWaiting = 20
const busy = 'Too many lists by template, channel or status are waiting. Repeat the request.'

/** The staff portal's routes for messages. */
export const messageRoutes: FastifyPluginAsyncTypebox<MessagesOptions> = async (app, options) => {
  const { pool, onQueued, maxMessages = 1000, maxBodyBytes = 5_242_880 } = options
  const limitOf = (messages: number) => Math.min(maxBodyBytes, messages * maxMessageBytes)
  const accept = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { bodies, errors }: ReadMessages,
    scope: string,
    pathOf: PathOf,
  ) => {
    const { tenant, actor } = request.staff
    const key = idempotencyKeyOf(request, scope)
    const accepted = await acceptBodies(options, tenant, bodies, errors, pathOf, key, actor, request.traceparent)
    const messages = readResult(accepted, reply)
    onQueued()
    request.log.info({ messages: messages.length }, 'messages.queued')
    reply.code(202)
    return messages
  }

  const post = { tags, security, headers: IdempotentHeaders }
  const failures = errorResponses(400, 401, 409, 413, 415, 422, 429, 503)

  app.post(
    '/api/messages',
    {
      bodyLimit: limitOf(1),
      schema: {
        ...post,
        operationId: 'sendMessage',
        summary: 'Send a template message',
        body: MessageBody,
        response: { 202: OneAccepted, ...failures },
      },
    },
    async (request, reply) => {
      const [data] = await accept(
        request,
        reply,
        { bodies: [request.body], errors: new ErrorList() },
        'messages',
        () => '',
      )
      return { message: 'The message is queued.', data: data as Static<typeof Accepted> }
    },
  )

  const readMessages = messagesReader(maxMessages)
  // Such a list reads many rows: one of a tenant at a time leaves the cores to others.
  const inTurn = createBulkheads({ tenant: 1 }, maxWaiting)

  app.post(
    '/api/messages/bulk',
    {
      bodyLimit: limitOf(maxMessages),
      // readMessages checks the body: one response lists every error.
      validatorCompiler: strictExceptBody,
      schema: {
        ...post,
        operationId: 'sendMessages',
        summary: `Send up to ${maxMessages} template messages, all or none`,
        body: MessageBodies(maxMessages),
        response: { 202: AllAccepted, ...failures },
      },
    },
    async (request, reply) => {
      const data = await accept(
        request,
        reply,
        readMessages(request.body),
        'messages/bulk',
        index => `messages.${index}.`,
      )
      return { message: `${data.length} messages are queued.`, data }
    },
  )

  app.get(
    '/api/messages',
    {
      schema: {
        tags,
        security,
        operationId: 'listMessages',
        summary: 'Messages, newest first',
        querystring: MessagesQuery.schema,
        response: { 200: Page, ...errorResponses(400, 401, 422, 429, 503) },
      },
    },
    async request => {
      const { staff } = request
      const { tenant } = staff
      const wanted = MessagesQuery.read(request.query)
      const list = () => inTenant(pool, tenant, (tx: Tx) => readPage(tx, staff, wanted, request.query))
      return hasNoIndex(wanted) ? inTurn({ tenant }, list).catch(refuseBusy(busy)) : list()
    },
  )

  const byId = { tags, security, params: ById, response: { 200: One, ...errorResponses(400, 401, 404, 422, 429, 503) } }
  const changeById = { ...byId, response: { ...byId.response, ...errorResponses(413, 415) } }

  app.get(
    '/api/messages/:id',
    { schema: { ...byId, operationId: 'getMessage', summary: 'One message with its timeline' } },
    ({ staff, params: { id } }) => inTenant(pool, staff.tenant, (tx: Tx) => view(tx, staff, id)),
  )

  app.post(
    '/api/messages/:id/cancel',
    {
      ...refusesKeys,
      schema: { ...changeById, operationId: 'cancelMessage', summary: 'Cancel a message before it is sent' },
    },
    async request => {
      const { tenant, actor } = request.staff
      const { id } = request.params
      return inTenant(pool, tenant, async (tx: Tx) => {
        const status = await cancelMessage(tx, tenant, id, actor)
        if (status && status !== 'cancelled')
          throw invalid({ status: [`The message is ${status}: only a queued or held one can be cancelled.`] })
        return view(tx, request.staff, id)
      })
    },
  )

  app.post(
    '/api/messages/:id/resend',
    {
      ...refusesKeys,
      schema: { ...changeById, operationId: 'resendMessage', summary: 'Send a failed or unknown message again' },
    },
    async request => {
      const { tenant, actor } = request.staff
      const { id } = request.params
      const content = await readAnew(options, tenant, id)
      const resent = await inTenant(pool, tenant, async (tx: Tx) => {
        const status = await resendMessage(tx, tenant, id, actor, content)
        if (status && status !== 'queued')
          throw invalid({
            status: [notResent[status] ?? `The message is ${status}: only a failed or unknown one can be sent again.`],
          })
        return view(tx, request.staff, id)
      })
      onQueued()
      return resent
    },
  )
}

const readPage = async (
  tx: Tx,
  staff: Staff,
  wanted: MessageFilter,
  query: Static<typeof MessagesQuery.schema>,
): Promise<Static<typeof Page>> => {
  const { tenant } = staff
  const { limit = '50', cursor } = query
  const to = wanted.to && normalisePhone(wanted.to, await findCountry(tx, tenant))
  if (wanted.to && !to)
    throw invalid({ [MessagesQuery.fieldOf(query, 'to')]: ['The to field must be a phone number.'] })
  const { rows, next } = await listMessages(tx, tenant, { ...wanted, to }, cursor, Number(limit))
  const ids = rows.map(row => row.message_id)
  const [timelines, costs] = await Promise.all([findTimelines(tx, tenant, ids), findCostsFor(tx, staff, ids)])
  return {
    data: rows.map(row => messageView(row, timelines.get(row.message_id), costs.get(row.message_id))),
    next_cursor: next,
  }
}

/** Also in the transaction of a change, so that nothing can fail after its commit. */
const view = async (tx: Tx, staff: Staff, id: string): Promise<Static<typeof One>> => {
  const { tenant } = staff
  const row = await findMessage(tx, tenant, id)
  if (!row) throw httpError('not_found', 'There is no such message.')
  const [timelines, costs] = await Promise.all([findTimelines(tx, tenant, [id]), findCostsFor(tx, staff, [id])])
  return { data: messageView(row, timelines.get(id), costs.get(id)) }
}

/** Fills a message from its order as it is now; undefined leaves it as it is. Refuses one whose order has another phone since. */
const readAnew = async (
  { pool, orders }: MessagesOptions,
  tenant: string,
  id: string,
): Promise<Content | undefined> => {
  const message = await inTenant(pool, tenant, (tx: Tx) => findAboutOrder(tx, tenant, id))
  if (!message) return undefined
  const { waybill_number: waybill, source } = message
  const found = await findOrders(orders, tenant, [waybill])
  if (!found) throw httpError('unavailable', ordersUnavailable, { retryAfterSeconds: 2 })
  const order = found.get(waybill)
  if (!order) return undefined
  const country = await inTenant(pool, tenant, (tx: Tx) => findCountry(tx, tenant))
  if (hasOtherPhone(message, order, country)) throw invalid({ to: [otherPhone(waybill)] })
  return source ? fillFrom(source, order).template : undefined
}

/** A number that staff gave may be any, but none that was corrected since. */
const hasOtherPhone = ({ recipient, source, rule_event }: AboutOrder, order: KnownOrder, country: string): boolean => {
  if (normalisePhone(order.customer_phone, country) === recipient) return false
  if (source?.isToCustomer ?? rule_event !== null) return true
  if (normalisePhone(order.customer_secondary_phone ?? '', country) === recipient) return false
  const former = order.edits.flatMap(({ previous }) => [previous?.customer_phone, previous?.customer_secondary_phone])
  return former.some(phone => typeof phone === 'string' && normalisePhone(phone, country) === recipient)
}

const otherPhone = (waybill: string): string =>
  `The customer of ${waybill} has another phone number since: send a new message with this waybill_number and without to.`

const notResent: Readonly<Record<string, string>> = {
  unknown:
    'It was sent less than ten minutes ago and a webhook may still tell what became of it. Send it again after that.',
  failed: 'Its text lacks {{tracking_url}}: orders needs PUBLIC_URL. Set it, then send the message again.',
}

export const readResult = (
  result: Awaited<ReturnType<typeof acceptBodies>>,
  reply: FastifyReply,
): Static<typeof Accepted>[] => {
  switch (result.kind) {
    case 'accepted':
      markReplayed(reply, result.replayed)
      return result.messages
    case 'refused':
      throw invalid(result.errors.errors, undefined, result.errors.more)
    case 'orders_away':
      throw httpError('unavailable', ordersUnavailable, { retryAfterSeconds: 2 })
    case 'running':
    case 'other_body':
      throw keyRefused(result.kind, 'message')
  }
}
