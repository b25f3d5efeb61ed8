import { DomainError, errorAnswers, invalid } from '@courier/shared/http/errors.ts'
import { validator } from '@courier/shared/http/validator.ts'
import { fingerprint, type IdempotencyKey } from '@courier/shared/idempotency.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { merchantOf } from '../access/merchant.ts'
import { type Booked, type BookingDesk, bookOrders, quoteOrders } from './book.ts'
import type { CheckedBatch, Refusal } from './check-batch.ts'
import { type Batch, batchReader } from './read-batch.ts'
import { bulkBody, Created, Quoted } from './schema.ts'

export interface BookingOptions {
  desk: BookingDesk
  maxOrdersPerBatch: number
  /** Told how many orders a batch made. */
  onBooked: (tenant: string, orders: number) => void
}

const BulkQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Union(
      ['true', '1', 'false', '0', ''].map(text => Type.Literal(text)),
      { description: 'With true: all checks and the prices, nothing is made.', must: 'be true or false' },
    ),
  ),
})

const BulkHeaders = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x20-\\x7e]{1,255}$',
      description: 'Repeat a call under the same key and it is done once: the answer is kept 24 hours.',
      sentence: 'The Idempotency-Key header must be 1 to 255 printable ASCII characters.',
    }),
  ),
})

/** The calls that create orders. */
export const booking: FastifyPluginAsyncTypebox<BookingOptions> = async (
  app,
  { desk, maxOrdersPerBatch, onBooked },
) => {
  // The body stays bytes until the handler: its fingerprint is of the bytes, and its check is not the framework's.
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    const isPacked = (request.headers['content-encoding'] ?? 'identity') !== 'identity'
    done(isPacked ? new DomainError('unsupported_media_type', 'Send the body without content-encoding.') : null, bytes)
  })

  const calls = [
    {
      name: 'order/bulk',
      maxOrders: maxOrdersPerBatch,
      summary: 'Create orders in bulk',
      description: 'Makes every order of the batch, or none and says everything that is wrong.',
    },
    {
      name: 'order/single',
      maxOrders: 1,
      summary: 'Create one order',
      description: 'As the bulk call, with exactly one object in order_data.',
    },
  ]
  for (const call of calls) createCall(app, call, desk, onBooked)
}

interface Call {
  name: string
  maxOrders: number
  summary: string
  description: string
}

const createCall = (
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  { name, maxOrders, summary, description }: Call,
  desk: BookingDesk,
  onBooked: BookingOptions['onBooked'],
): void => {
  const readBatch = batchReader(maxOrders)
  app.post(
    `/${name}`,
    {
      schema: {
        tags: ['orders'],
        summary,
        description,
        security: [{ token: [] }],
        headers: BulkHeaders,
        querystring: BulkQuery,
        body: bulkBody(maxOrders),
        response: {
          200: Type.Union([Created, Quoted], { description: 'The waybills of the orders; in a dry run their prices.' }),
          ...errorAnswers(400, 401, 405, 409, 413, 415, 422, 429, 503),
        },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async (request, reply) => {
      const merchant = merchantOf(request)
      const bytes = (request.body ?? Buffer.alloc(0)) as unknown as Buffer
      const batch = accepted(readBatch(bytes))
      if (isTrue(request.query.dry_run)) return quoted(await quoteOrders(desk, { ...merchant, batch }))
      const key = idempotencyKey(`merchant ${merchant.merchantId} ${name}`, request.headers['idempotency-key'], bytes)
      const result = await bookOrders(desk, { ...merchant, batch, key })
      if (result.kind === 'booked' && !result.replayed) {
        onBooked(merchant.tenant, result.waybills.length)
        request.log.info({ orders: result.waybills.length }, 'batch.booked')
      }
      return created(result, reply)
    },
  )
}

/** A bare `?dry_run` is true too. */
const isTrue = (flag: string | undefined): boolean => flag !== undefined && flag !== 'false' && flag !== '0'

/** A key stands for one call of one merchant. */
const idempotencyKey = (scope: string, key: string | undefined, bytes: Buffer): IdempotencyKey | undefined =>
  key === undefined ? undefined : { scope, key, fingerprint: fingerprint(bytes) }

const accepted = (read: ReturnType<ReturnType<typeof batchReader>>): Batch => {
  if (read.kind === 'malformed') throw new DomainError('malformed', read.message)
  if (read.kind === 'refused') throw invalid(read.faults)
  return read.batch
}

const created = (result: Booked, reply: FastifyReply): Static<typeof Created> => {
  switch (result.kind) {
    case 'booked':
      if (result.replayed) reply.header('idempotency-replayed', 'true')
      return { message: 'Orders Created Successfully', data: [...result.waybills] }
    case 'refused':
      throw invalid(result.faults, result.suggestions)
    case 'running':
      throw new DomainError('conflict', 'A call with this Idempotency-Key is running. Repeat it for its answer.', {
        retryAfterSeconds: 1,
      })
    case 'other_body':
      throw invalid({
        'idempotency-key': ['This Idempotency-Key came with another body before. Use a new key for a new batch.'],
      })
  }
}

type Quotation = { kind: 'quoted'; batch: CheckedBatch; currency: string } | Refusal

const quoted = (result: Quotation): Static<typeof Quoted> => {
  if (result.kind === 'refused') throw invalid(result.faults, result.suggestions)
  const data = result.batch.orders.map(({ order, destination, charge }) => ({
    order_no: order.orderNo ?? null,
    destination_city: destination.name,
    destination_state: destination.state.name,
    delivery_charge: charge / 100,
    currency: result.currency,
  }))
  return { message: 'Nothing was created: this was a dry run', data }
}
