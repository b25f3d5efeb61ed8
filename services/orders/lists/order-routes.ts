import { errorResponses, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { listQuery } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Catalogues } from '../catalogue/catalogue.ts'
import type { Tx } from '../database/tables.ts'
import { editableIn, keysOfClass } from '../statuses/statuses.ts'
import { exampleRequest, listRequests, maxRequests } from '../tracking/customer-requests.ts'
import { tagState } from '../tracking/etag.ts'
import {
  exampleEdit,
  exampleMove,
  exampleOrder,
  exampleOrderEvent,
  merchantView,
  OrderStatus,
  StaffOrderView,
  staffView,
  statusView,
  TrackedOrderView,
} from '../tracking/order-view.ts'
import type { FindOrder, TrackedOrder } from '../tracking/read-orders.ts'
import { unknownWaybill } from '../tracking/waybill-routes.ts'
import { merchantFilters, type OrderFilter, staffFilters } from './order-filter.ts'
import { OrderPage, orderPage, orderPageFields, wantedOrders } from './order-page.ts'
import { maxWholeList, type OpenWholeList } from './whole-list.ts'

export interface OrderRoutesOptions {
  pool: pg.Pool
  catalogues: Catalogues
  findOrder: FindOrder
  openWholeList: OpenWholeList
}

const security = [{ token: [] }]
/** The responses match their schemas as they are; long ones serialize twice as fast without them. */
const serializerCompiler = () => JSON.stringify

/** Other paths below /order are lower-case words; a waybill number has a digit or a capital letter. */
export const oneOrder = '/order/:waybill(^.*[0-9A-Z].*$)'
export const WaybillParams = Type.Object({ waybill: Type.String({ description: 'The waybill number.' }) })

const MerchantQuery = listQuery(orderPageFields, merchantFilters)
const StaffQuery = listQuery(orderPageFields, staffFilters)

const listSchema = <Query extends TObject>(querystring: Query) => ({
  querystring,
  description:
    `With noPagination all of them, up to ${maxWholeList}, without links and meta; ` +
    'read longer lists by pages, with the cursor of each for the next.',
  response: { 200: OrderPage, ...errorResponses(400, 401, 405, 422, 429, 503) },
})

const oneSchema = (view: TObject, example: object) => ({
  params: WaybillParams,
  response: {
    200: Type.Object({ data: view }, { examples: [{ data: example }] }),
    ...errorResponses(400, 401, 404, 405, 429, 503),
  },
})

interface ListRequest {
  readonly tenant: string
  /** Reads one whole list at a time. */
  readonly caller: string
  readonly filter: OrderFilter
  /** The query field of the status. */
  readonly statusField: string
}

/** Lists orders in the shape that the query wants. */
const listOrders = async (
  options: OrderRoutesOptions,
  request: FastifyRequest<{ Querystring: Static<typeof MerchantQuery.schema> }>,
  reply: FastifyReply,
  { tenant, caller, filter: given, statusField }: ListRequest,
) => {
  const wanted = wantedOrders(request.query)
  const filter = await resolveStatus(options.catalogues, tenant, given, statusField)
  if (!wanted.all) return orderPage(options, tenant, request, wanted, filter)
  const list = await options.openWholeList(`${tenant} ${caller}`, tenant, filter, wanted.after)
  if (list.kind === 'too_long') throw invalid({ noPagination: [tooLong] })
  if (list.kind === 'busy') throw httpError('unavailable', busy, { retryAfterSeconds: 2 })
  reply.type('application/json; charset=utf-8')
  if (request.method !== 'HEAD') return reply.send(list.json)
  list.json.destroy()
  return reply.send('')
}

const tooLong =
  `The list has more than ${maxWholeList} orders. Narrow it by filters, or read it by pages: ` +
  'per_page=1000, then the same with cursor= and the meta.next_cursor of each page for the next.'
const busy = 'Too many whole lists are read at once. Repeat the request.'

/** Adds the keys of `status_class`. Throws for a status that the tenant does not have. */
const resolveStatus = async (
  catalogues: Catalogues,
  tenant: string,
  filter: OrderFilter,
  field: string,
): Promise<OrderFilter> => {
  const { status, status_class } = filter
  if (status === undefined && status_class === undefined) return filter
  const { statuses } = await catalogues.fresh(tenant)
  if (status !== undefined && !statuses.has(status)) {
    const known = [...statuses.values()].map(status => `${status.key} ${status.name}`).join(', ')
    throw invalid({ [field]: [`The selected status is invalid. The statuses are ${known}.`] })
  }
  return { ...filter, status_keys: status_class && keysOfClass(statuses, status_class) }
}

