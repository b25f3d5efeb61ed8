import type { IncomingMessage } from 'node:http'
import { isTenantId, readTenant } from '@courier/shared/access/authenticate.ts'
import { parseJson } from '@courier/shared/edge/json-body.ts'
import { validator } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { isBlank, required } from '@courier/shared/errors/field-errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addToOne, oneFields, type Read } from './facets.ts'
import type { TrackedOrder } from './order-rows.ts'
import { TrackingEvent } from './order-schema.ts'
import { isSigned, toTimeline } from './order-view.ts'
import { PublicTracking, viewForAll } from './public-view.ts'
import type { FacetStore, FindOrder } from './read-orders.ts'

type WaybillOptions = { readonly findOrder: FindOrder }

const WaybillQuery = Type.Object({
  waybill_number: Type.Optional(
    Type.Unknown({ type: 'string', description: 'The waybill number, here or in the body.' }),
  ),
})
const WaybillBody = Type.Object(
  { waybill_number: Type.Optional(Type.String()) },
  { title: 'Waybill', examples: [{ waybill_number: 'DM00000001' }] },
)
const PublicWaybill = Type.Object(
  { waybill_number: Type.String(), tracking_code: Type.Optional(Type.String()) },
  { title: 'RequiredWaybill', examples: [{ waybill_number: 'DM00000001', tracking_code: 'q3x0cJ2mYb8' }] },
)
/** Limits the body that names a waybill, in bytes. */
const bodyLimit = 16_384

/** Keeps bodies of every content type as bytes: `findWaybill` reads them. */
const acceptWaybillBody = (app: FastifyInstance): void => {
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
}

/** Returns the bytes of the body. Fastify leaves the body of a GET unread. */
const takeBody = async (request: FastifyRequest): Promise<Buffer | undefined> => {
  if (request.method === 'POST') return request.body as Buffer | undefined
  const body = await readBody(request.raw).catch(() => {
    throw httpError('malformed_request', 'The connection ended before the body.')
  })
  if (body) return body
  // The connection closes: the rest of the body stays unread.
  const headers = { connection: 'close' }
  throw httpError('payload_too_large', 'The body is too large. It holds one waybill number.', { headers })
}

/** Reads the waybill number from a request's query, else from its JSON body. */
const findWaybill = (request: FastifyRequest, body: Buffer | undefined): string => {
  const { waybill_number: inQuery } = request.query as Record<string, unknown>
  const value = !isBlank(inQuery) || !body?.length ? inQuery : readFields(body)?.waybill_number
  if (isBlank(value)) throw invalid({ waybill_number: [required('waybill_number')] })
  if (typeof value === 'string' || typeof value === 'number') return String(value).trim()
  throw invalid({ waybill_number: ['The waybill number field must be a string.'] })
}

const readFields = (body: Buffer): Record<string, unknown> | null => {
  const parsed = parseJson(body)
  if (parsed.kind === 'malformed') throw httpError('malformed_request', parsed.message)
  return parsed.value as Record<string, unknown> | null
}

const findTrackingCode = (body: Buffer | undefined): string | undefined => {
  const { tracking_code: code } = (body?.length && readFields(body)) || {}
  return typeof code === 'string' ? code : undefined
}

interface WaybillRead {
  readonly path: string
  readonly operationId: string
  readonly about: { readonly summary: string; readonly description: string }
  readonly view: TSchema
}

/** Adds a GET and a POST route that show an order of the merchant. */
export const addWaybillReads = (
  app: FastifyInstance,
  findOrder: FindOrder,
  { path, operationId, about, view }: WaybillRead,
  toView: (order: TrackedOrder, tenant: string) => unknown,
): void => {
  acceptWaybillBody(app)
  const response = { 200: view, ...errorResponses(404) }
  const schema = { querystring: WaybillQuery, ...about, operationId, response }
  const read = async (request: FastifyRequest) => {
    const { tenant, merchantId } = request.merchant
    const order = await findOrder(tenant, findWaybill(request, await takeBody(request)), merchantId)
    if (!order) throw notFound('waybill')
    return { data: await toView(order, tenant) }
  }
  app.get(path, { bodyLimit, schema }, read)
  const byPost = { ...schema, operationId: `${operationId}ByPost`, body: WaybillBody }
  app.post(path, { bodyLimit, schema: byPost }, read)
}

export const trackingRoutes: FastifyPluginAsyncTypebox<WaybillOptions> = async (app, { findOrder }) => {
  const about = {
    summary: 'Read where an order has been',
    description: 'The timeline of one of your orders, newest first. A JSON body may name the waybill, even in a GET.',
  }
  const view = Type.Object({ data: Type.Array(TrackingEvent) })
  const route = { path: '/order/tracking-info', operationId: 'trackOrder', about, view }
  addWaybillReads(app, findOrder, route, order => toTimeline(order, new Date()))
}

/**
 * Serves tracking to anyone who knows the waybill number, such as recipients. An unknown tenant and an unknown waybill
 * get the same response.
 */
export const publicTrackingRoutes: FastifyPluginAsyncTypebox<WaybillOptions & FacetStore> = async (app, options) => {
  const { findOrder, facets, pool } = options
  acceptWaybillBody(app)
  const View = Type.Object(
    { ...PublicTracking.properties, ...oneFields(facets, 'public') },
    { title: 'PublicTracking' },
  )
  const trackParcelSchema = {
    tags: ['public'],
    operationId: 'trackParcel',
    summary: 'Read where a parcel has been',
    description:
      'Needs no token; masks the recipient. Amount and city need the tracking_code that ends the link on the label.',
    headers: Type.Object({ 'x-tenant': Type.Optional(Type.String({ description: 'The tenant.' })) }),
    body: PublicWaybill,
    response: {
      200: Type.Object({ data: View }),
      ...errorResponses(400, 404, 405, 413, 415, 422, 429, 503),
    },
  }
  app.post('/order/tracking-info', { bodyLimit, schema: trackParcelSchema }, async request => {
    const tenant = readTenant(request)
    const body = await takeBody(request)
    const waybill = findWaybill(request, body)
    const order = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
    if (!order) throw notFound('waybill')
    const code = findTrackingCode(body)
    const view = viewForAll(order, code, new Date())
    if (!isSigned(order.catalogue, order.row.waybill_number, code)) return { data: view }
    const read: Read = query => readInTenant(pool, tenant, query)
    return { data: await addToOne(facets, read, order, 'public', view, request.publicUrl) }
  })
}

/**
 * Reads the body of a GET, which Fastify leaves unread; returns undefined, with the rest unread, when the body is too
 * large. The server's request timeout bounds the wait.
 */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  // Destroying the request would close the connection before the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > bodyLimit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
