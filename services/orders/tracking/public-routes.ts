import { isTenantId, tenantOf } from '@courier/shared/http/authenticate.ts'
import { errorAnswers } from '@courier/shared/http/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { examplePublicTracking, PublicTracking, publicView } from './public-view.ts'
import { readWaybill } from './read-waybill.ts'
import { acceptWaybillBody, bytesIn, unknownWaybill, type WaybillOptions } from './waybill-routes.ts'

/** Tracking for recipients: whoever knows the waybill number. An unknown tenant is answered like an unknown waybill. */
export const publicTracking: FastifyPluginAsyncTypebox<WaybillOptions> = async (app, { findOrder }) => {
  acceptWaybillBody(app)
  app.post(
    '/order/tracking-info',
    {
      schema: {
        tags: ['public'],
        summary: 'Where a parcel has been',
        description: 'Without a token; the recipient is not told in full.',
        headers: Type.Object({ 'x-tenant': Type.Optional(Type.String({ description: 'The tenant.' })) }),
        body: Type.Object(
          { waybill_number: Type.String() },
          { title: 'Waybill', examples: [{ waybill_number: 'DM00000001' }] },
        ),
        response: {
          200: Type.Object({ data: PublicTracking }, { examples: [{ data: examplePublicTracking }] }),
          ...errorAnswers(400, 404, 405, 413, 415, 422, 429, 503),
        },
      },
    },
    async request => {
      const tenant = tenantOf(request)
      const waybill = readWaybill(request.query, bytesIn(request))
      const order = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
      if (!order) throw unknownWaybill()
      return { data: publicView(order, new Date()) }
    },
  )
}
