import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody, httpError } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf, text } from '@courier/shared/lists/filters.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { requestStatuses, type Tables, type Tx } from '../../core/database/tables.ts'
import { type ChangeOptions, limitLockWait } from '../../core/moves/move.ts'
import { Note } from '../../core/moves/move-schema.ts'
import { lockOrder } from '../editing/edit-order.ts'
import { CustomerRequest, listRequests } from './customer-requests.ts'
import { type Decision, findRequest, insertEvent, lockRequest, storeDecision } from './queries.ts'

const RequestsQuery = listQuery(cursorFields, {
  status: oneOf(requestStatuses, 'Without it, all requests.'),
  waybill_number: text('The complete waybill number.'),
})
const cursors = listCursor(/^[1-9]\d{0,17}$/)
const RequestDecision = Type.Object(
  {
    decision: Type.Union([Type.Literal('accepted'), Type.Literal('declined')], { must: 'be accepted or declined' }),
    note: Type.Optional(
      Type.Union([Note, Type.Null()], { description: 'The notifier gets the note for its messages.' }),
    ),
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
  description: 'The request was decided before: the message says by whom and when.',
  examples: [
    { message: 'Kamal Perera declined this request at 2026-02-19T19:20:00.000000Z.', code: 'already_decided' },
  ],
}
/** A note with every character escaped is 6,000 bytes. */
const maxDecisionBytes = 8_192
const id = /^[1-9]\d{0,17}$/

/** Lists the requests that customers make of staff with a button of a message, and stores the decisions on them. */
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
    description: 'Works once. The notifier gets an event such as reschedule.accepted, with the note.',
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

interface WantedDecision extends Decision {
  readonly tenant: string
  readonly requestId: string
  readonly actor: Actor
  readonly traceparent: string | undefined
}

interface Decided {
  readonly request: CustomerRequest
  /** The same member of staff made the same decision before, with the same note. */
  readonly isRepeated: boolean
}

/**
 * Decides on a request once, in one transaction with its audit and its event. Throws for a request that was decided
 * before, unless the member of staff repeats the decision.
 */
const decide = (pool: pg.Pool, wanted: WantedDecision): Promise<Decided> =>
  inTenant<Tables, Decided>(pool, wanted.tenant, async tx => {
    const { tenant, requestId } = wanted
    const [, found] = await Promise.all([limitLockWait(tx), findRequest(tx, tenant, requestId)])
    if (!found) throw unknownRequest()
    const { waybill_number: waybill } = found
    const order = await lockOrder(tx, { tenant, waybill, editor: { staffName: wanted.by } })
    const request = await lockRequest(tx, tenant, requestId)
    if (!request) throw unknownRequest()
    const { status, note, decided_by, decided_at } = request
    const isSame = status === wanted.decision && note === wanted.note && decided_by === wanted.by
    if (isSame) return { request, isRepeated: true }
    if (status !== 'open') throw httpError('already_decided', `${decided_by} ${status} this request at ${decided_at}.`)
    const decided = await storeDecision(tx, tenant, requestId, wanted)
    if (order) await insertEvent(tx, tenant, decided, order.status_key, wanted.traceparent)
    await audit(tx, tenant, wanted.actor, `request.${wanted.decision}`, `${waybill}: ${request.request}`)
    return { request: decided, isRepeated: false }
  })

const unknownRequest = () => httpError('not_found', 'There is no such request.')
