import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { requireService } from '@courier/shared/access/service.ts'
import { errorResponses, httpError } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { findAsTyped } from './find-order.ts'
import { exampleDetails, OrderDetails, readOrderDetails } from './order-details.ts'

export interface InternalOptions {
  pool: pg.Pool
  serviceToken: string
  publicUrl: string | undefined
}

/** For the notifier. */
export const internalRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (
  app,
  { pool, serviceToken, publicUrl },
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
        response: {
          200: Type.Object({ data: OrderDetails }, { examples: [{ data: exampleDetails }] }),
          ...errorResponses(401, 404, 429, 503),
        },
      },
    },
    async ({ params }) => ({ data: await findOrderDetails(pool, params.tenant, params.waybill, publicUrl) }),
  )
}

const findOrderDetails = async (
  pool: pg.Pool,
  tenant: string,
  waybill: string,
  publicUrl: string | undefined,
): Promise<OrderDetails> => {
  const read = (spelling: string) =>
    inTenant(pool, tenant, (tx: Tx) => readOrderDetails(tx, tenant, spelling, publicUrl))
  const details = isTenantId.test(tenant) ? await findAsTyped(waybill, read) : undefined
  if (!details) throw httpError('not_found', 'The requested waybill does not exist in the system')
  return details
}
