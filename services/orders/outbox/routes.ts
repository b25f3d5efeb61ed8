import { inTenant } from '@courier/shared/database.ts'
import { isTenantId } from '@courier/shared/http/authenticate.ts'
import { DomainError, errorAnswers } from '@courier/shared/http/errors.ts'
import { requireService } from '@courier/shared/http/service.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { OrderStory, tellOrder } from './story.ts'

export interface InternalOptions {
  pool: pg.Pool
  serviceToken: string
}

/** What the notifier asks. */
export const internal: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { pool, serviceToken }) => {
  app.addHook('onRequest', requireService(serviceToken))

  app.get(
    '/internal/orders/:tenant/:waybill',
    {
      schema: {
        tags: ['internal'],
        summary: 'Tell the notifier of an order',
        description: 'What a template may name of it, and its timeline. With SERVICE_TOKEN.',
        security: [{ service: [] }],
        params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
        response: { 200: Type.Object({ data: OrderStory }), ...errorAnswers(401, 404, 429, 503) },
      },
    },
    async ({ params }) => ({ data: await findStory(pool, params.tenant, params.waybill) }),
  )
}

const findStory = async (pool: pg.Pool, tenant: string, waybill: string): Promise<OrderStory> => {
  const canBe = isTenantId.test(tenant) && !waybill.includes('\u0000')
  const story = canBe ? await inTenant(pool, tenant, (tx: Tx) => tellOrder(tx, tenant, waybill)) : undefined
  if (!story) throw new DomainError('not_found', 'The requested waybill does not exist in the system')
  return story
}