/** For If-Match of an edit: does not change with `date_time_ago` or with names. */
const tagWith = ({ row }: TrackedOrder, reply: FastifyReply) => reply.header('etag', tagState(row))

/** A merchant's own orders. */
export const merchantOrderRoutes: FastifyPluginAsyncTypebox<OrderRoutesOptions> = async (app, options) => {
  const { findOrder } = options
  const common = { tags: ['orders'], security }

  app.get(
    '/order',
    {
      schema: {
        ...common,
        operationId: 'listOrders',
        summary: 'List your orders, newest first',
        ...listSchema(MerchantQuery.schema),
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const { tenant, merchantId } = request.merchant
      const filter = { ...MerchantQuery.read(request.query), merchant_id: merchantId }
      const statusField = MerchantQuery.fieldOf(request.query, 'status')
      return listOrders(options, request, reply, { tenant, caller: `merchant ${merchantId}`, filter, statusField })
    },
  )

  const example = { ...exampleOrder, timeline: [exampleOrderEvent], edits: [exampleEdit] }
  app.get(
    oneOrder,
    {
      schema: {
        ...common,
        operationId: 'getOrder',
        summary: 'One order with its timeline',
        ...oneSchema(TrackedOrderView, example),
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const { tenant, merchantId } = request.merchant
      const order = await findOrder(tenant, request.params.waybill, merchantId)
      if (!order) throw unknownWaybill()
      tagWith(order, reply)
      return { data: merchantView(order, new Date()) }
    },
  )
}

/** Where an order of the merchant is now. */
export const orderStatusRoutes: FastifyPluginAsyncTypebox<Pick<OrderRoutesOptions, 'findOrder'>> = async (
  app,
  { findOrder },
) => {
  const { waybill_number, order_no, status } = exampleOrder
  const { date_time, date_time_ago } = exampleOrderEvent
  const example = { waybill_number, order_no, status, date_time, date_time_ago }
  app.get(
    `${oneOrder}/status`,
    {
      schema: {
        tags: ['orders'],
        security,
        operationId: 'getOrderStatus',
        summary: 'The status of an order',
        ...oneSchema(OrderStatus, example),
      },
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const order = await findOrder(tenant, request.params.waybill, merchantId)
      if (!order) throw unknownWaybill()
      return { data: statusView(order, new Date()) }
    },
  )
}

/** The orders of all merchants of a tenant. */
export const staffOrderRoutes: FastifyPluginAsyncTypebox<OrderRoutesOptions> = async (app, options) => {
  const { pool, findOrder } = options
  const common = { tags: ['staff'], security }

  app.get(
    '/order',
    {
      schema: {
        ...common,
        operationId: 'listAllOrders',
        summary: "List all merchants' orders, newest first",
        ...listSchema(StaffQuery.schema),
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const { tenant, name } = request.staff
      const filter = StaffQuery.read(request.query)
      const statusField = StaffQuery.fieldOf(request.query, 'status')
      return listOrders(options, request, reply, { tenant, caller: `staff ${name}`, filter, statusField })
    },
  )

  const example = {
    ...exampleOrder,
    timeline: [{ ...exampleOrderEvent, note: null }],
    edits: [{ ...exampleEdit, reason: null, previous: { customer_phone: '0770000101' } }],
    moves: [exampleMove],
    editable: editableIn(exampleOrder.status.key),
    requests: [exampleRequest],
  }
  app.get(
    oneOrder,
    {
      schema: {
        ...common,
        operationId: 'getAnyOrder',
        summary: 'One order with its timeline, notes and moves',
        ...oneSchema(StaffOrderView, example),
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const { tenant } = request.staff
      const waybill_number = request.params.waybill
      const order = await findOrder(tenant, waybill_number)
      if (!order) throw unknownWaybill()
      tagWith(order, reply)
      const requests = await inTenant(pool, tenant, (tx: Tx) =>
        listRequests(tx, tenant, { waybill_number }, undefined, maxRequests),
      )
      return { data: staffView(order, requests, new Date()) }
    },
  )
}
