import { OrderFacts } from '@courier/shared/order-facts.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import { findStatuses } from '../tracking/status-queries.ts'
import { findOrders } from './facts.ts'

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

/** An order as the notifier sees it: what a template may name, and all that happened to it, newest first. */
export const OrderStory = Type.Object(
  {
    ...OrderFacts.properties,
    customer_secondary_phone: nullable("The recipient's second contact number."),
    created_at: Type.String({ format: 'date-time' }),
    timeline: Type.Array(
      Type.Object({
        status_key: Type.String(),
        status_name: Type.String(),
        color: Type.String({ description: 'By name, such as success.' }),
        at: Type.String({ format: 'date-time' }),
        staff_name: nullable('Who moved it; null: the merchant.'),
        note: nullable('What was written about the move.'),
      }),
      { description: 'Newest first.' },
    ),
  },
  { title: 'OrderStory' },
)
export type OrderStory = Static<typeof OrderStory>

/** Undefined when the tenant has no such waybill. */
export const tellOrder = async (tx: Tx, tenant: string, waybill: string): Promise<OrderStory | undefined> => {
  const [orders, statuses, events] = await Promise.all([
    findOrders(tx, tenant, [waybill]),
    findStatuses(tx, tenant),
    findTimeline(tx, tenant, waybill),
  ])
  const order = orders.get(waybill)
  if (!order) return undefined
  const look = (key: string) => statuses.get(key) ?? { name: key, color: 'secondary' }
  return {
    ...order.facts,
    status_key: order.statusKey,
    status_name: look(order.statusKey).name,
    note: events[0]?.note ?? null,
    customer_secondary_phone: order.secondaryPhone,
    created_at: order.createdAt.toISOString(),
    timeline: events.map(({ status_key, happened_at, staff_name, note }) => {
      const { name, color } = look(status_key)
      return { status_key, status_name: name, color, at: happened_at.toISOString(), staff_name, note }
    }),
  }
}

/** Newest first. */
const findTimeline = (tx: Tx, tenant: string, waybill: string) =>
  tx
    .selectFrom('order_events')
    .select(['status_key', 'happened_at', 'staff_name', 'note'])
    .where('tenant_id', '=', tenant)
    .where('waybill_number', '=', waybill)
    .orderBy('event_id', 'desc')
    .execute()
