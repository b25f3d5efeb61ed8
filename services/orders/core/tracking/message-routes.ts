import { SentMessages } from '@courier/shared/contract/sent-messages.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FindOrder } from './read-orders.ts'

interface MessageOptions {
  readonly findOrder: FindOrder
  /** Sends requests to the notifier. */
  readonly messages: ServiceClient
}

const check = TypeCompiler.Compile(SentMessages)

/** Shows merchants the messages about their parcels, which the notifier stores. */
export const sentMessageRoutes: FastifyPluginAsyncTypebox<MessageOptions> = async (app, { findOrder, messages }) => {
  const schema = {
    operationId: 'listOrderMessages',
    summary: 'The messages that were sent to the recipient of an order',
    description:
      'Lists the newest 100 with template, status and time, newest first; 503 if the notifier is unavailable.',
    params: Type.Object({ waybill: Type.String({ description: 'The waybill number.' }) }),
    response: { 200: SentMessages, ...errorResponses(404, 405) },
  }
  app.get('/order/:waybill/messages', { schema }, async ({ merchant: { tenant, merchantId }, params }) => {
    const order = await findOrder(tenant, params.waybill, merchantId)
    if (!order) throw notFound('waybill')
    const { waybill_number } = order.row
    const result = await messages.get(`/internal/messages/${tenant}/${encodeURIComponent(waybill_number)}`)
    if (result.kind === 'response' && result.status === 200 && check.Check(result.body)) return result.body
    throw httpError('unavailable', 'The messages cannot be read now.', { retryAfterSeconds: 5 })
  })
}
