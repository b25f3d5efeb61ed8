import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { SentMessages } from '@courier/shared/contract/sent-messages.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { addToOne, type Facets, oneFields, type Read } from './facets.ts'
import type { ByActor, TrackedOrder } from './order-rows.ts'
import { ActorName } from './order-schema.ts'
import { toSnapshot } from './order-snapshot.ts'
import { findActor, labelStatus } from './order-view.ts'
import type { FacetStore, FindOrder } from './read-orders.ts'

const nullable = (description: string) => orNull(Type.String(), { description })

/** Describes an order for the notifier: the fields that a template may name, and the timeline. */
const OrderDetails = component('OrderDetails', {
  ...OrderSnapshot.properties,
  customer_secondary_phone: nullable("The recipient's second contact number."),
  created_at: Type.String({ format: 'date-time' }),
  timeline: Type.Array(
    Type.Object({
      status_key: Type.String(),
      status_name: Type.String(),
      color: Type.String({ description: 'The colour by name, such as success.' }),
      at: Type.String({ format: 'date-time' }),
      staff_name: nullable('The member of staff who moved it; null: the merchant or the customer did.'),
      by: ActorName,
      note: nullable('The note of staff about the move.'),
    }),
    { description: 'Newest first.' },
  ),
})
type OrderDetails = Static<typeof OrderDetails>

const toDetails = ({ row, catalogue }: TrackedOrder, publicUrl: string | undefined): OrderDetails => ({
  ...toSnapshot(row, catalogue, publicUrl, row.timeline[0]?.note ?? null),
  customer_secondary_phone: row.customer_secondary_phone,
  created_at: toMilliseconds(row.created_at),
  timeline: row.timeline.map(event => {
    const { key: status_key, name: status_name, color } = labelStatus(catalogue, event.status_key)
    const at = toMilliseconds(event.happened_at)
    return { status_key, status_name, color, at, ...viewActor(event), note: event.note }
  }),
})

/** Hides the names of a merchant's people from the notifier. */
export const viewActor = (entry: ByActor) => {
  const by = findActor(entry)
  return { staff_name: by === 'staff' ? entry.staff_name : null, by }
}

export const toMilliseconds = (time: string): string => new Date(time).toISOString()

/** Views an order for the notifier, with the fields of all facets. */
export const viewDetails = (facets: Facets, read: Read, order: TrackedOrder, publicUrl: string | undefined) =>
  addToOne(facets, read, order, 'internal', toDetails(order, publicUrl))

interface InternalOptions extends FacetStore {
  readonly findOrder: FindOrder
  readonly publicUrl: string | undefined
}

export const internalRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, options) => {
  const { pool, facets, findOrder, publicUrl } = options
  const Details = Type.Object(
    { ...OrderDetails.properties, ...oneFields(facets, 'internal') },
    { title: 'OrderDetails' },
  )
  const schema = {
    operationId: 'getOrderDetails',
    summary: 'One order for the notifier',
    description: 'Returns the fields that a template may name, and the timeline. Needs SERVICE_TOKEN.',
    params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
    response: { 200: Type.Object({ data: Details }) },
  }
  app.get('/internal/orders/:tenant/:waybill', { schema }, async ({ params: { tenant, waybill } }) => {
    const order = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
    if (!order) throw notFound('waybill')
    return { data: await viewDetails(facets, query => readInTenant(pool, tenant, query), order, publicUrl) }
  })
}

interface MessageOptions {
  readonly findOrder: FindOrder
  /** Sends requests to the notifier. */
  readonly messages: ServiceClient
}

const sentMessages = TypeCompiler.Compile(SentMessages)

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
    if (result.kind === 'response' && result.status === 200 && sentMessages.Check(result.body)) return result.body
    throw httpError('unavailable', 'The messages cannot be read now.', { retryAfterSeconds: 5 })
  })
}
