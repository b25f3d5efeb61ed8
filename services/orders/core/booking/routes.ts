import { FoundRoom } from '@courier/shared/contract/sending-room.ts'
import { IdempotentHeaders, keyRefused, markReplayed, readIdempotencyKey } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { validator } from '@courier/shared/edge/validator.ts'
import { type FieldErrors, httpError, invalid } from '@courier/shared/errors/errors.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Merchant } from '../access/merchant.ts'
import type { MissingRate } from '../catalogue/price-parcels.ts'
import { toAmount } from '../catalogue/rate-card.ts'
import { type Booked, type BookingDependencies, bookOrders, type Quotation, quoteOrders } from './book.ts'
import { createBatchReader } from './read-batch.ts'
import { bulkBody, Created, createdMessage, maxOrderBytes, Quoted, quotedMessage } from './schema.ts'

interface BookingOptions extends BookingDependencies {
  /** Asks the notifier, in dry runs alone, how many messages may leave. */
  readonly messages: ServiceClient
  readonly maxOrdersPerBatch: number
  readonly maxBodyBytes: number
  /** Receives the combinations of cities that the merchant's card lacks. */
  readonly onRefused: (merchant: Merchant, missing: readonly MissingRate[]) => void
  /** Is called with the number of orders that a batch created. */
  readonly onBooked: (tenant: string, orders: number) => void
}

const BulkQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Union(
      ['true', '1', 'false', '0', ''].map(text => Type.Literal(text)),
      { description: 'True runs all checks, returns the prices and creates nothing.', must: 'be true or false' },
    ),
  ),
})

export const bookingRoutes: FastifyPluginAsyncTypebox<BookingOptions> = async (app, options) => {
  // `readBatch` checks the bodies: it adds rules that a schema cannot express.
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  acceptJson(app)
  const bulk = {
    operationId: 'createOrders',
    summary: 'Create orders in bulk',
    description: 'Creates every order of the batch, or none and lists every error.',
  }
  addBooking(app, options, 'order/bulk', options.maxOrdersPerBatch, bulk)
  const single = {
    operationId: 'createOrder',
    summary: 'Create one order',
    description: 'Works like the bulk request, with exactly one object in order_data.',
  }
  addBooking(app, options, 'order/single', 1, single)
}

const addBooking = (
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  options: BookingOptions,
  name: string,
  maxOrders: number,
  about: FastifySchema,
): void => {
  const readBatch = createBatchReader(maxOrders)
  const bodyLimit = Math.min(options.maxBodyBytes, maxOrders * maxOrderBytes)
  const schema = {
    ...about,
    headers: IdempotentHeaders,
    querystring: BulkQuery,
    body: bulkBody(maxOrders),
    response: {
      200: Type.Union([Created, Quoted], { description: 'The waybills of the orders; in a dry run their prices.' }),
    },
  }
  app.post(`/${name}`, { bodyLimit, schema, serializerCompiler: () => JSON.stringify }, async (request, reply) => {
    const { merchant, traceparent } = request
    const read = readBatch(request.body, request.rawBody)
    if (read.kind === 'malformed') throw httpError('malformed_request', read.message)
    const respond = createResponder(request, reply, options)
    if (read.kind === 'refused' || isTrue(request.query.dry_run)) {
      const quoted = respond(await quoteOrders(options, { ...merchant, ...read }))
      return { ...quoted, ...(await readRoom(options.messages, merchant.tenant)) }
    }
    const key = readIdempotencyKey(request, `merchant ${merchant.merchantId} ${name}`)
    return respond(await bookOrders(options, { ...merchant, batch: read.batch, key, traceparent }))
  })
}

const room = TypeCompiler.Compile(FoundRoom)

/** Reads how many messages may leave today; reads nothing if no limit is known or the notifier does not respond. */
const readRoom = async (messages: ServiceClient, tenant: string) => {
  const result = await messages.get(`/internal/sending-room/${tenant}`)
  const found = result.kind === 'response' && room.Check(result.body) ? result.body.data : null
  return found ? { messages: found } : {}
}

/** Returns true for a bare `?dry_run`, too. */
const isTrue = (flag: string | undefined): boolean => flag !== undefined && flag !== 'false' && flag !== '0'

const createResponder =
  ({ merchant, log }: FastifyRequest, reply: FastifyReply, { onRefused, onBooked }: BookingOptions) =>
  (result: Booked | Quotation): Static<typeof Created | typeof Quoted> => {
    switch (result.kind) {
      case 'booked':
        markReplayed(reply, result.replayed)
        if (!result.replayed) {
          onBooked(merchant.tenant, result.waybills.length)
          log.info({ orders: result.waybills.length }, 'batch.booked')
        }
        return { message: createdMessage, data: [...result.waybills], ...showWarnings(result.warnings) }
      case 'quoted':
        return { message: quotedMessage, dry_run: true, data: quoteEach(result), ...showWarnings(result.warnings) }
      case 'refused':
        onRefused(merchant, result.missingRates)
        throw invalid(result.errors, { suggestions: result.suggestions })
      case 'running':
      case 'other_body':
        throw keyRefused(result.kind, 'batch')
      case 'busy':
        throw httpError('unavailable', keptChanging, { retryAfterSeconds: 1 })
    }
  }

const keptChanging = 'The catalogue or waybills kept changing. Nothing was changed; repeat the request.'

const showWarnings = (warnings: FieldErrors) => (Object.keys(warnings).length > 0 ? { warnings } : {})

const quoteEach = ({ batch, currency }: Extract<Quotation, { kind: 'quoted' }>) =>
  batch.orders.map(({ order, destination, charge }) => ({
    order_no: order.orderNo ?? null,
    destination_city: destination.name,
    destination_state: destination.state.name,
    delivery_charge: toAmount(charge),
    currency,
  }))
