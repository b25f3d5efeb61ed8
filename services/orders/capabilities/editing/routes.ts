import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { maxOrderBytes } from '../../core/booking/schema.ts'
import { oneOrder, WaybillParams } from '../../core/lists/order-routes.ts'
import type { Mover } from '../../core/moves/check-moves.ts'
import { type Edited, type EditingOptions, editOrder } from './edit-order.ts'
import { readEdit } from './read-edit.ts'
import { EditedOrder, EditHeaders, editedMessage, OrderEdit, StaffOrderEdit } from './schema.ts'

const common = {
  params: WaybillParams,
  headers: EditHeaders,
  response: { 200: EditedOrder, ...errorResponses(412) },
}
const bodyLimit = maxOrderBytes

export const merchantEditRoutes: FastifyPluginAsyncTypebox<EditingOptions> = async (app, options) => {
  const schema = {
    ...common,
    operationId: 'editOrder',
    summary: 'Change an order that has not been picked up',
    description: 'A new city or weight reprices the order.',
    body: OrderEdit,
  }
  addEdit(app, options, schema, ({ merchant: { merchantId, person } }) => ({ merchantId, person }))
}

export const staffEditRoutes: FastifyPluginAsyncTypebox<EditingOptions> = async (app, options) => {
  const schema = {
    ...common,
    operationId: 'editAnyOrder',
    summary: 'Change an order',
    description:
      'Changes any field before pickup, and only customer_ fields after it, until delivery, return or cancellation.',
    body: StaffOrderEdit,
  }
  addEdit(app, options, schema, ({ staff }) => ({ staffName: staff.name }))
}

const addEdit = (
  app: FastifyInstance,
  options: EditingOptions,
  schema: object,
  readEditor: (request: FastifyRequest) => Mover,
) => {
  acceptJson(app)
  app.setValidatorCompiler<TSchema>(strictExceptBody)
  app.patch<{ Params: { waybill: string } }>(oneOrder, { bodyLimit, schema }, async (request, reply) => {
    const { waybill } = request.params
    const editor = readEditor(request as FastifyRequest)
    const { tenant, actor: by } = request.merchant ?? request.staff
    const read = readEdit('staffName' in editor ? 'staff' : 'merchant', request.body)
    if (read.kind === 'refused') throw invalid(read.errors)
    const ifMatch = request.headers['if-match']
    const edited = await editOrder(options, { tenant, waybill, editor, changes: read.changes, ifMatch, by })
    if (edited?.kind === 'edited' && edited.fields.length > 0) {
      options.onChanged(tenant)
      request.log.info({ waybill_number: waybill, fields: edited.fields }, 'order.edited')
    }
    return toResponse(edited, waybill, reply)
  })
}

const toResponse = (
  edited: Edited | undefined,
  waybill_number: string,
  reply: FastifyReply,
): Static<typeof EditedOrder> => {
  if (!edited) throw httpError('unavailable', busy, { retryAfterSeconds: 1 })
  if (edited.kind === 'unknown') throw notFound('waybill')
  if (edited.kind === 'stale') throw httpError('precondition_failed', stale, { headers: { etag: edited.etag } })
  if (edited.kind === 'refused') throw invalid(edited.errors, { suggestions: edited.suggestions })
  const { fields, charge: delivery_charge, currency, etag, warnings } = edited
  reply.header('etag', etag)
  const data = { waybill_number, fields: [...fields], delivery_charge, currency }
  return { message: editedMessage, data, ...(Object.keys(warnings).length > 0 && { warnings }) }
}

const busy = 'The catalogue kept changing, so the order was not changed. Repeat the request.'
const stale = 'The order has changed since you read it. Read it again.'
