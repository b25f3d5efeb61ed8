import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type TObject, Type } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import { editables } from '../../core/statuses/statuses.ts'
import type { Facet } from '../../core/tracking/facets.ts'
import { toMilliseconds, viewActor } from '../../core/tracking/order-details.ts'
import type { ByActor, TrackedOrder } from '../../core/tracking/order-rows.ts'
import { ActorName, TrackingEvent } from '../../core/tracking/order-schema.ts'
import { findActor, viewUser } from '../../core/tracking/order-view.ts'
import { findEditable } from './check-edit.ts'

/** Limits the edits of an order that are shown, newest first. */
const maxEdits = 50

interface EditRow extends ByActor {
  readonly fields: string[]
  readonly edited_at: string
  readonly reason: string | null
  /** Holds the values before the edit, by field. null: an earlier version made the edit. */
  readonly previous: Record<string, string | number | null> | null
}

const nullable = (description: string) => orNull(Type.String(), { description })

const OrderEdited = component('OrderEdited', {
  fields: Type.Array(Type.String(), { description: 'The names of the changed fields.' }),
  date_time: TrackingEvent.properties.date_time,
  user: TrackingEvent.properties.user,
  by: ActorName,
})
/** Only staff and the notifier see the values before an edit. */
const Previous = Type.Unsafe<EditRow['previous']>({
  type: ['object', 'null'],
  additionalProperties: { type: ['string', 'number', 'null'] },
  description: 'The values before the edit, by field; null for an edit by an earlier version of the service.',
})
const StaffOrderEdited = component('StaffOrderEdited', {
  ...OrderEdited.properties,
  reason: orNull(Type.String()),
  previous: Previous,
})
const InternalEdit = Type.Object({
  fields: OrderEdited.properties.fields,
  at: Type.String({ format: 'date-time' }),
  staff_name: nullable('The member of staff who made the edit; null: the merchant or the customer did.'),
  by: ActorName,
  reason: nullable('The reason that staff gave.'),
  previous: Type.Optional(Previous),
})
const listEdits = (edit: TObject) => ({
  edits: Type.Array(edit, {
    description: `The newest ${maxEdits} edits, newest first; the timeline has the changes of the status.`,
  }),
})

const showEditable = (description: string) => ({ editable: oneOf(editables, { description }) })

const viewEdit = (edit: EditRow, order: TrackedOrder) => ({
  fields: edit.fields,
  date_time: edit.edited_at,
  user: viewUser(edit, order),
  by: findActor(edit),
})

const editsSql = `
  select waybill_number, fields, ${isoTime('edited_at')} as edited_at, staff_name, reason, actor, previous
  from order_edits where tenant_id = $1 and waybill_number = any($2::text[]) order by edit_id desc limit ${maxEdits}`

/** Shows the edits of an order, and what its reader may change now. */
export const editsFacet: Facet<readonly EditRow[]> = {
  existsSql: table =>
    `exists (select from order_edits edit where edit.tenant_id = $1 and edit.waybill_number = ${table}.waybill_number)`,
  read: async (read, tenant, waybills) =>
    Map.groupBy(
      await read<EditRow & { waybill_number: string }>({
        name: 'read_edits',
        text: editsSql,
        values: [tenant, waybills],
      }),
      edit => edit.waybill_number,
    ),
  inOne: {
    merchant: {
      fields: {
        ...listEdits(OrderEdited),
        ...showEditable('The fields that you may change now: all or none.'),
      },
      view: (edits = [], order) => ({
        edits: edits.map(edit => viewEdit(edit, order)),
        editable: findEditable(order.row.status_key, false),
      }),
    },
    staff: {
      fields: {
        ...listEdits(StaffOrderEdited),
        ...showEditable('The fields that staff may change now; customer: the fields that begin with customer_.'),
      },
      view: (edits = [], order) => ({
        edits: edits.map(edit => ({ ...viewEdit(edit, order), reason: edit.reason, previous: edit.previous })),
        editable: findEditable(order.row.status_key, true),
      }),
    },
    internal: {
      fields: listEdits(InternalEdit),
      view: (edits = []) => ({
        edits: edits.map(edit => {
          const { fields, edited_at, reason, previous } = edit
          return { fields, at: toMilliseconds(edited_at), ...viewActor(edit), reason, previous }
        }),
      }),
    },
  },
}
