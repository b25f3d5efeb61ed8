import { oneOf, text } from '@courier/shared/http/filters.ts'
import { Type } from '@sinclair/typebox'
import { requestStatuses } from '../database/tables.ts'
import { StatusMove } from '../orders/move-schema.ts'

export const requestFilters = {
  status: oneOf(requestStatuses, 'Without it all.'),
  waybill_number: text('The whole number.'),
}

export const requestPaging = {
  limit: Type.Optional(
    Type.String({
      maxLength: 3,
      pattern: '^([1-9]|[1-9][0-9]|1[0-9][0-9]|200)$',
      must: 'be a whole number, 1 to 200',
      description: 'Default: 50.',
      documented: { type: 'integer', minimum: 1, maximum: 200 },
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 18,
      pattern: '^[1-9][0-9]{0,17}$',
      must: 'be the next_cursor of a page',
      description: '`next_cursor` of the page before.',
    }),
  ),
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
