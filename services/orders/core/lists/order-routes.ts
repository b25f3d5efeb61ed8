import { invalid, notFound } from '@courier/shared/errors/errors.ts'
import { listQuery } from '@courier/shared/lists/filters.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readScope } from '../access/merchant.ts'
import type { Catalogues } from '../catalogue/catalogue.ts'
import { listStored } from '../database/phone-columns.ts'
import { listKeysOfClass } from '../statuses/statuses.ts'
import { tagState } from '../tracking/etag.ts'
import { addToOne, type Facets, hideFromMerchants, oneFields, type Viewer } from '../tracking/facets.ts'
import type { TrackedOrder } from '../tracking/order-rows.ts'
import { OrderStatus, StaffOrderView, TrackedOrderView } from '../tracking/order-schema.ts'
import { viewForMerchant, viewForStaff, viewStatus } from '../tracking/order-view.ts'
import type { FacetStore, FindOrder } from '../tracking/read-orders.ts'
import { type AddedFilters, merchantFilters, type OrderFilter, staffFilters } from './order-filter.ts'
import { createOrderPages, defineOrderPage, orderPageFields, wantedOrders } from './order-page.ts'
import { listPhonePatterns } from './search.ts'
import { maxWholeList, type OpenWholeList } from './whole-list.ts'

interface OrderRoutesOptions extends FacetStore {
  findOrder: FindOrder
  openWholeList: OpenWholeList
}

/** Serializes without schemas: the responses already match them, and long ones take half the time this way. */
const serializerCompiler = () => JSON.stringify

/**
 * Matches one order. Other paths below /order are lower-case words; a waybill number has a digit or a capital letter.
 */
export const oneOrder = '/order/:waybill(^.*[0-9A-Z].*$)'
export const WaybillParams = Type.Object({ waybill: Type.String({ description: 'The waybill number.' }) })

const MerchantQuery = listQuery(orderPageFields, merchantFilters)

export const merchantOrderRoutes: FastifyPluginAsyncTypebox<OrderRoutesOptions> = async (app, options) => {
  const about = { operationId: 'listOrders', summary: 'List your orders, newest first' }
  addList(app, { ...options, facets: hideFromMerchants(options.facets) }, about, MerchantQuery)
  const one = { operationId: 'getOrder', summary: 'One order with its timeline' }
  const schema = { ...one, ...viewSchema(withFacets(TrackedOrderView, options.facets, 'merchant')) }
  addOne(app, options, oneOrder, schema, (order, reply, publicUrl) => {
    tagWith(order, reply)
    return viewWithFacets(options, order, 'merchant', viewForMerchant(order, new Date()), publicUrl)
  })
  const status = { operationId: 'getOrderStatus', summary: 'The status of an order', ...viewSchema(OrderStatus) }
  addOne(app, options, `${oneOrder}/status`, status, order => viewStatus(order, new Date()))
}

/** Also gives the filters that capabilities add. */
type StaffOrderOptions = OrderRoutesOptions & { readonly filters: AddedFilters }

export const staffOrderRoutes: FastifyPluginAsyncTypebox<StaffOrderOptions> = async (app, options) => {
  const about = { operationId: 'listAllOrders', summary: "List all merchants' orders, newest first" }
  const added = Object.fromEntries(Object.entries(options.filters).map(([name, { filter }]) => [name, filter]))
  const StaffQuery = listQuery(orderPageFields, { ...staffFilters, ...added } as typeof staffFilters)
  addList(app, options, about, StaffQuery, options.filters)
  const one = { operationId: 'getAnyOrder', summary: 'One order with its timeline, notes and moves' }
  const schema = { ...one, ...viewSchema(withFacets(StaffOrderView, options.facets, 'staff')) }
  addOne(app, options, oneOrder, schema, (order, reply, publicUrl) => {
    tagWith(order, reply)
    return viewWithFacets(options, order, 'staff', viewForStaff(order, new Date()), publicUrl)
  })
}

const withFacets = ({ properties, title = '' }: TObject, facets: Facets, viewer: Viewer) =>
  Type.Object({ ...properties, ...oneFields(facets, viewer) }, { title })

const viewWithFacets = (
  { pool, facets }: FacetStore,
  order: TrackedOrder,
  viewer: Viewer,
  view: object,
  publicUrl: string,
) => addToOne(facets, query => readInTenant(pool, order.catalogue.tenant, query), order, viewer, view, publicUrl)

