import { exampleSnapshot, OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../statuses/status-queries.ts'
import { isFinal } from '../statuses/statuses.ts'
import { actorIn, maxEdits } from './find-order.ts'
import { findOrders } from './order-snapshot.ts'
import { ActorName, Previous } from './order-view.ts'

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

/** An order for the notifier: the fields that a template may name, and the timeline. */
export const OrderDetails = Type.Object(
  {
    ...OrderSnapshot.properties,
    customer_secondary_phone: nullable("The recipient's second contact number."),
    created_at: Type.String({ format: 'date-time' }),
    timeline: Type.Array(
      Type.Object({
        status_key: Type.String(),
        status_name: Type.String(),
        color: Type.String({ description: 'By name, such as success.' }),
        at: Type.String({ format: 'date-time' }),
        staff_name: nullable('Who moved it; null: the merchant or the customer.'),
        by: ActorName,
        note: nullable('What staff wrote about the move.'),
      }),
      { description: 'Newest first.' },
    ),
    edits: Type.Array(
      Type.Object({
        fields: Type.Array(Type.String(), { description: 'What was changed, by name.' }),
        at: Type.String({ format: 'date-time' }),
        staff_name: nullable('Who changed it; null: the merchant or the customer.'),
        by: ActorName,
        reason: nullable('What staff wrote about it.'),
        previous: Type.Optional(Previous),
      }),
      { description: `The newest ${maxEdits}, newest first.` },
    ),
  },
  { title: 'OrderDetails' },
)
export type OrderDetails = Static<typeof OrderDetails>

export const exampleDetails: OrderDetails = {
  ...exampleSnapshot,
  customer_secondary_phone: null,
  created_at: '2026-02-19T19:06:23.000Z',
  timeline: [
    {
      status_key: 'key_2',
      status_name: 'CONFIRMED',
      color: 'primary',
      at: '2026-02-19T19:06:23.000Z',
      staff_name: null,
      by: 'merchant',
      note: null,
    },
  ],
  edits: [
    { fields: ['customer_phone'], at: '2026-02-19T20:14:00.000Z', staff_name: null, by: 'merchant', reason: null },
  ],
}

/** Undefined when the tenant has no such waybill. */
export const readOrderDetails = async (
  tx: Tx,
  tenant: string,
  waybill: string,
  publicUrl: string | undefined,
): Promise<OrderDetails | undefined> => {
  const [orders, statuses, events, edits] = await Promise.all([
    findOrders(tx, tenant, [waybill], publicUrl),
    findStatuses(tx, tenant),
    findTimeline(tx, tenant, waybill),
    findEdits(tx, tenant, waybill),
  ])
  const order = orders.get(waybill)
  if (!order) return undefined
  const statusOf = (key: string) => statuses.get(key) ?? { name: key, color: 'secondary' }
  return {
    ...order.fields,
    status_key: order.statusKey,
    status_name: statusOf(order.statusKey).name,
    note: events[0]?.note ?? null,
    is_final: isFinal(statuses.get(order.statusKey)),
    customer_secondary_phone: order.secondaryPhone,
    created_at: order.createdAt.toISOString(),
    timeline: events.map(({ status_key, happened_at, staff_name, note, actor }) => {
      const by = actorIn({ actor, staff_name })
      const { name, color } = statusOf(status_key)
      return { status_key, status_name: name, color, at: happened_at.toISOString(), staff_name, by, note }
    }),
    edits: edits.map(({ edited_at, actor, ...edit }) => ({
      ...edit,
      by: actorIn({ actor, ...edit }),
      at: edited_at.toISOString(),
    })),
  }
}

/** Newest first. */
const findTimeline = (tx: Tx, tenant: string, waybill: string) =>
  tx
    .selectFrom('order_events')
    .select(['status_key', 'happened_at', 'staff_name', 'note', 'actor'])
    .where('tenant_id', '=', tenant)
    .where('waybill_number', '=', waybill)
    .orderBy('event_id', 'desc')
    .execute()

const findEdits = (tx: Tx, tenant: string, waybill: string) =>
  tx
    .selectFrom('order_edits')
    .select(['fields', 'edited_at', 'staff_name', 'reason', 'actor', 'previous'])
    .where('tenant_id', '=', tenant)
    .where('waybill_number', '=', waybill)
    .orderBy('edit_id', 'desc')
    .limit(maxEdits)
    .execute()
