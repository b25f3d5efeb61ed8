import { DomainError, errorAnswers } from '@courier/shared/http/errors.ts'
import { validator } from '@courier/shared/http/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { merchantOf } from '../access/merchant.ts'
import type { FindOrder, TrackedOrder } from './find-order.ts'
import { exampleEvent, TrackingEvent, timelineOf } from './order-view.ts'
import { maxWaybillBodyBytes, readBody, readWaybill } from './read-waybill.ts'

export interface WaybillOptions {
  findOrder: FindOrder
}

const WaybillQuery = Type.Object({
  waybill_number: Type.Optional(Type.Unknown({ type: 'string', description: 'Here or in the body.' })),
})
const WaybillBody = Type.Object(
  { waybill_number: Type.Optional(Type.String()) },
  { title: 'Waybill', examples: [{ waybill_number: 'DM00000001' }] },
)
const common = { tags: ['orders'], security: [{ token: [] }], querystring: WaybillQuery }
const failures = errorAnswers(400, 401, 404, 405, 413, 415, 422, 429, 503)

export const unknownWaybill = (): DomainError =>
  new DomainError('not_found', 'The requested waybill does not exist in the system')

/** Bodies stay bytes, whatever their type is said to be: they are read by `readWaybill`. */
export const acceptWaybillBody = (app: FastifyInstance): void => {
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'buffer' as const, bodyLimit: maxWaybillBodyBytes }
  app.addContentTypeParser('*', options, (_request, bytes, done) => done(null, bytes))
}

const orderNamed = async (
  findOrder: FindOrder,
  request: FastifyRequest,
  body: Buffer | undefined,
): Promise<TrackedOrder> => {
  const { tenant, merchantId } = merchantOf(request)
  const order = await findOrder(tenant, readWaybill(request.query, body), merchantId)
  if (!order) throw unknownWaybill()
  return order
}

/** Where an order of the merchant has been. */
export const tracking: FastifyPluginAsyncTypebox<WaybillOptions> = async (app, { findOrder }) => {
  acceptWaybillBody(app)
  const schema = {
    ...common,
    summary: 'Where an order has been',
    description: 'The timeline of one of your orders, newest first. A JSON body may name the waybill, also of a GET.',
    response: {
      200: Type.Object({ data: Type.Array(TrackingEvent) }, { examples: [{ data: [exampleEvent] }] }),
      ...failures,
    },
  }
  const track = async (request: FastifyRequest, body: Buffer | undefined) => ({
    data: timelineOf(await orderNamed(findOrder, request, body), new Date()),
  })
  app.get('/order/tracking-info', { schema }, async request => track(request, await readBody(request.raw)))
  app.post('/order/tracking-info', { schema: { ...schema, body: WaybillBody } }, async request =>
    track(request, bytesIn(request)),
  )
}

/** What `acceptWaybillBody` left in a request. */
export const bytesIn = (request: FastifyRequest): Buffer | undefined => request.body as Buffer | undefined

const FinanceStatus = Type.Object(
  {
    finance_status: Type.String(),
    invoice_ref_no: Type.Union([Type.String(), Type.Null()]),
    invoice_no: Type.Union([Type.String(), Type.Null()]),
  },
  { title: 'FinanceStatus' },
)
/** Nothing is invoiced yet by this service. */
const pending = { finance_status: 'Pending', invoice_ref_no: null, invoice_no: null }

/** Whether an order of the merchant was invoiced. */
export const finance: FastifyPluginAsyncTypebox<WaybillOptions> = async (app, { findOrder }) => {
  app.get(
    '/order/waybill-finance-status',
    {
      schema: {
        ...common,
        summary: 'Whether an order was invoiced',
        response: { 200: Type.Object({ data: FinanceStatus }, { examples: [{ data: pending }] }), ...failures },
      },
    },
    async request => {
      await orderNamed(findOrder, request, await readBody(request.raw))
      return { data: pending }
    },
  )
}
