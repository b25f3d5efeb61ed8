import { IdempotentHeaders, idempotencyKeyOf, keyRefused, markReplayed } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { validator } from '@courier/shared/edge/validator.ts'
import { errorResponses, type FieldErrors, httpError, invalid } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Refusal } from '../catalogue/findings.ts'
import type { RateGaps } from '../rate-gaps/recorder.ts'
import { type Booked, type BookingDependencies, bookOrders, type Quotation, quoteOrders, refuseOrders } from './book.ts'
import { batchReader } from './read-batch.ts'
import { bulkBody, Created, createdMessage, maxOrderBytes, Quoted, quotedMessage } from './schema.ts'

export interface BookingOptions {
  dependencies: BookingDependencies
  maxOrdersPerBatch: number
  maxBodyBytes: number
  gaps: RateGaps
  /** Called with the number of orders that a batch created. */
  onBooked: (tenant: string, orders: number) => void
}

const BulkQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Union(
      ['true', '1', 'false', '0', ''].map(text => Type.Literal(text)),
      { description: 'With true: all checks and the prices; nothing is created.', must: 'be true or false' },
    ),
  ),
})

/** The requests that create orders. */
export const bookingRoutes: FastifyPluginAsyncTypebox<BookingOptions> = async (
  app,
  { maxOrdersPerBatch, maxBodyBytes, ...options },
) => {
  // batchReader checks the body: it adds rules that a schema cannot express.
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  acceptJson(app)

  const operations = [
    {
      name: 'order/bulk',
      operationId: 'createOrders',
      maxOrders: maxOrdersPerBatch,
      summary: 'Create orders in bulk',
      description: 'Creates every order of the batch, or none and lists every error.',
    },
    {
      name: 'order/single',
      operationId: 'createOrder',
      maxOrders: 1,
      summary: 'Create one order',
      description: 'Like the bulk request, with exactly one object in order_data.',
    },
  ]
  for (const operation of operations) {
    const bodyLimit = Math.min(maxBodyBytes, operation.maxOrders * maxOrderBytes)
    addOperation(app, { ...operation, bodyLimit }, options)
  }
}

interface Operation {
  name: string
  operationId: string
  maxOrders: number
  bodyLimit: number
  summary: string
  description: string
}

const addOperation = (
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  { name, operationId, maxOrders, bodyLimit, summary, description }: Operation,
  { dependencies, gaps, onBooked }: Pick<BookingOptions, 'dependencies' | 'gaps' | 'onBooked'>,
): void => {
  const readBatch = batchReader(maxOrders)
  app.post(
    `/${name}`,
    {
      bodyLimit,
      schema: {
        tags: ['orders'],
        operationId,
        summary,
        description,
        security: [{ token: [] }],
        headers: IdempotentHeaders,
        querystring: BulkQuery,
        body: bulkBody(maxOrders),
        response: {
          200: Type.Union([Created, Quoted], { description: 'The waybills of the orders; in a dry run their prices.' }),
          ...errorResponses(400, 401, 405, 409, 413, 415, 422, 429, 503),
        },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async (request, reply) => {
      const merchant = request.merchant
      const read = readBatch(request.body, request.rawBody)
      if (read.kind === 'malformed') throw httpError('malformed_request', read.message)
      const counted = <Result extends { kind: string }>(result: Result | Refusal): Result | Refusal => {
        if ('missingRates' in result) gaps.record(merchant, result.missingRates)
        return result
      }
      if (read.kind === 'refused') throw refused(counted(await refuseOrders(dependencies, merchant, read)))
      const { batch } = read
      if (isTrue(request.query.dry_run)) return quoted(counted(await quoteOrders(dependencies, { ...merchant, batch })))
      const key = idempotencyKeyOf(request, `merchant ${merchant.merchantId} ${name}`)
      const result = await bookOrders(dependencies, { ...merchant, batch, key, traceparent: request.traceparent })
      if (result.kind === 'booked' && !result.replayed) {
        onBooked(merchant.tenant, result.waybills.length)
        request.log.info({ orders: result.waybills.length }, 'batch.booked')
      }
      return created(counted(result), reply)
    },
  )
}

/** A bare `?dry_run` is true too. */
const isTrue = (flag: string | undefined): boolean => flag !== undefined && flag !== 'false' && flag !== '0'

const refused = ({ errors, suggestions }: Refusal) => invalid(errors.errors, suggestions, errors.more)

const created = (result: Booked, reply: FastifyReply): Static<typeof Created> => {
  switch (result.kind) {
    case 'booked':
      markReplayed(reply, result.replayed)
      return { message: createdMessage, data: [...result.waybills], ...shown(result.warnings) }
    case 'refused':
      throw refused(result)
    case 'running':
    case 'other_body':
      throw keyRefused(result.kind, 'batch')
    case 'busy':
      throw busy()
  }
}

const shown = (warnings: FieldErrors) => (Object.keys(warnings).length > 0 ? { warnings } : {})

const busy = () =>
  httpError('unavailable', 'The catalogue or waybills kept changing. Nothing was changed; repeat the request.', {
    retryAfterSeconds: 1,
  })

const quoted = (result: Quotation): Static<typeof Quoted> => {
  if (result.kind === 'refused') throw refused(result)
  if (result.kind === 'busy') throw busy()
  const data = result.batch.orders.map(({ order, destination, charge }) => ({
    order_no: order.orderNo ?? null,
    destination_city: destination.name,
    destination_state: destination.state.name,
    delivery_charge: charge / 100,
    currency: result.currency,
  }))
  return { message: quotedMessage, data, ...shown(result.warnings) }
}