const viewSchema = (view: TObject) => ({ params: WaybillParams, response: { 200: Type.Object({ data: view }) } })

const addOne = (
  app: FastifyInstance,
  { findOrder }: Pick<OrderRoutesOptions, 'findOrder'>,
  path: string,
  schema: object,
  view: (order: TrackedOrder, reply: FastifyReply, publicUrl: string) => unknown,
) =>
  app.get<{ Params: Static<typeof WaybillParams> }>(path, { schema, serializerCompiler }, async (request, reply) => {
    const { tenant, merchantId } = readScope(request as FastifyRequest)
    const order = await findOrder(tenant, request.params.waybill, merchantId)
    if (!order) throw notFound('waybill')
    return { data: await view(order, reply, request.publicUrl) }
  })

/** Tags an order for the If-Match of an edit: neither `date_time_ago` nor names change the tag. */
const tagWith = ({ row }: TrackedOrder, reply: FastifyReply) => reply.header('etag', tagState(row))

const addList = (
  app: FastifyInstance,
  { pool, catalogues, facets, openWholeList }: OrderRoutesOptions,
  about: object,
  Query: typeof MerchantQuery,
  filters: AddedFilters = {},
) => {
  const schema = {
    ...about,
    querystring: Query.schema,
    description:
      `With noPagination the response has all orders, up to ${maxWholeList}, without links and meta. ` +
      'Read longer lists by pages, with the next_cursor of each page for the next.',
    response: { 200: defineOrderPage(facets, Query === MerchantQuery ? 'Order' : 'ListedOrder') },
  }
  const readPage = createOrderPages({ pool, catalogues, facets })
  app.get<{ Querystring: Static<typeof MerchantQuery.schema> }>(
    '/order',
    { schema, serializerCompiler },
    async (request, reply) => {
      const { query } = request
      const { tenant, merchantId } = readScope(request as FastifyRequest)
      const scope = merchantId === null ? {} : { merchant_id: merchantId }
      const given: OrderFilter = { ...readAdded(Query.read(query), filters), ...scope }
      const { after, page } = wantedOrders(query, given.search !== undefined)
      const filter = await resolveFilter(catalogues, tenant, given, Query.findField(query, 'status'))
      if (page) return readPage(request as FastifyRequest, tenant, filter, page, after)
      const caller = merchantId === null ? `staff ${request.staff.name}` : `merchant ${merchantId}`
      const json = await openWholeList(`${tenant} ${caller}`, tenant, filter, after, facets)
      reply.type('application/json; charset=utf-8')
      if (request.method !== 'HEAD') return reply.send(json)
      json.destroy()
      return reply.send('')
    },
  )
}

/** Sets the values of added filters apart from those of the core. */
const readAdded = (wanted: Readonly<Record<string, unknown>>, filters: AddedFilters): OrderFilter => {
  const names = Object.keys(filters).filter(name => wanted[name] !== undefined)
  if (names.length === 0) return wanted
  const others = Object.fromEntries(Object.entries(wanted).filter(([name]) => !names.includes(name)))
  const added = names.flatMap(name => {
    const { conditionSql } = filters[name] ?? {}
    return conditionSql ? [{ conditionSql, value: String(wanted[name]) }] : []
  })
  return { ...others, added }
}

/**
 * Adds the keys of `status_class` and the phone parts of `search`; reads the phone. Throws for a status that the tenant
 * lacks.
 */
const resolveFilter = async (catalogues: Catalogues, tenant: string, filter: OrderFilter, field: string) => {
  const { status, status_class, search, phone } = filter
  if ([status, status_class, search, phone].every(value => value === undefined)) return filter
  const { statuses, country } = await catalogues.fresh(tenant)
  if (status !== undefined && !statuses.has(status)) {
    const known = [...statuses.values()].map(status => `${status.key} ${status.name}`).join(', ')
    throw invalid({ [field]: [`The selected status is invalid. The statuses are ${known}.`] })
  }
  return {
    ...filter,
    phones: phone === undefined ? undefined : listStored(readPhone(phone, country).key, country),
    status_keys: status_class && listKeysOfClass(statuses, status_class),
    phone_parts: search === undefined ? undefined : listPhonePatterns(search, country),
  }
}
