import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf, text } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { requestStatuses, type Tx } from '../database/tables.ts'
import type { ChangeOptions } from '../moves/move.ts'
import { StatusMove } from '../moves/move-schema.ts'
import { CustomerRequest, listRequests } from '../tracking/customer-requests.ts'
import { decide, unknownRequest } from './decide.ts'

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
export const customerRequestRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, { pool, onChanged }) => {
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
      const { params, staff, traceparent } = request
      const { tenant, actor } = staff
      const { decision, note } = request.body
      if (!id.test(params.id)) throw unknownRequest()
      const wanted = { decision, note: note?.trim() || null, by: actor.name }
      const decided = await decide(pool, { tenant, requestId: params.id, ...wanted, actor, traceparent })
      if (!decided.isRepeated) {
        onChanged(tenant)
        request.log.info({ customer_request: params.id, decision }, 'customer_request.decided')
      }
      return { message: decidedMessage, data: decided.request } as const
    },
  )
}
