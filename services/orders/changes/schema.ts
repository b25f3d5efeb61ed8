import { type Static, Type } from '@sinclair/typebox'
import { changeTypes } from '../database/tables.ts'
import type { Change } from '../log/read-changes.ts'
import { ActorName } from '../tracking/order-view.ts'
import { writeId } from './read-feed.ts'

export const ChangeItem = Type.Object(
  {
    id: Type.String({
      description: 'Identifies the change permanently: use it to recognize duplicates.',
      examples: ['2f1c9a52-8a4c-4c1e-9a6d-5b0d8f3f7c11.41'],
    }),
    type: Type.Union(changeTypes.map(type => Type.Literal(type))),
    waybill_number: Type.String(),
    order_no: Type.Union([Type.String(), Type.Null()]),
    status: Type.Object(
      { key: Type.String(), name: Type.String() },
      { description: 'The status of the order as of this change.' },
    ),
    happened_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
    by: ActorName,
    details: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()], {
      description:
        'Details beyond the type: reason_code of a failed delivery; action, date and given_as of order.instructed; invoice_no, invoice_ref_no and paid_on of money.paid.',
    }),
    fields: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'The names of the fields that order.edited changed.',
      examples: [null],
    }),
  },
  { title: 'Change' },
)

/** A change as merchants receive it. */
export const changeItem = (epoch: string, { position, fields, ...change }: Change): Static<typeof ChangeItem> => ({
  id: writeId(epoch, position),
  ...change,
  fields: fields && [...fields],
})
