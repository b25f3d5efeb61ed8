import { errorAnswers } from '@courier/shared/http/errors.ts'
import { staffOf } from '@courier/shared/http/staff.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TObject, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { merchantOf } from '../access/merchant.ts'
import type { FindOrder } from './find-order.ts'
import { merchantFilterFields, readFilter, staffFilterFields } from './order-filter.ts'
import { OrderPage, orderPage, orderPageFields } from './order-page.ts'
import { exampleEvent, exampleOrder, merchantView, StaffOrderView, staffView, TrackedOrderView } from './order-view.ts'
import { unknownWaybill } from './waybill-routes.ts'

export interface OrderRoutesOptions {
  pool: pg.Pool
  findOrder: FindOrder
}

const security = [{ token: [] }]
/** The answers have what their schemas say, and long ones are written twice as fast. */
const serializerCompiler = () => JSON.stringify

/** Other addresses below /order are words in lower case; a waybill number has a digit or a capital letter. */
const oneOrder = '/order/:waybill(^.*[0-9A-Z].*$)'
const Params = Type.Object({ waybill: Type.String({ description: 'The waybill number.' }) })

const listSchema = <Filters extends Parameters<typeof Type.Object>[0]>(filters: Filters) => ({
  querystring: Type.Object({ ...orderPageFields, ...filters }),
  response: { 200: OrderPage, ...errorAnswers(400, 401, 405, 422, 429, 503) },
})

const oneSchema = (view: TObject, example: object) => ({
  params: Params,
  response: {
    200: Type.Object({ data: view }, { examples: [{ data: example }] }),
    ...errorAnswers(400, 401, 404, 405, 429, 503),
  },
})

/** A merchant's own orders. */
export const merchantOrders: FastifyPluginAsyncTypebox<OrderRoutesOptions> = async (app, { pool, findOrder }) => {
  const common = { tags: ['orders'], security }

  app.get(
    '/order',
    {
      schema: { ...common, summary: 'List your orders, newest first', ...listSchema(merchantFilterFields) },
      serializerCompiler,
    },
    async request => {
      const { tenant, merchantId } = merchantOf(request)
      const filter = { ...readFilter(request.query), merchantId }
      return orderPage(pool, tenant, request, request.query, filter)
    },
  )

  const example = { ...exampleOrder, timeline: [exampleEvent] }
  app.get(
    oneOrder,
    {
      schema: { ...common, summary: 'One order with its timeline', ...oneSchema(TrackedOrderView, example) },
      serializerCompiler,
    },
    async request => {
      const { tenant, merchantId } = merchantOf(request)
      const order = await findOrder(tenant, request.params.waybill, merchantId)
      if (!order) throw unknownWaybill()
      return { data: merchantView(order, new Date()) }
    },
  )
}

/** The orders of all merchants of a tenant. */
export const staffOrders: FastifyPluginAsyncTypebox<OrderRoutesOptions> = async (app, { pool, findOrder }) => {
  const common = { tags: ['staff'], security }

  app.get(
    '/order',
    {
      schema: { ...common, summary: "List all merchants' orders, newest first", ...listSchema(staffFilterFields) },
      serializerCompiler,
    },
    async request => {
      const { tenant } = staffOf(request)
      return orderPage(pool, tenant, request, request.query, readFilter(request.query))
    },
  )

  const example = { ...exampleOrder, timeline: [{ ...exampleEvent, note: null }] }
  app.get(
    oneOrder,
    {
      schema: { ...common, summary: 'One order with its timeline and notes', ...oneSchema(StaffOrderView, example) },
      serializerCompiler,
    },
    async request => {
      const order = await findOrder(staffOf(request).tenant, request.params.waybill)
      if (!order) throw unknownWaybill()
      return { data: staffView(order, new Date()) }
    },
  )
}
