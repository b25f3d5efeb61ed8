import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { requireService } from '@courier/shared/access/service.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { OrderDetails, toDetails } from './order-details.ts'
import type { FindOrder } from './read-orders.ts'

interface InternalOptions {
  findOrder: FindOrder
  serviceToken: string
  publicUrl: string | undefined
}

/** Serves orders to the notifier. */
export const internalRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (
  app,
  { findOrder, serviceToken, publicUrl },
) => {
  app.addHook('onRequest', requireService(serviceToken))

  app.get(
    '/internal/orders/:tenant/:waybill',
    {
      schema: {
        tags: ['internal'],
        operationId: 'getOrderDetails',
        summary: 'One order for the notifier',
        description: 'The fields that a template may name, and the timeline. With SERVICE_TOKEN.',
        security: [{ service: [] }],
        params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
        response: { 200: Type.Object({ data: OrderDetails }) },
      },
    },
    async ({ params: { tenant, waybill } }) => {
      const order = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
      if (!order) throw notFound('waybill')
      return { data: toDetails(order, publicUrl) }
    },
  )
}
