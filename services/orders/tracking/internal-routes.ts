import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { OrderDetails, toDetails } from './order-details.ts'
import type { FindOrder } from './read-orders.ts'

interface InternalOptions {
  findOrder: FindOrder
  publicUrl: string | undefined
}

/** Serves orders to the notifier. */
export const internalRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { findOrder, publicUrl }) => {
  const schema = {
    operationId: 'getOrderDetails',
    summary: 'One order for the notifier',
    description: 'The fields that a template may name, and the timeline. With SERVICE_TOKEN.',
    params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
    response: { 200: Type.Object({ data: OrderDetails }) },
  }
  app.get('/internal/orders/:tenant/:waybill', { schema }, async ({ params: { tenant, waybill } }) => {
    const order = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
    if (!order) throw notFound('waybill')
    return { data: toDetails(order, publicUrl) }
  })
}
