import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody, httpError } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf, text } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { requestStatuses, type Tx } from '../database/tables.ts'
import { StatusMove } from '../moves/move-schema.ts'
import { CustomerRequest, listRequests } from '../tracking/customer-requests.ts'
import { type Decided, decide } from './decide.ts'

interface RequestsOptions {
  readonly pool: pg.Pool
  /** Called after a decision, for the relay. */
  readonly onChanged: (tenant: string) => void
}

const RequestsQuery = listQuery(cursorFields, {
  status: oneOf(requestStatuses, 'Without it all.'),
  waybill_number: text('The whole number.'),
})
const cursors = listCursor(/^[1-9]\d{0,17}$/)
const RequestDecision = Type.Object(
  {
    decision: Type.Union([Type.Literal('accepted'), Type.Literal('declined')], { must: 'be accepted or declined' }),
    note: Type.Optional({ ...StatusMove.properties.note, description: 'Sent to the notifier, for its messages.' }),
  },
  {
    title: 'RequestDecision',
    additionalProperties: false,
    examples: [{ decision: 'accepted', note: 'Tomorrow after 4 pm' }],
  },
)

const decidedMessage = 'Request Decided Successfully'
const closed = {
  ...ErrorBody,
  description: 'It was decided before: the message says by whom and when.',
  examples: [
    { message: 'Kamal Perera declined this request at 2026-02-19T19:20:00.000000Z.', code: 'already_decided' },
  ],
}
/** A note with every character escaped is 6,000 bytes. */
const maxDecisionBytes = 8_192
const id = /^[1-9]\d{0,17}$/

/** Lists and decides the requests that customers make of staff by a button of a message. */
export const customerRequestRoutes: FastifyPluginAsyncTypebox<RequestsOptions> = async (app, { pool, onChanged }) => {
  acceptJson(app)
  const listCustomerRequestsSchema = {
    operationId: 'listCustomerRequests',
    summary: 'List what customers ask for by a button, newest first',
    querystring: RequestsQuery.schema,
    response: { 200: PageOf(CustomerRequest, 'CustomerRequests') },
  }
  app.get('/order/requests', { schema: listCustomerRequestsSchema }, async ({ staff: { tenant }, query }) => {
    const filter = RequestsQuery.read(query)
    const { after, limit } = cursors.read(query)
    const rows = await inTenant(pool, tenant, (tx: Tx) => listRequests(tx, tenant, filter, after[0], limit + 1))
    return cursors.toPage(rows, limit, row => [row.id])
  })

  const decideCustomerRequestSchema = {
    operationId: 'decideCustomerRequest',
    summary: 'Accept or decline what a customer asks for',
    description: 'Works once. The notifier learns of it as an event such as reschedule.accepted, with the note.',
    params: Type.Object({ id: Type.String() }),
    body: RequestDecision,
    response: {
      200: Type.Object({ message: Type.Literal(decidedMessage), data: CustomerRequest }),
      409: closed,
    },
  }
  app.post(
    '/order/requests/:id/decision',
    { ...refusesKeys, bodyLimit: maxDecisionBytes, schema: decideCustomerRequestSchema },
    async request => {
      const { tenant, actor } = request.staff
      const { decision } = request.body
      const wanted = { decision, note: request.body.note?.trim() || null, by: actor.name }
      const { id: requestId } = request.params
      const decided = id.test(requestId)
        ? await decide(pool, { tenant, requestId, ...wanted, actor, traceparent: request.traceparent })
        : { kind: 'unknown' as const }
      if (decided.kind === 'unknown') throw app.httpErrors.notFound('There is no such request.')
      const row = viewRow(decided)
      if (decided.kind === 'decided' && !decided.isRepeated) {
        onChanged(tenant)
        request.log.info({ customer_request: row.id, decision }, 'customer_request.decided')
      }
      return { message: decidedMessage, data: row } as const
    },
  )
}

const viewRow = (decided: Exclude<Decided, { kind: 'unknown' }>): CustomerRequest => {
  if (decided.kind === 'decided') return decided.request
  const { status, decided_by, decided_at } = decided.request
  throw httpError('already_decided', `${decided_by} ${status} this request at ${decided_at}.`)
}
