import { oneOf, text } from '@courier/shared/lists/filters.ts'
import { Type } from '@sinclair/typebox'
import { requestStatuses } from '../database/tables.ts'
import { StatusMove } from '../moves/move-schema.ts'

export const requestFilters = {
  status: oneOf(requestStatuses, 'Without it all.'),
  waybill_number: text('The whole number.'),
}

export const RequestDecision = Type.Object(
  {
    decision: Type.Union([Type.Literal('accepted'), Type.Literal('declined')], { must: 'be accepted or declined' }),
    note: Type.Optional({ ...StatusMove.properties.note, description: 'Sent to the notifier, for its messages.' }),
  },
  {
    title: 'RequestDecision',
    additionalProperties: false,
    examples: [{ decision: 'accepted', note: 'Tomorrow after 4 pm' }],
  },
)
