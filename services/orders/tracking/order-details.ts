import { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { toSnapshot } from './order-snapshot.ts'
import { ActorName, findActor, labelStatus, Previous } from './order-view.ts'
import { maxEdits, type TrackedOrder } from './read-orders.ts'

const nullable = (description: string) => orNull(Type.String(), { description })

/** An order for the notifier: the fields that a template may name, and the timeline. */
export const OrderDetails = component('OrderDetails', {
  ...OrderSnapshot.properties,
  customer_secondary_phone: nullable("The recipient's second contact number."),
  created_at: Type.String({ format: 'date-time' }),
  timeline: Type.Array(
    Type.Object({
      status_key: Type.String(),
      status_name: Type.String(),
      color: Type.String({ description: 'The colour by name, such as success.' }),
      at: Type.String({ format: 'date-time' }),
      staff_name: nullable('Who moved it; null: the merchant or the customer.'),
      by: ActorName,
      note: nullable('What staff wrote about the move.'),
    }),
    { description: 'Newest first.' },
  ),
  edits: Type.Array(
    Type.Object({
      fields: Type.Array(Type.String(), { description: 'The names of what was changed.' }),
      at: Type.String({ format: 'date-time' }),
      staff_name: nullable('Who changed it; null: the merchant or the customer.'),
      by: ActorName,
      reason: nullable('What staff wrote about it.'),
      previous: Type.Optional(Previous),
    }),
    { description: `The newest ${maxEdits}, newest first.` },
  ),
})
export type OrderDetails = Static<typeof OrderDetails>

export const toDetails = ({ row, catalogue }: TrackedOrder, publicUrl: string | undefined): OrderDetails => ({
  ...toSnapshot(row, catalogue, publicUrl, row.timeline[0]?.note ?? null),
  customer_secondary_phone: row.customer_secondary_phone,
  created_at: toMilliseconds(row.created_at),
  timeline: row.timeline.map(({ happened_at, staff_name, actor, note, ...event }) => {
    const { key: status_key, name: status_name, color } = labelStatus(catalogue, event.status_key)
    const by = findActor({ actor, staff_name })
    return {
      status_key,
      status_name,
      color,
      at: toMilliseconds(happened_at),
      staff_name: by === 'staff' ? staff_name : null,
      by,
      note,
    }
  }),
  edits: row.edits.map(edit => {
    const { fields, reason, previous } = edit
    const by = findActor(edit)
    const staff_name = by === 'staff' ? edit.staff_name : null
    return { fields, at: toMilliseconds(edit.edited_at), staff_name, by, reason, previous }
  }),
})

const toMilliseconds = (time: string): string => new Date(time).toISOString()
